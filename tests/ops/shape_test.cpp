// Reshape over every small strided layout, and what the shape ops refuse.
#include "veldt/ops/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/error_of.h"
#include "tests/support/values.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

// All shapes of up to four sizes from `sizes` that hold n elements.
std::vector<Shape> shapes_of(std::int64_t n, const std::vector<std::int64_t>& sizes) {
  std::vector<Shape> done, open = {Shape{}};
  for (int rank = 0; rank <= 4; ++rank) {
    std::vector<Shape> next;
    for (const Shape& shape : open) {
      if (numel(shape) == n) done.push_back(shape);
      for (std::int64_t size : sizes) {
        Shape longer = shape;
        longer.push_back(size);
        if (numel(longer) > 0 && n % numel(longer) == 0) next.push_back(longer);
      }
    }
    open = next;
  }
  return done;
}

// Views of `shape`: every order of its dimensions in memory, each with and without a step, an offset, a
// repetition.
std::vector<Tensor> views_of(const Shape& shape) {
  const int rank = shape.rank();
  std::vector<Tensor> views;
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  do {
    for (int odd = -1; odd < rank; ++odd)
      for (std::int64_t factor : {0, 2}) {
        Strides strides = shape;
        std::int64_t next = 1;
        for (int d : order) {
          if (d == odd && factor == 2) next *= 2;
          strides[d] = d == odd && factor == 0 ? 0 : next;
          next *= shape[d];
        }
        views.push_back(arange(next + 5, DType::f32).alias(shape, strides, odd + 1));
        if (odd < 0) break;
      }
  } while (std::next_permutation(order.begin(), order.end()));
  return views;
}

TEST(Reshape, OfEveryStridedLayoutEqualsReshapingACopy) {
  int views = 0, copies = 0;
  for (const Shape& from : shapes_of(12, {1, 2, 3, 4, 6}))
    for (const Tensor& x : views_of(from)) {
      const std::vector<float> expected = contiguous(x).values<float>();
      for (const Shape& to : {Shape{12}, Shape{3, 4}, Shape{2, 6}, Shape{4, 1, 3}, Shape{2, 2, 3},
                              Shape{2, 3, 2}, Shape{1, 6, 2}, Shape{3, 2, 2, 1}}) {
        const Tensor y = reshape(x, to);
        ASSERT_EQ(y.shape(), to);
        ASSERT_EQ(y.values<float>(), expected) << from << " by strides " << x.strides() << " to " << to;
        const bool shares = y.view().data == x.view().data;
        (shares ? views : copies) += 1;
        if (x.is_contiguous()) {
          ASSERT_TRUE(shares) << from << " to " << to;
        }
      }
    }
  EXPECT_GT(views, 1000);
  EXPECT_GT(copies, 1000);
}

TEST(Reshape, SharesMemoryWhereStridesAllow) {
  const Tensor x = transpose(zeros({2, 3, 4}), 0, 1);  // [3, 2, 4], rows of 4
  EXPECT_EQ(reshape(x, {3, 2, 2, 2}).view().data, x.view().data);
  EXPECT_EQ(reshape(slice(zeros({4, 6}), 1, 0, 6, 2), {12}).strides(), Strides{2});
  EXPECT_EQ(reshape(expand(zeros({1, 3}), {4, 3}), {2, 2, 3}).strides(), (Strides{0, 0, 1}));
}

TEST(Reshape, NamesBothShapesWhenTheyDisagree) {
  const std::string text = error_of<ShapeError>([] { reshape(zeros({2, 3}), {4, 2}); });
  EXPECT_THAT(text, HasSubstr("[2, 3]"));
  EXPECT_THAT(text, HasSubstr("[4, 2]"));
  EXPECT_THAT(error_of<ShapeError>([] {
                reshape(zeros({2, 3}), {-1, 4});
              }),
              testing::AllOf(HasSubstr("[-1, 4]"), HasSubstr("make 4, which does not divide 6")));
  EXPECT_NE(error_of<ShapeError>([] { reshape(zeros({2, 3}), {-1, -1}); }), "");
  EXPECT_NE(error_of<ShapeError>([] { reshape(zeros({2, 3}), {-6, -1}); }), "");
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_NE(error_of<ShapeError>([&] { reshape(zeros({2, 3}), {-1, huge, huge}); }), "");
}

TEST(Expand, NamesBothShapesWhenTheyDisagree) {
  for (const Shape& to : {Shape{2, 4}, Shape{3}, Shape{4, 3}, Shape{2, 1}}) {
    const std::string text = error_of<ShapeError>([&] { expand(zeros({2, 3}), to); });
    EXPECT_THAT(text, HasSubstr("[2, 3]"));
    EXPECT_THAT(text, HasSubstr(str(to)));
  }
}

TEST(Permute, WantsEachDimensionOnce) {
  for (const std::vector<int>& order : std::vector<std::vector<int>>{{0}, {0, 0}, {0, 1, 1}, {}, {0, 2}})
    EXPECT_NE(error_of<ShapeError>([&] { permute(zeros({2, 3}), order); }), "");
  EXPECT_THAT(error_of<ShapeError>([] { permute(zeros({2, 3}), {1, 1}); }), HasSubstr("[2, 3]"));
}

