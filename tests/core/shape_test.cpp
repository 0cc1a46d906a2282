// Sizes and strides: what they count, what they print, and what they refuse.
#include "veldt/core/shape.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"

namespace veldt {
namespace {

TEST(Shape, HoldsSizesInOrder) {
  Shape s{2, 3, 4};
  EXPECT_EQ(s.rank(), 3);
  EXPECT_EQ(s[1], 3);
  EXPECT_EQ(s.back(), 4);
  s[1] = 7;
  EXPECT_EQ(s, (Shape{2, 7, 4}));
  EXPECT_FALSE(s == (Shape{2, 7}));
  EXPECT_EQ(Shape::filled(3, 5), (Shape{5, 5, 5}));
  const std::int64_t sizes[] = {8, 9};
  EXPECT_EQ(Shape(std::span<const std::int64_t>(sizes)), (Shape{8, 9}));
}

TEST(Shape, GainsAndLosesDimensions) {
  const Shape s{2, 3, 4};
  EXPECT_EQ(s.without(0), (Shape{3, 4}));
  EXPECT_EQ(s.without(2), (Shape{2, 3}));
  EXPECT_EQ(s.with_inserted(0, 9), (Shape{9, 2, 3, 4}));
  EXPECT_EQ(s.with_inserted(3, 9), (Shape{2, 3, 4, 9}));
}

TEST(Shape, PrintsAsAList) {
  EXPECT_EQ(str(Shape{32, 784}), "[32, 784]");
  EXPECT_EQ(str(Shape{}), "[]");
}

TEST(Shape, RefusesANinthDimension) {
  Shape s = Shape::filled(8, 1);
  EXPECT_THROW(s.push_back(1), ShapeError);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  EXPECT_THROW(s.with_inserted(0, 1), ShapeError);
}

TEST(Numel, IsTheProductAndOneForAScalar) {
  EXPECT_EQ(numel(Shape{2, 3, 4}), 24);
  EXPECT_EQ(numel(Shape{}), 1);
  EXPECT_EQ(numel(Shape{5, 0}), 0);
}

TEST(Numel, RefusesNegativeSizesAndOverflow) {
  const std::int64_t big = std::int64_t{1} << 31;
  EXPECT_EQ(numel(Shape{big, big}), std::int64_t{1} << 62);
  EXPECT_THROW(numel(Shape{big, big, 2}), ShapeError);
  EXPECT_THROW(numel(Shape{big, big, big, big, big}), ShapeError);
  EXPECT_THROW(numel(Shape{2, -1}), ShapeError);
  EXPECT_EQ(numel(Shape{big, big, big, 0}), 0);
}

TEST(Strides, OfAContiguousShapeCountTheElementsToTheRight) {
  EXPECT_EQ(contiguous_strides(Shape{2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(contiguous_strides(Shape{}), Strides{});
  // Nothing to walk, so nothing to multiply: the product of the other sizes may be beyond counting.
  EXPECT_EQ(contiguous_strides(Shape{2, 0, 4}), (Strides{1, 1, 1}));
  const std::int64_t vast = std::int64_t{1} << 40;
  EXPECT_EQ(contiguous_strides(Shape{0, vast, vast}), (Strides{1, 1, 1}));
  for (const Shape& nothing : {Shape{0, 3, 4}, Shape{0, vast, vast}})
    EXPECT_TRUE(is_contiguous(nothing, contiguous_strides(nothing))) << nothing;
}

TEST(Strides, AreContiguousWhateverTheyAreAlongSizesOfOne) {
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {4, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {0, 1}));
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 99, 1}));
  EXPECT_TRUE(is_contiguous({2, 0}, {7, 7}));
  EXPECT_TRUE(is_contiguous({}, {}));
}

TEST(Broadcast, FollowsNumPysRule) {
  EXPECT_EQ(broadcast({2, 3}, {3}, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({2, 1}, {1, 3}, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({}, {4}, "add"), (Shape{4}));
  EXPECT_EQ(broadcast({0, 3}, {1, 3}, "add"), (Shape{0, 3}));
}

TEST(Broadcast, NamesTheOpAndBothShapesWhenTheyDisagree) {
  const auto error = test::thrown_by<ShapeError>([] { broadcast({2, 3}, {2, 4}, "mul"); });
  EXPECT_EQ(error.summary(), "mul cannot combine [2, 3] with [2, 4]");
  EXPECT_EQ(error.why(), "the sizes 3 and 4 of dimension -1 differ and neither is 1");
}

TEST(WrapDim, CountsFromTheEnd) {
  EXPECT_EQ(wrap_dim(1, 3, "sum"), 1);
  EXPECT_EQ(wrap_dim(-1, 3, "sum"), 2);
  EXPECT_EQ(wrap_dim(-3, 3, "sum"), 0);
  EXPECT_THROW(wrap_dim(3, 3, "sum"), ShapeError);
  EXPECT_THROW(wrap_dim(-4, 3, "sum"), ShapeError);
  EXPECT_THROW(wrap_dim(0, 0, "sum"), ShapeError);
}

}  // namespace
}  // namespace veldt
