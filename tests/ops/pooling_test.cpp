// Pooling: ties, NaN, what is refused, and a recorded step. The op table has the rest.
#include "veldt/ops/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

TEST(AvgPool, TakesNoMemoryBesidesItsInput) {
  const Tensor x = ones({1, 1, 100'000});
  EXPECT_LT(forecast([&] { return avg_pool1d(x, 4); }).planned_bytes, std::size_t{4} << 20);
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