TEST(Slice, RefusesStepsOfZero) {
  EXPECT_THAT(error_of<ShapeError>([] { slice(zeros({3}), 0, 0, 3, 0); }), HasSubstr("steps of 0"));
  EXPECT_THAT(error_of<ShapeError>([] { slice(zeros({3}), 1, 0, 3); }), HasSubstr("no dimension 1"));
}

TEST(Slice, OfASliceCountsFromItsOwnStart) {
  const Tensor x = arange(20, DType::f32);
  EXPECT_THAT(slice(slice(x, 0, 3, 18, 3), 0, 1, -1, 2).values<float>(), ElementsAre(6, 12));
}

TEST(Select, NamesThePositionBeyondTheSize) {
  const std::string text = error_of<ShapeError>([] { select(zeros({2, 3}), 1, 3); });
  EXPECT_THAT(text, HasSubstr("no position 3 in dimension 1 of [2, 3]"));
  EXPECT_THAT(text, HasSubstr("-3 to 2"));
  EXPECT_THAT(text, HasSubstr("size is 3"));
  EXPECT_NE(error_of<ShapeError>([] { select(zeros({2, 3}), 0, -3); }), "");
}

TEST(Squeeze, DropsSizesOfOneAlone) {
  EXPECT_THAT(error_of<ShapeError>([] { squeeze(zeros({2, 3}), 0); }), HasSubstr("[2, 3]"));
}

TEST(Concat, NamesBothShapesWhenTheyDisagree) {
  const std::string text = error_of<ShapeError>([] { cat({zeros({2, 3}), zeros({2, 4})}, 0); });
  EXPECT_THAT(text, HasSubstr("[2, 3]"));
  EXPECT_THAT(text, HasSubstr("[2, 4]"));
  EXPECT_EQ(cat({zeros({2}), zeros({2}, DType::f64)}).dtype(), DType::f64);
  EXPECT_NE(error_of<ShapeError>([] { cat({zeros({2, 3}), zeros({2})}, 1); }), "");
  EXPECT_NE(error_of<ShapeError>([] { cat({}); }), "");
}

TEST(Stack, NamesBothShapesAsTheyWereGiven) {
  const std::string text = error_of<ShapeError>([] { stack({zeros({2, 3}), zeros({3, 2})}); });
  EXPECT_THAT(text, HasSubstr("stack cannot join [3, 2] to [2, 3]"));
}

TEST(Concat, JoinsWholeNumbersAndBooleans) {
  EXPECT_THAT(cat({arange(2), arange(1)}).values<std::int64_t>(), ElementsAre(0, 1, 0));
  const Tensor yes = ones({1}, DType::boolean), no = zeros({2}, DType::boolean);
  EXPECT_THAT(cat({yes, no}).values<bool>(), ElementsAre(true, false, false));
}

TEST(To, PassesGradientsBetweenFloatsToAnyOrder) {
  const Tensor x = Tensor::of({2}, {1.5, -2}, DType::f64).set_requires_grad();
  const Tensor y = to(x, DType::f32);
  const Tensor g = grad(sum(y * y * y), {x}, true)[0];
  EXPECT_EQ(g.dtype(), DType::f64);
  EXPECT_THAT(g.values<double>(), ElementsAre(3 * 2.25, 12));
  EXPECT_THAT(grad(sum(g), {x})[0].values<double>(), ElementsAre(9, -12));
}

TEST(To, CutsTheGraphWhereWholeNumbersBegin) {
  const Tensor x = Tensor::of({2}, {1.5, -2}).set_requires_grad();
  EXPECT_FALSE(to(x, DType::i64).requires_grad());
  EXPECT_THAT(to(x, DType::i64).values<std::int64_t>(), ElementsAre(1, -2));
}

TEST(To, ClampsWhatDoesNotFitAndMakesNaNZero) {
  const Tensor x = Tensor::of({4}, {1e30, -1e30, NAN, -1}, DType::f64);
  EXPECT_THAT(to(x, DType::u8).values<std::uint8_t>(), ElementsAre(255, 0, 0, 0));
  EXPECT_THAT(to(x, DType::i64).values<std::int64_t>(), ElementsAre(INT64_MAX, INT64_MIN, 0, -1));
}

TEST(To, RoundsHalfPrecisionToNearestEven) {
  const Tensor x = Tensor::of({4}, {1.00390625, 1.01171875, -0.0, 1e39}, DType::f64);  // 1 + 2^-8, 1 + 3 2^-8
  EXPECT_THAT(to(to(x, DType::bf16), DType::f64).values<double>(), ElementsAre(1, 1.015625, 0, INFINITY));
  const Tensor h = Tensor::of({3}, {1.00048828125, 65504, 70000}, DType::f64);
  EXPECT_THAT(to(to(h, DType::f16), DType::f64).values<double>(), ElementsAre(1, 65504, INFINITY));
  EXPECT_TRUE(std::isnan(to(to(Tensor::of({}, {NAN}), DType::bf16), DType::f32).item()));
}

TEST(Clone, HasMemoryOfItsOwnAndAGradient) {
  const Tensor x = ones({2}).set_requires_grad();
  Tensor y = clone(x.detach());
  y.assign(zeros({2}));
  EXPECT_THAT(x.values<float>(), ElementsAre(1, 1));
  sum(clone(x) * 3).backward();
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(3, 3));
}

}  // namespace
}  // namespace veldt
