// Operators: comparisons with numbers, logic of booleans, and changes in place.
#include "veldt/ops/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Operators, CompareWithNumbersOnBothSides) {
  const Tensor x = Tensor::of({3}, {1, 2, 3});
  EXPECT_THAT((x > 2).values<bool>(), ElementsAre(false, false, true));
  EXPECT_THAT((x >= 2).values<bool>(), ElementsAre(false, true, true));
  EXPECT_THAT((x < 2).values<bool>(), ElementsAre(true, false, false));
  EXPECT_THAT((x <= 2).values<bool>(), ElementsAre(true, true, false));
  EXPECT_THAT((x == 2).values<bool>(), ElementsAre(false, true, false));
  EXPECT_THAT((x != 2).values<bool>(), ElementsAre(true, false, true));
  EXPECT_THAT((2 > x).values<bool>(), ElementsAre(true, false, false));
  EXPECT_THAT((2 >= x).values<bool>(), ElementsAre(true, true, false));
  EXPECT_THAT((2 < x).values<bool>(), ElementsAre(false, false, true));
  EXPECT_THAT((2 <= x).values<bool>(), ElementsAre(false, true, true));
  EXPECT_THAT((2 == x).values<bool>(), ElementsAre(false, true, false));
  EXPECT_THAT((2 != x).values<bool>(), ElementsAre(true, false, true));
}

TEST(Operators, JoinConditions) {
  const Tensor x = Tensor::of({4}, {-2, -1, 1, 2});
  EXPECT_THAT(((x > -2) & (x < 2)).values<bool>(), ElementsAre(false, true, true, false));
  EXPECT_THAT(((x == -2) | (x == 2)).values<bool>(), ElementsAre(true, false, false, true));
  EXPECT_THAT(((x < 0) ^ (x < 2)).values<bool>(), ElementsAre(false, false, true, false));
  EXPECT_THAT((!(x > 0)).values<bool>(), ElementsAre(true, true, false, false));
  EXPECT_THAT(error_of<ShapeError>([&] { x& x; }), HasSubstr("f32 [4]"));
  EXPECT_THAT(error_of<ShapeError>([&] { (x > 0) | ones({4}, DType::i64); }), HasSubstr("i64 [4]"));
}

TEST(Operators, TakeTheRemainderAsPython) {
  EXPECT_THAT((Tensor::of({3}, {-7, 7, 5.5}) % 3).values<float>(), ElementsAre(2, 1, 2.5));
}

TEST(InPlace, ChangesTheMemoryOfAllThatShareIt) {
  Tensor x = Tensor::of({2, 2}, {1, 2, 3, 4});
  const Tensor same = x, row = x[1];
  const float* const memory = x.data<float>();
  x += 1;
  x *= Tensor::of({2}, {10, 100});
  x -= ones({2, 2});
  x /= 2;
  EXPECT_EQ(x.data<float>(), memory);
  EXPECT_THAT(same.values<float>(), ElementsAre(9.5, 149.5, 19.5, 249.5));
  EXPECT_THAT(row.values<float>(), ElementsAre(19.5, 249.5));
  (x += 1) += 2;
  EXPECT_THAT(row.values<float>(), ElementsAre(22.5, 252.5));
}

TEST(InPlace, ChangesAPart) {
  Tensor x = zeros({2, 2});
  x[0] += 1;
  x(1, 1) -= 3;
  x(Slice{}, 0) += Tensor::of({2}, {10, 20});
  x[1] *= 2;
  x[1] /= Tensor::of({2}, {4, 1});
  EXPECT_THAT(x.values<float>(), ElementsAre(11, 1, 10, -6));
}

TEST(InPlace, KeepsShapeAndDType) {
  Tensor whole = arange(3), half = ones({3}, DType::f16), row = ones({3});
  whole += 2;
  EXPECT_EQ(whole.dtype(), DType::i64);
  half += ones({3});
  EXPECT_EQ(half.dtype(), DType::f16);
  EXPECT_THAT(error_of<ShapeError>([&] { whole += 0.5; }), HasSubstr("f32 into a tensor of i64 [3]"));
  EXPECT_THAT(error_of<ShapeError>([&] { whole /= 2; }), HasSubstr("f32 into a tensor of i64"));
  EXPECT_THAT(error_of<ShapeError>([&] { row += ones({2, 3}); }), HasSubstr("[2, 3] into [3]"));
}

TEST(InPlace, IsNoticedByABackwardThatReadsTheOldValues) {
  const Tensor x = ones({2}).set_requires_grad();
  Tensor data = ones({2});
  const Tensor loss = sum(x * data);
  data += 1;
  EXPECT_THAT(error_of([&] { loss.backward(); }), HasSubstr("changed in place"));
}

TEST(InPlace, RefusesALeafThatRequiresAGradient) {
  Tensor x = ones({2}).set_requires_grad();
  EXPECT_THAT(error_of([&] { x += 1; }), HasSubstr("leaf of [2]"));
  EXPECT_THAT(error_of([&] { x[0] += 1; }), HasSubstr("a = a + b"));
  {
    const NoGrad off;
    x += 1;
    x[0] *= 5;
  }
  EXPECT_THAT(x.values<float>(), ElementsAre(10, 2));
  EXPECT_TRUE(x.is_leaf() && x.requires_grad());
}

TEST(InPlace, AddsUpALoss) {
  const Tensor x = Tensor::of({2}, {1, 2}).set_requires_grad();
  Tensor total = zeros({});
  for (int i = 1; i <= 3; ++i) total += sum(x * x) * i;
  total /= 2;
  total.backward();
  EXPECT_EQ(total.item(), 15);
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(6, 12));
}

TEST(InPlace, TakesWhatAnOpMade) {
  const Tensor x = Tensor::of({2}, {1, 2}).set_requires_grad();
  for (const auto& op : std::vector<std::function<Tensor()>>{
           [&] { return x * 2; }, [&] { return relu(x); }, [&] { return exp(x); }, [&] { return sum(x); },
           [&] { return mean(square(x - 3)); }, [&] { return x * x; }}) {
    Tensor y = op();
    const std::vector<float> before = y.values<float>();
    y += 1;
    EXPECT_EQ(y.values<float>()[0], before[0] + 1);
    Tensor plain = op();
    EXPECT_EQ(grad(sum(y), {x})[0].values<float>(), grad(sum(plain), {x})[0].values<float>());
  }
}

TEST(InPlace, RefusesToRecordIntoSharedMemory) {
  const Tensor x = ones({2}).set_requires_grad();
  Tensor total = zeros({2});
  const Tensor same = total;
  EXPECT_THAT(error_of([&] { total += x; }), HasSubstr("shares its memory"));
  Tensor list = zeros({2});
  EXPECT_THAT(error_of([&] { list[0] += x[0]; }), HasSubstr("shares its memory"));
  Tensor y = x * 2;
  y += 1;
  const Tensor part = y[0];
  EXPECT_THAT(error_of([&] { y += 1; }), HasSubstr("shares its memory"));
  EXPECT_THAT(y.values<float>(), ElementsAre(3, 3));
}

}  // namespace
}  // namespace veldt
