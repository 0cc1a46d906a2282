// Pooling: ties, NaN, what is refused, and a recorded step. The op table has the rest.
#include "veldt/ops/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(MaxPool, GivesTheGradientToTheFirstOfEquals) {
  Tensor x = Tensor::of({1, 4}, {2, 2, 0, 0});
  x.set_requires_grad();
  sum(max_pool1d(x, 2)).backward();
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(1, 0, 1, 0));
}

TEST(MaxPool, TakesANaNForTheLargest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor y = max_pool1d(Tensor::of({1, 6}, {1, nan, nan, 2, 3, 4}), 2);
  EXPECT_TRUE(std::isnan(y.values<float>()[0]));
  EXPECT_TRUE(std::isnan(y.values<float>()[1]));
  EXPECT_EQ(y.values<float>()[2], 4);
}

// Rows longer than a register: x [planes, 3, width], pooled 2 by kernel.
struct Windows {
  std::int64_t width, kernel, stride, padding, dilation;
};
constexpr Windows kWindows[] = {{70, 2, 2, 0, 1}, {71, 3, 2, 1, 1}, {69, 2, 1, 0, 1}, {50, 5, 1, 2, 1},
                                {64, 3, 2, 1, 2}, {40, 2, 3, 1, 1}, {37, 4, 2, 2, 3}, {16, 16, 1, 0, 1}};

// The means or largest numbers of all windows, and their gradients for a gradient `seed`.
struct Pooled {
  std::vector<double> y, dx;
};
Pooled by_hand(const Windows& w, bool largest, const std::vector<double>& x, std::int64_t planes,
               std::int64_t out, const std::vector<double>& seed) {
  Pooled r{{}, std::vector<double>(x.size())};
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t o = 0; o < out; ++o) {
        std::vector<std::size_t> inside;
        for (std::int64_t j = i; j < i + 2; ++j)
          for (std::int64_t k = 0; k < w.kernel; ++k)
            if (const std::int64_t at = o * w.stride - w.padding + k * w.dilation; at >= 0 && at < w.width)
              inside.push_back(static_cast<std::size_t>((plane * 3 + j) * w.width + at));
        const double g = seed[r.y.size()];
        std::size_t first = inside[0];
        double sum = 0;
        for (const std::size_t at : inside) {
          sum += x[at];
          if (x[at] > x[first] || (std::isnan(x[at]) && !std::isnan(x[first]))) first = at;
        }
        const auto count = static_cast<double>(2 * w.kernel);
        r.y.push_back(largest ? x[first] : sum / count);
        for (const std::size_t at : inside) r.dx[at] += largest ? (at == first ? g : 0) : g / count;
      }
  return r;
}

void expect_pooled(const Windows& w, bool largest, DType dtype) {
  constexpr std::int64_t kPlanes = 3;
  Rng rng(5);
  Tensor x = to(round(randn({kPlanes, 3, w.width}, rng) * 2), dtype);  // with many equals
  if (largest) select(select(x, 0, 0), 0, 1).assign(full({w.width}, NAN, dtype));
  x.set_requires_grad();
  const auto pool = [&] {
    return largest
               ? max_pool2d(
                     x, {2, w.kernel},
                     {.stride = PerDim{1, w.stride}, .padding = {0, w.padding}, .dilation = {1, w.dilation}})
               : avg_pool2d(x, {2, w.kernel}, {.stride = PerDim{1, w.stride}, .padding = {0, w.padding}});
  };
  const Tensor y = pool(), seed = to(round(randn(y.shape(), rng) * 4), dtype);
  const auto numbers = [](const Tensor& t) { return to(t.detach(), DType::f64).values<double>(); };
  const Pooled expected = by_hand(w, largest, numbers(x), kPlanes, y.size(-1), numbers(seed));
  const auto near = [&](const Tensor& found, const std::vector<double>& wanted, const char* what) {
    const std::vector<double> all = numbers(found);
    ASSERT_EQ(all.size(), wanted.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!(std::isnan(all[i]) && std::isnan(wanted[i]))) {
        ASSERT_NEAR(all[i], wanted[i], largest ? 0 : 1e-5)
            << what << ' ' << i << " of " << w.width << " by " << w.kernel << ", stride " << w.stride;
      }
  };
  near(y, expected.y, "y");
  near(grad(y, {x}, false, seed)[0], expected.dx, "dx");
  const NoGrad off;
  near(pool(), expected.y, "y without a gradient");
}

TEST(Pooling, OfLongRowsIsThatOfEachWindow) {
  for (const Windows& w : kWindows)
    for (const DType dtype : {DType::f32, DType::f64}) {
      expect_pooled(w, true, dtype);
      if (w.dilation == 1) expect_pooled(w, false, dtype);
    }
}

TEST(AvgPool, OfAWindowIsTheSameWhereverItStands) {
  Rng rng(4);
  const Tensor part = randn({1, 1, 37}, rng), y = avg_pool1d(cat({part, part, part}, 2), 33, {.stride = 1});
  EXPECT_EQ(slice(y, 2, 0, 42).values<float>(), slice(y, 2, 37, 79).values<float>());
}

