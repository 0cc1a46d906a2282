// What the graph keeps until backward: the values that backward functions read, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

constexpr std::int64_t kBytes = 1 << 16;

// How many tensors of x's size are in use that were not, after fn(x).
template <class Fn> std::int64_t kept_by(const Fn& fn) {
  const Tensor x = ones({kBytes / 4}).set_requires_grad();
  const auto in_use = [] { return static_cast<std::int64_t>(pool(Device{}).stats().bytes_in_use); };
  const std::int64_t before = in_use();
  const Tensor y = fn(x);
  const std::int64_t kept = (in_use() - before) / kBytes;
  sum(y).backward();
  EXPECT_TRUE(x.grad().defined());
  return kept;
}

TEST(KeptMemory, IsThatOfResultsWhereTheirSlopesAreOfThem) {
  EXPECT_EQ(kept_by([](const Tensor& x) { return relu(x + 1); }), 1);
  EXPECT_EQ(kept_by([](const Tensor& x) { return relu6(x + 1); }), 1);
  EXPECT_EQ(kept_by([](const Tensor& x) { return sigmoid(x + x); }), 1);
  EXPECT_EQ(kept_by([](const Tensor& x) { return tanh(x + x); }), 1);
  EXPECT_EQ(kept_by([](const Tensor& x) { return relu(relu(x) + (x - 3)); }), 2);
  EXPECT_EQ(kept_by([](const Tensor& x) { return sqrt(x + 3) + expm1(x - 1); }), 3);
  EXPECT_EQ(kept_by([](const Tensor& x) { return cat({x + 1, x + 2}); }), 2);
  EXPECT_EQ(kept_by([](const Tensor& x) { return lerp(x + 1, x + 2, 0.5); }), 1);
}

// Their gradients read what ops have made.
TEST(KeptMemory, RemaindersOfResultsHaveGradients) {
  const Tensor a = full({2}, 7.5).set_requires_grad(), b = full({2}, 2).set_requires_grad();
  const Grads by = grad(sum(remainder(a * 1.0, b * 1.0)), {a, b}),
              by_c = grad(sum(fmod(a * -1.0, b * 1.0)), {a, b});
  EXPECT_EQ(by[0].values<float>()[0], 1);
  EXPECT_EQ(by[1].values<float>()[0], -3);
  EXPECT_EQ(by_c[1].values<float>()[0], 3);
}

TEST(KeptMemory, SecondGradientsAreAsBefore) {
  const Tensor x = full({3}, 0.5, DType::f64).set_requires_grad();
  const Tensor first = grad(sum(tanh(x * 2)), {x}, true)[0];
  const double y = std::tanh(1.0);
  EXPECT_NEAR(max(abs(first - 2 * (1 - y * y))).item(), 0, 1e-14);
  EXPECT_NEAR(max(abs(grad(sum(first), {x})[0] + 8 * y * (1 - y * y))).item(), 0, 1e-13);
}

// 0.1 is rounded up to 0.10009765625 in bf16, and so is clamp's result.
TEST(KeptMemory, AHalfBelowABoundThatIsRoundedHasNoSlope) {
  const Tensor x = full({1}, 0.05, DType::bf16).set_requires_grad();
  EXPECT_EQ(grad(sum(clamp(x, 0.1, 1)), {x})[0].item(), 0);
}

TEST(KeptMemory, AResultThatIsChangedInPlaceIsNoticed) {
  const Tensor x = ones({2}).set_requires_grad();
  const Tensor y = relu(x);
  y.detach() += 1;
  EXPECT_THAT(test::error_of([&] { sum(y).backward(); }), testing::HasSubstr("the result of relu any more"));
  const Tensor z = log(x);
  z.detach() += 1;
  sum(z).backward();  // 1 / x
  EXPECT_EQ(x.grad().values<float>()[0], 1);
}

}  // namespace
}  // namespace veldt
