// Formulas by name, and the tensors that their slopes become over traced numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/support/error_of.h"
#include "veldt/kernels/unary-inl.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/formula.h"
#include "veldt/ops/traced.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/profile.h"

namespace veldt::test {
namespace {

template <class... Op> std::map<std::string, int> counts_of_names(TypeList<Op...>) {
  std::map<std::string, int> counts;
  (++counts[Op::name], ...);
  return counts;
}

TEST(Formula, IsFoundByItsName) {
  EXPECT_EQ(unary_formula("tanh"), (IndexOf<scalar::Tanh, scalar::UnaryOps>::value));
  EXPECT_EQ(unary<"affine">(Tensor::of({1}, {3}), 2, 1).item(), 7);
  EXPECT_EQ(binary<"hypot">(Tensor::of({1}, {3}), Tensor::of({1}, {4})).item(), 5);
  EXPECT_THAT(error_of([] { binary<"maximum">(Tensor::of({1}, {3}), Tensor::of({1}, {4})); }),
              testing::HasSubstr("with its slopes, called maximum"));
  EXPECT_THAT(error_of([] { unary<"tanhh">(Tensor::of({1}, {3})); }), testing::HasSubstr("called tanhh"));
}

TEST(Formula, HasANameOfItsOwn) {
  for (const auto& [name, count] : counts_of_names(scalar::UnaryOps())) EXPECT_EQ(count, 1) << name;
}

TEST(Traced, FoldsConstants) {
  const Traced two(2), three(3);
  for (const Traced& x : {two + three, two - three, two * three, two / three, -two, exp(two), power(two, 3),
                          select_gt(two, three, two, three), select_nan(two, two, three), between(0, two, 1)})
    EXPECT_TRUE(x.is_constant());
  EXPECT_EQ((two / three).constant(), 2.0 / 3);
  EXPECT_EQ(select_gt(two, three, two, three).constant(), 3);
  EXPECT_EQ(select_gt(Traced(NAN), three, two, three).constant(), 3);
  EXPECT_EQ(select_nan(Traced(NAN), two, three).constant(), 2);
  EXPECT_EQ(between(0, two, 1).constant(), 1);
}

// Each function beside the one of doubles that formulas have.
TEST(Traced, HasTheFunctionsOfMath) {
  using Fn = Traced (*)(const Traced&);
  using Exact = double (*)(double);
  const std::vector<std::pair<Fn, Exact>> functions = {
      {abs, scalar::abs},
      {floor, scalar::floor},
      {ceil, scalar::ceil},
      {trunc, scalar::trunc},
      {round, scalar::round},
      {sqrt, scalar::sqrt},
      {exp, scalar::exp},
      {exp2, scalar::exp2},
      {expm1, scalar::expm1},
      {log, scalar::log},
      {log2, scalar::log2},
      {log10, scalar::log10},
      {log1p, scalar::log1p},
      {sin, scalar::sin},
      {cos, scalar::cos},
      {tan, scalar::tan},
      {asin, scalar::asin},
      {acos, scalar::acos},
      {atan, scalar::atan},
      {sinh, scalar::sinh},
      {cosh, scalar::cosh},
      {tanh, scalar::tanh},
      {asinh, scalar::asinh},
      {acosh, [](double x) { return scalar::acosh(1 + x); }},
      {atanh, scalar::atanh},
      {erf, scalar::erf},
      {erfc, scalar::erfc},
      {inverse_sqrt, [](double x) { return scalar::inverse_sqrt(x); }},
      {logistic, [](double x) { return scalar::logistic(x); }},
      {normal_share, scalar::normal_share}};
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const auto& [fn, exact] = functions[i];
    const double x = 0.7, at = fn == static_cast<Fn>(acosh) ? 1 + x : x;
    EXPECT_NEAR(fn(Traced(Tensor::of({1}, {at}, DType::f64))).tensor().item(), exact(x), 1e-14) << i;
    EXPECT_NEAR(fn(Traced(at)).beside(Tensor::of({1}, {at}, DType::f64)).item(), exact(x), 1e-14) << i;
  }
}

// The gradient of the sum of op(x), and the gradient of its sum, by ops.
struct Derivatives {
  double first, second;
};
Derivatives derivatives_at(double at, DType dtype, Tensor (*op)(const Tensor&)) {
  Tensor x = Tensor::of({1}, {at}, dtype);
  x.set_requires_grad();
  const Tensor first = grad(op(x), {x}, true)[0];
  return {first.item(), grad(first, {x})[0].item()};
}

// A choice between two branches must not let the slope of the other one through: that may be infinite.
TEST(Formula, HasFiniteDerivativesFarOut) {
  const auto celu_of_two = [](const Tensor& x) { return celu(x, 2); };
  const auto elu_of_two = [](const Tensor& x) { return elu(x, 2); };
  const auto wire_of_three = [](const Tensor& x) { return wire(x, 3, 0.5); };
  const std::vector<Tensor (*)(const Tensor&)> ops = {
      celu_of_two, elu_of_two, wire_of_three, gelu, gelu_tanh, mish, silu, selu, sigmoid, tanh, softplus};
  for (DType dtype : {DType::f32, DType::f64})
    for (std::size_t i = 0; i < ops.size(); ++i)
      for (double at : {2000.0, 1e10, 1e25, 1e38, -2000.0, -1e10, -1e25, -1e38}) {
        const auto [first, second] = derivatives_at(at, dtype, ops[i]);
        EXPECT_TRUE(std::isfinite(first)) << i << " at " << at;
        EXPECT_EQ(second, 0) << i << " at " << at;
      }
}

TEST(Formula, HasTheInfiniteDerivativesOfAcosh) {
  for (DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(derivatives_at(1, dtype, acosh).second, -INFINITY);
    EXPECT_EQ(derivatives_at(INFINITY, dtype, acosh).second, 0);
  }
}

std::int64_t calls_of(const Profile& profile, const std::string& name) {
  for (const Profile::Line& line : profile.lines())
    if (line.name == name) return line.calls;
  return 0;
}

// The slopes of exp and tanh are written with the result, which is there already.
TEST(Formula, DoesNotComputeItsResultAgainForASecondDerivative) {
  for (const auto& [name, op] :
       std::map<std::string, Tensor (*)(const Tensor&)>{{"exp", exp}, {"tanh", tanh}}) {
    Tensor x = Tensor::of({3}, {0.1, 0.2, 0.3});
    x.set_requires_grad();
    const Profile profile;
    grad(op(x), {x}, true, Tensor::of({3}, {1, 1, 1}));
    EXPECT_EQ(calls_of(profile, name), 1) << name;
  }
}

}  // namespace
}  // namespace veldt::test
