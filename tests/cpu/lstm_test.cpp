// The steps of an LSTM on the cpu: what the op table does not see.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/views.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"

namespace veldt {
namespace {
using test::Array;

// gates, out and the gradients of two layers' worth of rows.
std::vector<std::vector<float>> steps(std::int64_t time, std::int64_t n, std::int64_t hidden) {
  Array<float> x = Array<float>::random({time, n, 4 * hidden}, 1),
               w = Array<float>::random({4 * hidden, hidden}, 2), h = Array<float>::random({n, hidden}, 3),
               c = Array<float>::random({n, hidden}, 4), g = Array<float>::random({time, n, 2 * hidden}, 5);
  Array<float> gates({time, n, 4 * hidden}), out({time, n, 2 * hidden}), dgates({time, n, 4 * hidden}),
      dh({n, hidden}), dc({n, hidden});
  const Backend& k = cpu::backend();
  k.lstm(false, x.view(), w.view(), h.view(), c.view(), gates.view(), out.view(), nullptr);
  k.lstm_slope(false, w.view(), c.view(), gates.view(), out.view(), g.view(), dgates.view(), dh.view(),
               dc.view(), nullptr);
  return {gates.values(), out.values(), dgates.values(), dh.values(), dc.values()};
}

TEST(Lstm, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const Shape& s : {Shape{3, 100, 20}, Shape{4, 33, 17}, Shape{5, 3, 40}}) {
    set_num_threads(1);
    const auto once = steps(s[0], s[1], s[2]);
    for (int threads : {2, 3, 7}) {
      set_num_threads(threads);
      EXPECT_EQ(steps(s[0], s[1], s[2]), once) << s << " on " << threads << " threads";
    }
  }
  set_num_threads(before);
}

// Sequences do not meet: each gives the same bits alone as in a batch, where both take the packed path.
TEST(Lstm, ARowDoesNotDependOnItsNeighbours) {
  constexpr std::int64_t kTime = 3, kHidden = 19;
  const auto part = [](std::int64_t n) {
    Array<float> x({kTime, n, 4 * kHidden}), w = Array<float>::random({4 * kHidden, kHidden}, 2);
    Array<float> all = Array<float>::random({kTime, 64, 4 * kHidden}, 1), h({n, kHidden}), c({n, kHidden});
    for (std::int64_t t = 0; t < kTime; ++t)
      for (std::int64_t i = 0; i < n * 4 * kHidden; ++i)
        x.view().as<float>()[t * n * 4 * kHidden + i] = all.view().as<float>()[t * 64 * 4 * kHidden + i];
    Array<float> gates({kTime, n, 4 * kHidden}), out({kTime, n, 2 * kHidden});
    cpu::backend().lstm(false, x.view(), w.view(), h.view(), c.view(), gates.view(), out.view(), nullptr);
    const std::vector<float> values = out.values();
    std::vector<float> first;  // of row 0
    for (std::int64_t t = 0; t < kTime; ++t)
      first.insert(first.end(), values.begin() + t * n * 2 * kHidden,
                   values.begin() + (t * n + 1) * 2 * kHidden);
    return first;
  };
  const std::vector<float> alone = part(5);
  for (std::int64_t n : {12, 13, 16, 24, 64}) EXPECT_EQ(part(n), alone) << n << " rows";
}

}  // namespace
}  // namespace veldt
