// Parts of a tensor by brackets and calls, and what is written into them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Subscript, TakesAPositionOfTheFirstDimension) {
  const Tensor x = Tensor::of({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(x[1].shape(), Shape{3});
  EXPECT_THAT(x[1].values<float>(), ElementsAre(4, 5, 6));
  EXPECT_THAT(x[-2].values<float>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(x[0][2].item(), 3);
  EXPECT_EQ(x(0, 2).item(), 3);
  EXPECT_EQ(x(-1, -1).item(), 6);
  EXPECT_THAT(x.at({}).values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Subscript, TakesSlicesAsPython) {
  const Tensor x = reshape(arange(24), {4, 6});
  EXPECT_THAT(x(Slice{1, 3}, -1).values<std::int64_t>(), ElementsAre(11, 17));
  EXPECT_THAT(x(0, Slice{.step = 2}).values<std::int64_t>(), ElementsAre(0, 2, 4));
  EXPECT_THAT(x(0, Slice{-2}).values<std::int64_t>(), ElementsAre(4, 5));
  EXPECT_THAT(x(0, Slice{{}, -4}).values<std::int64_t>(), ElementsAre(0, 1));
  EXPECT_THAT(x(0, Slice{4, 100}).values<std::int64_t>(), ElementsAre(4, 5));
  EXPECT_EQ(x(Slice{}, Slice{3, 2}).shape(), (Shape{4, 0}));
  EXPECT_EQ(x[Slice{2}].shape(), (Shape{2, 6}));
}

TEST(Subscript, GivesViews) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(x(1, 2).data<float>(), x.data<float>() + 5);
  EXPECT_EQ(x(Slice{}, Slice{1, 3, 2})[1].data<float>(), x.data<float>() + 4);
}

TEST(Subscript, SaysWhichPositionIsNotThere) {
  const Tensor x = zeros({2, 3});
  const std::string text = error_of<ShapeError>([&] { x[2]; });
  EXPECT_THAT(text, HasSubstr("no position 2 in dimension 0 of [2, 3]"));
  EXPECT_THAT(text, HasSubstr("its size is 2"));
  EXPECT_THAT(text, HasSubstr("-2 to 1"));
  EXPECT_THAT(error_of<ShapeError>([&] { x[-3]; }), HasSubstr("no position -3"));
  EXPECT_THAT(error_of<ShapeError>([&] { x(0, 1, 2); }), HasSubstr("3 positions of [2, 3]"));
  EXPECT_THAT(error_of<ShapeError>([&] { x[0][0][0]; }), HasSubstr("1 positions of []"));
  EXPECT_THAT(error_of<ShapeError>([&] { zeros({0})[0]; }), HasSubstr("empty"));
  EXPECT_THAT(error_of<ShapeError>([&] { x(Slice{.step = -1}); }), HasSubstr("flip()"));
  EXPECT_THAT(error_of<ShapeError>([&] { x(Slice{.step = 0}); }), HasSubstr("steps of 0"));
}

TEST(Subscript, WritesIntoTheTensor) {
  Tensor x = zeros({2, 3});
  x[0] = Tensor::of({3}, {1, 2, 3});
  x(1, 2) = 5;
  x(1, Slice{0, 2}) = Tensor::of({1}, {7}, DType::i64);
  EXPECT_THAT(x.values<float>(), ElementsAre(1, 2, 3, 7, 7, 5));
  x[1] = x[0];
  EXPECT_THAT(x[1].values<float>(), ElementsAre(1, 2, 3));
  x[0].assign(zeros({3}));
  EXPECT_THAT(x[0].values<float>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(error_of<ShapeError>([&] { x[0] = zeros({2}); }), HasSubstr("[2]"));
}

TEST(Subscript, WritesWholeNumbersExactly) {
  Tensor x = zeros({2}, DType::i64), is = zeros({2}, DType::boolean), small = zeros({2}, DType::u8);
  x[1] = (std::int64_t{1} << 60) + 1;
  is[0] = true;
  EXPECT_THAT(x.values<std::int64_t>(), ElementsAre(0, (std::int64_t{1} << 60) + 1));
  EXPECT_THAT(is.values<bool>(), ElementsAre(true, false));
  EXPECT_THAT(error_of<ShapeError>([&] { small[0] = 256; }), HasSubstr("256"));
}

TEST(Subscript, LeavesAVariableAHandle) {
  Tensor x = zeros({2}), y = x, part = x[0];
  y = ones({2});
  part = ones({});  // another tensor, as Python's part = ..
  EXPECT_THAT(x.values<float>(), ElementsAre(0, 0));
}

TEST(Subscript, HasAGradient) {
  const Tensor x = Tensor::of({2, 2}, {1, 2, 3, 4}).set_requires_grad();
  sum(x[0] * x[1] + x(0, 1) * 10).backward();
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(3, 24, 1, 2));
}

TEST(Subscript, WritesNothingThatAGradientNeeds) {
  Tensor x = ones({2}).set_requires_grad();
  EXPECT_THAT(error_of([&] { x[0] = 2; }), HasSubstr("a gradient flows through it"));
  {
    const NoGrad off;
    x[0] = 2;
  }
  EXPECT_THAT(x.values<float>(), ElementsAre(2, 1));
  Tensor data = ones({2});
  const Tensor learned = ones({}).set_requires_grad();
  EXPECT_THAT(error_of([&] { data[0] = learned; }), HasSubstr("source.detach()"));
  data[0] = learned.detach();
  const Tensor loss = sum(x * data);
  data[1] = 3;
  EXPECT_THAT(error_of([&] { loss.backward(); }), HasSubstr("changed in place"));
}

}  // namespace
}  // namespace veldt
