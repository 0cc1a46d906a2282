// The steps of an LSTM on the cpu: what the op table does not see.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/views.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"

namespace veldt {
namespace {
using test::Array;

// For the sequences 0 .. n of a larger batch: gates, out, and the gradients by the sums, h and c.
template <class T>
std::vector<std::vector<T>> steps(std::int64_t time, std::int64_t n, std::int64_t hidden, bool reverse) {
  constexpr std::int64_t kMost = 128;
  const auto first = [&](std::int64_t outer, std::int64_t width, std::uint64_t seed) {
    const Array<T> all = Array<T>::random({outer, kMost, width}, seed);
    Array<T> part({outer, n, width});
    for (std::int64_t t = 0; t < outer; ++t)
      for (std::int64_t i = 0; i < n * width; ++i)
        part.view().template as<T>()[t * n * width + i] =
            all.values()[static_cast<std::size_t>(t * kMost * width + i)];
    return part;
  };
  Array<T> x = first(time, 4 * hidden, 1), w = Array<T>::random({4 * hidden, hidden}, 2),
           h = first(1, hidden, 3), c = first(1, hidden, 4), g = first(time, 2 * hidden, 5);
  Array<T> gates({time, n, 4 * hidden}), out({time, n, 2 * hidden}), dgates({time, n, 4 * hidden}),
      dh({n, hidden}), dc({n, hidden});
  const auto rows = [&](Array<T>& a) {
    View v = a.view();
    v.shape = {n, hidden};
    v.strides = {hidden, 1};
    return v;
  };
  const Backend& k = cpu::backend();
  k.lstm(reverse, x.view(), w.view(), rows(h), rows(c), gates.view(), out.view());
  k.lstm_slope(reverse, w.view(), rows(c), gates.view(), out.view(), g.view(), dgates.view(), dh.view(),
               dc.view());
  return {gates.values(), out.values(), dgates.values(), dh.values(), dc.values()};
}

template <class T> void expect_same_bits_on_any_number_of_threads() {
  const test::ThreadsScope scope;
  // Many rows; an odd number; few rows of a small weight, and of one that threads share.
  for (const Shape& s : {Shape{3, 100, 20}, Shape{4, 33, 17}, Shape{5, 5, 40}, Shape{3, 6, 130}})
    for (bool reverse : {false, true}) {
      set_num_threads(1);
      const auto once = steps<T>(s[0], s[1], s[2], reverse);
      for (int threads : {2, 3, 7}) {
        set_num_threads(threads);
        EXPECT_EQ(steps<T>(s[0], s[1], s[2], reverse), once) << s << " on " << threads << " threads";
      }
    }
}
TEST(Lstm, GivesTheSameBitsOnAnyNumberOfThreads) {
  expect_same_bits_on_any_number_of_threads<float>();
  expect_same_bits_on_any_number_of_threads<double>();
}

// Sequences do not meet: each gives the same bits whatever tile its row falls into.
TEST(Lstm, ARowDoesNotDependOnItsNeighbours) {
  constexpr std::int64_t kTime = 3, kHidden = 19;
  const test::ThreadsScope scope(1);
  const auto whole = steps<float>(kTime, 128, kHidden, false);
  for (std::int64_t n : {5, 12, 13, 16, 23, 64}) {
    const auto part = steps<float>(kTime, n, kHidden, false);
    for (std::size_t array = 0; array < whole.size(); ++array) {
      const std::size_t outer = array < 3 ? kTime : 1, row = whole[array].size() / outer / 128,
                        width = row * static_cast<std::size_t>(n);
      for (std::size_t t = 0; t < outer; ++t)
        for (std::size_t i = 0; i < width; ++i)
          ASSERT_EQ(part[array][t * width + i], whole[array][t * 128 * row + i])
              << n << " rows, array " << array << ", step " << t << ", row " << i / row;
    }
  }
}

}  // namespace
}  // namespace veldt
