// What ops of several tensors refuse: the message names both sides. And the gradients at places where a
// formula would give NaN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/distance.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/interpolate.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

using Binary = Tensor (*)(const Tensor&, const Tensor&);
const Binary kBinary[] = {add,   sub,       mul,  div,        pow,     maximum,      minimum,
                          equal, not_equal, less, less_equal, greater, greater_equal};

TEST(Binary, NamesBothShapesWhenTheyDisagree) {
  for (Binary op : kBinary) {
    const std::string text = error_of<ShapeError>([&] { op(zeros({2, 3}), zeros({4, 3})); });
    EXPECT_THAT(text, HasSubstr("[2, 3]"));
    EXPECT_THAT(text, HasSubstr("[4, 3]"));
    EXPECT_THAT(text, HasSubstr("sizes 2 and 4 of dimension -2"));
  }
}

TEST(Comparison, IsForWholeNumbersAndBooleansToo) {
  EXPECT_THAT(less(arange(3), full({}, 1, DType::i64)).values<bool>(), ElementsAre(true, false, false));
  const Tensor yes = ones({2}, DType::boolean), mixed = Tensor::of({2}, {0, 1}, DType::boolean);
  EXPECT_THAT(equal(yes, mixed).values<bool>(), ElementsAre(false, true));
}

TEST(Interpolate, NamesWhatDoesNotFit) {
  const Tensor x = zeros({1, 2, 4});
  EXPECT_THAT(error_of<ShapeError>([] { interpolate(zeros({2, 4}), {.size = 3}); }), HasSubstr("[2, 4]"));
  EXPECT_THAT(error_of<ConfigError>([&] { interpolate(x, {}); }), HasSubstr("no size"));
  EXPECT_THAT(error_of<ConfigError>([&] { interpolate(x, {.size = 3, .scale_factor = {2}}); }),
              HasSubstr("both a size and a factor"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                interpolate(x, {.scale_factor = {2, 3}});
              }),
              HasSubstr("2 factors for 1"));
  EXPECT_THAT(error_of<ConfigError>([&] { interpolate(x, {.size = 3, .align_corners = true}); }),
              HasSubstr("align corners"));
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_THAT(error_of<ConfigError>([&] { interpolate(x, {.scale_factor = {bad}}); }),
                HasSubstr("scale by"));
  EXPECT_THAT(error_of<ShapeError>([&] { interpolate(x, {.scale_factor = {0.2}}); }), HasSubstr("[1, 2, 4]"));
  EXPECT_THAT(error_of<ShapeError>([&] { interpolate(x, {.scale_factor = {1e300}}); }),
              HasSubstr("[1, 2, 4]"));
  EXPECT_THAT(error_of<ShapeError>([] {
                interpolate(zeros({1, 2, 0}), {.size = 3});
              }),
              HasSubstr("[1, 2, 0]"));
}