// Sums of many numbers in f32 would be off by far more.
TEST(AvgPool, OfLongWindowsIsAsPreciseAtAnyStride) {
  const auto far = [](std::int64_t n, std::int64_t kernel, std::int64_t stride) {
    return max(abs(avg_pool1d(full({1, 1, n}, 0.1), kernel, {.stride = stride}) - 0.1)).item();
  };
  for (const std::int64_t stride : {1, 3}) {
    EXPECT_LE(far(1 << 20, 1 << 20, stride), 1e-7) << stride;
    EXPECT_LE(far(200'100, 200'000, stride), 1e-7) << stride;
  }
}

TEST(AvgPool, OfMinusZerosIsZeroInEachWindow) {
  for (const std::int64_t kernel : {2, 3, 40})
    for (const float y : avg_pool1d(full({1, 1, 117}, -0.0), kernel).values<float>())
      EXPECT_FALSE(std::signbit(y)) << kernel;
}

TEST(AvgPool, KeepsWhatIsNotFiniteInItsWindow) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(avg_pool1d(Tensor::of({1, 4}, {1, inf, 3, 5}), 2).values<float>(),
              ElementsAre(std::numeric_limits<float>::infinity(), 4));
}

TEST(AdaptiveAvgPool, OfEqualWindowsIsAvgPool) {
  Rng rng(1);
  const Tensor x = randn({2, 3, 6, 20}, rng, 0, 1, DType::f64);
  EXPECT_LE(max(abs(adaptive_avg_pool2d(x, {3, 5}) - avg_pool2d(x, {2, 4}))).item(), 1e-15);
  EXPECT_LE(max(abs(adaptive_avg_pool2d(x, 1) - mean(x, {2, 3}, true))).item(), 1e-15);
}

TEST(AdaptiveAvgPool, OfLongWindowsIsTheMeanOfEach) {
  constexpr std::int64_t kLength = 10'007, kWindows = 7;
  for (const DType dtype : {DType::f32, DType::f64}) {
    Rng rng(2);
    Tensor x = rand({2, 3, kLength}, rng, 1, 2, dtype).set_requires_grad();
    const Tensor g = rand({2, 3, kWindows}, rng, 1, 2, dtype);
    std::vector<Tensor> means;
    for (std::int64_t o = 0; o < kWindows; ++o) {
      const std::int64_t begin = o * kLength / kWindows, end = ((o + 1) * kLength + kWindows - 1) / kWindows;
      means.push_back(mean(narrow(x, 2, begin, end - begin), {2}));
    }
    const Tensor y = adaptive_avg_pool1d(x, kWindows), wanted = stack(means, 2);
    const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-14;
    EXPECT_LE(max(abs(y - wanted).detach()).item(), tolerance);
    EXPECT_LE(max(abs(grad(y, {x}, false, g)[0] - grad(wanted, {x}, false, g)[0])).item(), tolerance);
  }
}

TEST(AvgPool, TakesNoMemoryBesidesItsInput) {
  const Tensor x = ones({1, 1, 100'000});
  EXPECT_LT(step_facts([&] { return avg_pool1d(x, 4); }).planned_bytes, std::size_t{4} << 20);
}

TEST(Pooling, SaysWhatDoesNotFit) {
  EXPECT_THAT(error_of<ShapeError>([] { max_pool2d(zeros({1, 2, 3, 3}), 4); }), HasSubstr("[1, 2, 3, 3]"));
  EXPECT_THAT(error_of<ShapeError>([] { avg_pool2d(zeros({3, 3}), 2); }), HasSubstr("2 spatial dimensions"));
  EXPECT_THAT(error_of<ConfigError>([] {
                max_pool1d(zeros({1, 1, 9}), 2, {.padding = 2});
              }),
              HasSubstr("padding of 2 with a kernel of 2"));
  EXPECT_THAT(error_of<ConfigError>([] { avg_pool1d(zeros({1, 1, 9}), 0); }), HasSubstr("kernel of 0"));
  EXPECT_THAT(error_of<ConfigError>([] {
                adaptive_avg_pool2d(zeros({1, 1, 9, 9}), {1, 0});
              }),
              HasSubstr("size of 0"));
  EXPECT_THAT(error_of<ShapeError>([] {
                max_pool1d(zeros({1, 1, 1}), 2, {.stride = 1, .padding = 1, .dilation = 2});
              }),
              HasSubstr("nothing but padding"));
  EXPECT_THAT(error_of<ShapeError>([] {
                max_pool2d(zeros({1, 1, 0, 4}), 1);
              }),
              HasSubstr("give it elements"));
}

TEST(Pooling, IsRecorded) {
  Rng rng(3);
  Tensor x = randn({2, 3, 9, 8}, rng);
  x.set_requires_grad();
  const auto step = [&] {
    const Tensor loss = sum(max_pool2d(avg_pool2d(x, 2, {.stride = 1}), {3, 2}, {.padding = 1}));
    x.zero_grad();
    loss.backward();
    return loss.detach();
  };
  const double loss = step().item();
  const std::vector<float> gradient = x.grad().values<float>();
  Plan plan(step);
  plan.replay();
  EXPECT_EQ(plan.output().item(), loss);
  EXPECT_EQ(x.grad().values<float>(), gradient);
}

}  // namespace
}  // namespace veldt
