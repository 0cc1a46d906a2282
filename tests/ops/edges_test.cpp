// Ops at the edges of what they are defined for: where a gradient has no one value, too few numbers, numbers
// without dimensions, windows larger than what they are laid over, numbers that a dtype does not hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/einsum.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/index.h"
#include "veldt/ops/interpolate.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/sort.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using test::error_of;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor leaf_of(std::initializer_list<double> values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values, DType::f64).set_requires_grad();
}

std::vector<double> slope_of(const Tensor& y, const Tensor& x) {
  return grad(sum(y), {x})[0].values<double>();
}

// The same as the fused kernel has it, as the second derivative's graph does.
std::vector<double> slope_in_ops(const Tensor& y, const Tensor& x) {
  return grad(sum(y), {x}, true)[0].values<double>();
}

TEST(Variance, OfTooFewNumbersIsNaNOrInfinite) {
  EXPECT_THAT(variance(zeros({0})).item(), IsNan());
  EXPECT_THAT(variance(ones({1})).item(), IsNan());
  EXPECT_THAT(variance(ones({1}), {}, false, 2).item(), IsNan());
  EXPECT_EQ(variance(Tensor::of({2}, {1, 4}), {}, false, 3).item(), kInf);
  EXPECT_EQ(stddev(Tensor::of({2}, {1, 4}), {}, false, 3).item(), kInf);
}

TEST(Stddev, HasAGradientOfZeroWhereAllNumbersAreEqual) {
  const Tensor x = leaf_of({2, 2, 2, 2});
  EXPECT_THAT(slope_of(stddev(x), x), Each(0));
  EXPECT_THAT(slope_in_ops(stddev(x), x), Each(0));
  const Tensor slope = grad(stddev(x), {x}, true)[0];
  EXPECT_THAT(grad(sum(slope * Tensor::of({4}, {1, 2, 3, 5})), {x})[0].values<double>(), Each(0));
}

TEST(Atan2, HasAGradientOfZeroAtTheOrigin) {
  const Tensor x = leaf_of({0, -0.0}), y = leaf_of({0, 0});
  EXPECT_THAT(slope_of(atan2(x, y), x), Each(0));
  EXPECT_THAT(slope_of(atan2(x, y), y), Each(0));
  const Tensor g = grad(sum(atan2(x, y)), {x}, true)[0];
  EXPECT_THAT(grad(sum(g), {y})[0].values<double>(), Each(testing::Not(IsNan())));
}

TEST(Pow, OfZeroHasItsSlopeByTheExponent) {
  const Tensor b = leaf_of({-1, 0, 2});
  EXPECT_THAT(slope_of(pow(zeros({3}, DType::f64), b), b), ElementsAre(-kInf, 0, 0));
}

TEST(Einsum, WithoutAnArrowCountsLettersInTheWholeEquation) {
  const Tensor x = reshape(arange(9, DType::f32), {3, 3});
  EXPECT_EQ(einsum("ii", {x}).shape(), Shape{});
  EXPECT_EQ(einsum("ii", {x}).item(), 12);
  EXPECT_THAT(einsum("iij", {ones({3, 3, 2})}).values<float>(), ElementsAre(3, 3));
  EXPECT_THAT(einsum("ii->i", {x}).values<float>(), ElementsAre(0, 4, 8));
}

TEST(Pooling, RoundedUpTakesAKernelLargerThanTheInput) {
  const Tensor x = reshape(Tensor::of({2}, {1, 3}), {1, 1, 2});
  EXPECT_THAT(avg_pool1d(x, 3, {.ceil_mode = true}).values<float>(), ElementsAre(2));
  EXPECT_THAT(max_pool1d(x, 3, {.ceil_mode = true}).values<float>(), ElementsAre(3));
  EXPECT_THAT(max_pool1d(x, 2, {.stride = 2, .dilation = 2, .ceil_mode = true}).values<float>(),
              ElementsAre(1));
  EXPECT_THAT(error_of<ShapeError>([&] { avg_pool1d(x, 3); }), HasSubstr("kernel of [3]"));
  EXPECT_NE(error_of<ShapeError>([&] { avg_pool1d(x, 5, {.stride = 2, .ceil_mode = true}); }), "");
}

TEST(Interpolate, LeavesASideWhoseSizeStays) {
  const Tensor x = reshape(arange(3, DType::f32), {1, 1, 3});
  for (const Interpolation mode : {Interpolation::nearest, Interpolation::linear})
    EXPECT_THAT(interpolate(x, {.scale_factor = {1.3}, .mode = mode}).values<float>(), ElementsAre(0, 1, 2));
}