TEST(Interpolate, KeepsWhatNearestNeedNotCompute) {
  EXPECT_THAT(interpolate(reshape(arange(3), {1, 1, 3}), {.size = 6}).values<std::int64_t>(),
              ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(PixelShuffle, NamesSizesThatDoNotComeInSquares) {
  EXPECT_THAT(error_of<ShapeError>([] { pixel_shuffle(zeros({6, 2, 2}), 2); }), HasSubstr("[6, 2, 2]"));
  EXPECT_THAT(error_of<ShapeError>([] { pixel_shuffle(zeros({4, 2}), 2); }), HasSubstr("[4, 2]"));
  EXPECT_THAT(error_of<ShapeError>([] { pixel_shuffle(zeros({4, 2, 2}), 0); }), HasSubstr("pixel_shuffle"));
  EXPECT_THAT(error_of<ShapeError>([] { pixel_unshuffle(zeros({1, 3, 4}), 2); }), HasSubstr("[1, 3, 4]"));
}

TEST(CosineSimilarity, NamesBothShapesWhenTheyDisagree) {
  EXPECT_THAT(error_of<ShapeError>([] {
                cosine_similarity(zeros({2, 3}), zeros({2, 4}));
              }),
              HasSubstr("[2, 4]"));
}

TEST(Where, NamesItsShapesAndDtypes) {
  const Tensor yes = ones({2}, DType::boolean);
  EXPECT_THAT(error_of<ShapeError>([&] { where(yes, zeros({3}), zeros({3})); }), HasSubstr("[2]"));
  EXPECT_THAT(error_of<ShapeError>([&] { where(yes, zeros({2}), zeros({3})); }), HasSubstr("[3]"));
  EXPECT_THAT(error_of<ShapeError>([&] { where(zeros({2}), zeros({2}), zeros({2})); }), HasSubstr("f32"));
  EXPECT_THAT(where(yes, arange(2), arange(2)).values<std::int64_t>(), ElementsAre(0, 1));
}

TEST(Matmul, NamesBothShapesWhenTheyDisagree) {
  const std::string text = error_of<ShapeError>([] { matmul(zeros({32, 784}), zeros({128, 10})); });
  EXPECT_THAT(text, HasSubstr("[32, 784] by [128, 10]"));
  EXPECT_THAT(text, HasSubstr("784 and 128"));
  EXPECT_THAT(error_of<ShapeError>([] { matmul(zeros({}), zeros({3, 2})); }), HasSubstr("[] by [3, 2]"));
  EXPECT_THAT(error_of<ShapeError>([] {
                matmul(zeros({2, 3}), zeros({3, 2}, DType::f64));
              }),
              HasSubstr("f32 by f64"));
  const std::string batch = error_of<ShapeError>([] { matmul(zeros({2, 1, 1}), zeros({3, 1, 1})); });
  EXPECT_THAT(batch, HasSubstr("[2]"));
  EXPECT_THAT(batch, HasSubstr("[3]"));
}

TEST(Linear, NamesTheShapesWhenTheyDisagree) {
  const std::string text = error_of<ShapeError>([] { linear(zeros({5, 3}), zeros({2, 4})); });
  EXPECT_THAT(text, HasSubstr("[2, 4]"));
  EXPECT_THAT(text, HasSubstr("[5, 3]"));
  EXPECT_THAT(error_of<ShapeError>([] {
                linear(zeros({5, 3}), zeros({2, 3}), zeros({3}));
              }),
              HasSubstr("[3]"));
  EXPECT_NE(error_of<ShapeError>([] { linear(zeros({}), zeros({2, 3})); }), "");
}

TEST(Gather, NamesThePositionBeyondTheSize) {
  const Tensor x = zeros({3, 2});
  for (double bad : {3.0, -1.0}) {
    const Tensor index = Tensor::of({1, 2}, {0, bad}, DType::i64);
    EXPECT_THAT(error_of<ShapeError>([&] { gather(x, 0, index); }), HasSubstr(str("position ", bad)));
  }
  EXPECT_THAT(error_of<ShapeError>([&] { gather(x, 0, zeros({1, 3}, DType::i64)); }), HasSubstr("[1, 3]"));
  EXPECT_THAT(error_of<ShapeError>([&] { gather(x, 0, zeros({1}, DType::i64)); }), HasSubstr("[3, 2]"));
  EXPECT_THAT(error_of<ShapeError>([&] { gather(x, 0, zeros({1, 2})); }), HasSubstr("i64"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                index_select(x, 0, zeros({1, 2}, DType::i64));
              }),
              HasSubstr("[1, 2]"));
}

TEST(Reduce, RefusesADimensionTwiceAndMaximaOfNothing) {
  EXPECT_THAT(error_of<ShapeError>([] { sum(zeros({2, 3}), {1, -1}); }), HasSubstr("dimension 1 twice"));
  EXPECT_THAT(error_of<ShapeError>([] { sum(zeros({2, 3}), {2}); }), HasSubstr("no dimension 2"));
  EXPECT_THAT(error_of<ShapeError>([] { max(zeros({3, 0}), {1}); }), HasSubstr("[3, 0]"));
  EXPECT_THAT(error_of<ShapeError>([] { min(zeros({0})); }), HasSubstr("[0]"));
  EXPECT_THAT(error_of<ShapeError>([] { argmax(zeros({3, 0}), 1); }), HasSubstr("[3, 0]"));
}

TEST(SumTo, NamesBothShapesWhenTheyDisagree) {
  for (const Shape& to : {Shape{2}, Shape{2, 3}, Shape{1, 1, 3}, Shape{4}}) {
    const std::string text = error_of<ShapeError>([&] { sum_to(zeros({3}), to); });
    EXPECT_THAT(text, HasSubstr("[3]"));
    EXPECT_THAT(text, HasSubstr(str(to)));
  }
}

TEST(Sum, CountsBooleansAndBytes) {
  EXPECT_EQ(sum(Tensor::of({3}, {1, 0, 1}, DType::boolean)).values<std::int64_t>()[0], 2);
  EXPECT_EQ(sum(full({300}, 255, DType::u8)).values<std::int64_t>()[0], 76500);
}

TEST(Max, SharesItsGradientAmongTies) {
  const Tensor x = Tensor::of({2, 3}, {1, 4, 4, 7, 2, 3}).set_requires_grad();
  sum(max(x, {1})).backward();
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(0, 0.5, 0.5, 1, 0, 0));
}

