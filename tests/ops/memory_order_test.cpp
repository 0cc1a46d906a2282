// What is computed element by element lies in memory as its operands do, without gaps.
#include <gtest/gtest.h>

#include <functional>

#include "veldt/core/rng.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

Tensor numbers(const Shape& shape) {
  static Rng rng(3);
  return rand(shape, rng, 0.5, 1.5);
}

std::vector<double> values(const Tensor& x) { return contiguous(to(x, DType::f64)).values<double>(); }

TEST(MemoryOrder, IsThatOfTheOperand) {
  const Tensor x = permute(numbers({4, 6, 5}), {2, 0, 1});
  using Op = std::function<Tensor(const Tensor&)>;
  for (const Op& op :
       {Op(exp), Op([](const Tensor& t) { return t / 3; }), Op([](const Tensor& t) { return t * t; }),
        Op([](const Tensor& t) { return less(t, 1); }),
        Op([](const Tensor& t) { return to(t, DType::bf16); }),
        Op([](const Tensor& t) { return where(less(t, 1), t, t + 1); }),
        Op([](const Tensor& t) { return lerp(t, t + 1, 0.5); }),
        Op([](const Tensor& t) { return softmax(t, 1); }), Op([](const Tensor& t) { return cumsum(t, 1); }),
        Op([](const Tensor& t) { return flip(t, {0}); })}) {
    const Tensor y = op(x);
    EXPECT_EQ(y.strides(), x.strides());
    EXPECT_EQ(values(y), values(op(contiguous(x))));
  }
}

TEST(MemoryOrder, HasNeitherGapsNorRepetitions) {
  const Tensor x = numbers({4, 6});
  EXPECT_TRUE(exp(slice(x, 1, 0, 6, 2)).is_contiguous());
  EXPECT_EQ(exp(transpose(slice(x, 0, 0, 4, 2))).strides(), (Strides{1, 6}));
  EXPECT_TRUE(exp(expand(reshape(x, {4, 1, 6}), {4, 3, 6})).is_contiguous());
  EXPECT_EQ(exp(transpose(reshape(x, {4, 1, 6}), 0, 2)).strides(), (Strides{1, 1, 6}));
  EXPECT_EQ(exp(slice(numbers({4, 3, 6}), 1, 2, 3)).strides(), (Strides{6, 6, 1}));
  EXPECT_EQ(exp(zeros({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(values(softmax(slice(x, 1, 0, 6, 2), 0)), values(softmax(contiguous(slice(x, 1, 0, 6, 2)), 0)));
}

TEST(MemoryOrder, IsThatOfTheFirstOperandOfTheWholeShape) {
  const Tensor a = numbers({3, 5}), b = transpose(numbers({5, 3})), row = numbers({5});
  EXPECT_EQ((a + b).strides(), a.strides());
  EXPECT_EQ((b + a).strides(), b.strides());
  EXPECT_EQ((row + b).strides(), b.strides());
  EXPECT_TRUE((row + numbers({3, 1})).is_contiguous());
  EXPECT_EQ(values(b + a), values(a + b));
}

TEST(MemoryOrder, LeavesGradientsWhereTheyBelong) {
  Tensor x = numbers({3, 5}).set_requires_grad(), y = contiguous(x.detach()).set_requires_grad();
  const Tensor weight = numbers({5, 3});
  sum(square(transpose(x)) * weight).backward();
  sum(square(y) * contiguous(transpose(weight))).backward();
  EXPECT_EQ(values(x.grad()), values(y.grad()));
}

}  // namespace
}  // namespace veldt