TEST(Slopes, OnBoundsAreThoseOfPyTorch) {
  const Tensor x = leaf_of({-3, 0, 3, 6});
  const std::pair<Tensor (*)(const Tensor&), std::vector<double>> cases[] = {
      {relu, {0, 0, 1, 1}},
      {relu6, {0, 0, 1, 0}},
      {hardswish, {0, 0.5, 1, 1}},
      {[](const Tensor& t) { return hardtanh(t, -3, 6); }, {0, 1, 1, 0}},
      {[](const Tensor& t) { return clamp(t, -3, 6); }, {0, 1, 1, 0}}};
  for (const auto& [function, slopes] : cases) {
    EXPECT_EQ(slope_of(function(x), x), slopes);
    EXPECT_EQ(slope_in_ops(function(x), x), slopes);
  }
}

TEST(Extremes, ShareTheGradientWhereTheyAreEqual) {
  const Tensor a = leaf_of({1, 2, 3}), b = leaf_of({2, 2, 2});
  EXPECT_THAT(slope_of(maximum(a, b), a), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(slope_of(maximum(a, b), b), ElementsAre(1, 0.5, 0));
  EXPECT_THAT(slope_of(minimum(a, b), a), ElementsAre(1, 0.5, 0));
  EXPECT_THAT(slope_of(minimum(a, b), b), ElementsAre(0, 0.5, 1));
}

TEST(Numbers, AreReducedAsAListOfOne) {
  const Tensor x = Tensor::of({}, {2.5});
  for (const int d : {0, -1}) {
    for (const Tensor& y :
         {sum(x, {d}), mean(x, {d}), max(x, {d}), prod(x, {d}), norm(x, 2, {d}), logsumexp(x, {d}),
          cumsum(x, d), cumprod(x, d), sort(x, d).values, topk(x, 1, d).values, squeeze(x, d)}) {
      EXPECT_EQ(y.shape(), Shape{});
      EXPECT_EQ(y.item(), 2.5);
    }
    EXPECT_EQ(softmax(x, d).item(), 1);
    EXPECT_EQ(log_softmax(x, d).item(), 0);
    for (const Tensor& y : {argmax(x, d), argmin(x, d, true), argsort(x, d), sort(x, d).indices}) {
      EXPECT_EQ(y.shape(), Shape{});
      EXPECT_EQ(y.item(), 0);
    }
    EXPECT_TRUE(any(x, {d}).item<bool>());
    EXPECT_TRUE(all(x, {d}, true).item<bool>());
  }
  EXPECT_THAT(error_of<ShapeError>([&] { sum(x, {1}); }), HasSubstr("sum has no dimension 1"));
  EXPECT_THAT(error_of<ShapeError>([&] { sum(x, {0, -1}); }), HasSubstr("dimension 0 twice"));
  EXPECT_THAT(error_of<ShapeError>([&] { softmax(x, -2); }), HasSubstr("from -1 to 0"));
  EXPECT_THAT(error_of<ShapeError>([&] { select(x, 0, 0); }), HasSubstr("reshape it to [1]"));
}

TEST(Nonzero, OfANumberHasNoColumns) {
  EXPECT_EQ(nonzero(Tensor::of({}, {2})).shape(), (Shape{1, 0}));
  EXPECT_EQ(nonzero(Tensor::of({}, {0})).shape(), (Shape{0, 0}));
}

// x < v and the like in long double, which holds every i64.
TEST(Comparisons, OfWholeNumbersWithAnyNumberAreExact) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<Scalar> numbers = {-1,
                                       0,
                                       256,
                                       255,
                                       1LL << 31,
                                       -(1LL << 31),
                                       -(1LL << 31) - 1,
                                       most,
                                       0.5,
                                       -0.5,
                                       255.0,
                                       1e10,
                                       -1e30,
                                       kInf,
                                       -kInf,
                                       std::nan(""),
                                       0x1p63,
                                       -0x1p63,
                                       std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::uint64_t>::max()};
  for (const DType dtype : {DType::u8, DType::i32, DType::i64, DType::boolean}) {
    Tensor x = Tensor::from<std::int64_t>(
        {8}, std::vector<std::int64_t>{0, 1, -1, 255, INT32_MAX, INT32_MIN, most, -most - 1});
    x = to(x, dtype);
    const std::vector<std::int64_t> values = to(x, DType::i64).values<std::int64_t>();
    for (const Scalar& v : numbers) {
      const long double b = v.is_whole() ? static_cast<long double>(v.whole()) : v.real();
      const auto expect = [&](const Tensor& got, auto holds) {
        for (std::size_t i = 0; i < values.size(); ++i)
          EXPECT_EQ(got.values<bool>()[i], holds(static_cast<long double>(values[i]), b))
              << dtype << ' ' << values[i] << " beside " << v.real();
      };
      expect(equal(x, v), std::equal_to<>());
      expect(not_equal(x, v), std::not_equal_to<>());
      expect(less(x, v), std::less<>());
      expect(less_equal(x, v), std::less_equal<>());
      expect(greater(x, v), std::greater<>());
      expect(greater_equal(x, v), std::greater_equal<>());
    }
  }
  const Tensor x = arange(3);
  Plan plan([&] { return less(to(x, DType::u8), 256); });
  plan.replay();
  EXPECT_THAT(plan.output(0).values<bool>(), Each(true));
  EXPECT_NE(error_of<ShapeError>([&] { add(to(x, DType::u8), 256); }), "");
}