TEST(Maximum, KeepsAnInfiniteGradientOnItsSide) {
  const Tensor a = Tensor::of({2}, {1, 2}).set_requires_grad(),
               b = Tensor::of({2}, {2, 1}).set_requires_grad();
  const Tensor seed = full({2}, INFINITY);
  for (Binary op : {Binary(maximum), Binary(minimum)}) {
    const Grads g = grad(op(a, b), {a, b}, false, seed);
    for (const Tensor& each : g)
      for (float v : each.values<float>()) EXPECT_TRUE(v == 0 || std::isinf(v)) << v;
  }
}

TEST(Pow, HasAGradientAtABaseOfZero) {
  const Tensor a = zeros({3}).set_requires_grad(), b = Tensor::of({3}, {2, 1, 0}).set_requires_grad();
  sum(pow(a, b)).backward();
  EXPECT_THAT(a.grad().values<float>(), ElementsAre(0, 1, 0));
  EXPECT_THAT(b.grad().values<float>(), ElementsAre(0, 0, 0));
}

TEST(Maximum, GivesTheGradientToTheSideThatIsNaN) {
  const Tensor a = Tensor::of({2}, {NAN, 1}).set_requires_grad(),
               b = Tensor::of({2}, {1, NAN}).set_requires_grad();
  for (Binary op : {Binary(maximum), Binary(minimum)}) {
    const Grads g = grad(sum(op(a, b)), {a, b});
    EXPECT_THAT(g[0].values<float>(), ElementsAre(1, 0));
    EXPECT_THAT(g[1].values<float>(), ElementsAre(0, 1));
  }
}

TEST(Expand, RefusesANegativeSize) {
  EXPECT_NE(error_of<ShapeError>([] { expand(zeros({1}), {-5}); }), "");
}

TEST(Random, NeverGivesTheUpperBound) {
  // 2^-24 below 1 rounds up to 17 when 16 is added in f32.
  Rng rng(1);
  const Tensor x = rand({200000}, rng, 16, 17);
  EXPECT_LT(max(x).item(), 17);
  EXPECT_GE(min(x).item(), 16);
}

TEST(Clamp, RefusesBoundsInTheWrongOrder) {
  EXPECT_THAT(error_of<ConfigError>([] { clamp(zeros({1}), 2, 1); }), HasSubstr("between 2 and 1"));
  EXPECT_NE(error_of<ConfigError>([] { clamp(zeros({1}), NAN, 1); }), "");
}

TEST(Random, RefusesDtypesItDoesNotDraw) {
  Rng rng(1);
  EXPECT_THAT(error_of<DeviceError>([&] { rand({2}, rng, 0, 1, DType::i64); }), HasSubstr("i64"));
  EXPECT_THAT(error_of<DeviceError>([&] { randn({2}, rng, 0, 1, DType::u8); }), HasSubstr("u8"));
  EXPECT_EQ(rng.position(), 0u);
}

TEST(Random, MovesItsStreamOnByWhatItDrew) {
  Rng rng(3);
  const Tensor both = rand({5}, rng);
  EXPECT_EQ(rng.position(), 5u);
  randn({5}, rng);
  EXPECT_EQ(rng.position(), 15u);
  Rng again(3);
  const Tensor first = rand({2}, again), second = rand({3}, again);
  EXPECT_EQ(cat({first, second}).values<float>(), both.values<float>());
}

TEST(Arange, RefusesANegativeLength) {
  EXPECT_NE(error_of<ShapeError>([] { arange(-1); }), "");
  EXPECT_NE(error_of<ShapeError>([] { linspace(0, 1, -1); }), "");
}

}  // namespace
}  // namespace veldt