TEST(Expand, KeepsASizeForMinusOne) {
  EXPECT_EQ(expand(ones({2, 1}), {3, -1, 4}).shape(), (Shape{3, 2, 4}));
  EXPECT_NE(error_of<ShapeError>([] { expand(ones({2, 1}), {-1, 2, 4}); }), "");
}

TEST(Pad, TakesElementsAwayForAmountsBelowZero) {
  const Tensor x = reshape(arange(6, DType::f64), {2, 3}).set_requires_grad();
  const Tensor y = pad(x, {-1, 2, 0, -1}, 9);
  EXPECT_EQ(y.shape(), (Shape{1, 4}));
  EXPECT_THAT(y.values<double>(), ElementsAre(1, 2, 9, 9));
  EXPECT_THAT(slope_of(y, x), ElementsAre(0, 1, 1, 0, 0, 0));
  EXPECT_EQ(pad(x, {-1, -2}).numel(), 0);
  EXPECT_THAT(error_of<ShapeError>([&] {
                pad(x, {-2, -2});
              }),
              HasSubstr("2 and 2 elements from dimension 1"));
}

TEST(Pad, RefusesMoreThanThereAreNumbersFor) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const PadMode mode : {PadMode::zeros, PadMode::replicate}) {
    EXPECT_NE(error_of<ShapeError>([&] { pad(arange(3), {kMost, kMost}, mode); }), "");
    EXPECT_NE(error_of<ShapeError>([&] { pad(arange(3), {kMost / 2, kMost / 4}, mode); }), "");
  }
}

TEST(Pad, WithNothingCopiesNothing) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(pad(x, {0, 0, 0, 0}, PadMode::reflect).data<float>(), x.data<float>());
}

// A gap between pairs: neither lines of neighbours nor runs that are worth moving.
TEST(Sum, OfShortRunsWithGaps) {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 40}) {
    const Tensor x = slice(reshape(arange(200 * n, DType::f64), {100, 2 * n}), 1, 0, 2 * n, 2);
    EXPECT_EQ(sum(x, {1}).values<double>(), sum(contiguous(x), {1}).values<double>()) << n;
    EXPECT_EQ(sum(x, {0}).values<double>(), sum(contiguous(x), {0}).values<double>()) << n;
  }
}

TEST(Index, MayBeOfI32) {
  const Tensor x = arange(4, DType::f32), index = Tensor::of({2}, {3, 1}, DType::i32);
  EXPECT_THAT(index_select(x, 0, index).values<float>(), ElementsAre(3, 1));
  EXPECT_THAT(gather(x, 0, index).values<float>(), ElementsAre(3, 1));
  EXPECT_THAT(scatter(x, 0, index, 7).values<float>(), ElementsAre(0, 7, 2, 7));
  EXPECT_THAT(index_add(x, 0, index, ones({2})).values<float>(), ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(error_of<ShapeError>([&] { gather(x, 0, ones({2}, DType::boolean)); }), HasSubstr("not bool"));
}

TEST(Errors, NameTheOpThatWasCalled) {
  const Tensor x = ones({2}), far = Tensor::of({1}, {5}, DType::i64);
  EXPECT_THAT(error_of<ShapeError>([&] { index_select(x, 0, far); }), HasSubstr("index_select was asked"));
  EXPECT_THAT(error_of<ShapeError>([&] { sort(x, 3); }), HasSubstr("sort has no"));
  EXPECT_THAT(error_of<ShapeError>([] { norm(zeros({0}), kInf); }), HasSubstr("norm has nothing"));
  EXPECT_THAT(error_of<ShapeError>([&] { any(x, {2}); }), HasSubstr("any has no dimension"));
}

TEST(Full, HoldsEveryWholeNumber) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  EXPECT_THAT(full({2}, large, DType::i64).values<std::int64_t>(), ElementsAre(large, large));
  EXPECT_EQ(full({}, INT64_MIN, DType::i64).item<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(full({}, std::uint64_t{1} << 63, DType::i64).item<std::int64_t>(),
            INT64_MAX);  // as every dtype: the nearest
}

}  // namespace
}  // namespace veldt
