// Products with Jacobians and Hessians against differences, and gradients that gradcheck has to refuse.
#include "veldt/ops/derivatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt {
namespace {

using testing::HasSubstr;

Tensor d(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::of(shape, values, DType::f64);
}

// f(x, y) = (x0 y, x0 x1): J by x is [[y, 0], [x1, x0]], by y [x0, 0].
Tensor curved(const TensorList& in) {
  const Tensor x0 = slice(in[0], 0, 0, 1), x1 = slice(in[0], 0, 1, 2);
  return cat({x0 * in[1], x0 * x1});
}

TEST(Vjp, IsTheRowCombinationOfTheJacobian) {
  const Grads g = vjp(curved, {d({2}, {2, 3}), d({1}, {5})}, d({2}, {1, 10}));
  EXPECT_EQ(g[0].values<double>(), (std::vector<double>{1 * 5 + 10 * 3, 10 * 2}));
  EXPECT_EQ(g[1].values<double>(), (std::vector<double>{2}));
}

TEST(Jvp, IsTheColumnCombinationOfTheJacobian) {
  const Tensor along = jvp(curved, {d({2}, {2, 3}), d({1}, {5})}, {d({2}, {1, 10}), d({1}, {100})});
  EXPECT_EQ(along.values<double>(), (std::vector<double>{5 * 1 + 2 * 100, 3 * 1 + 2 * 10}));
}

TEST(Jvp, AgreesWithDifferencesThroughANetwork) {
  Rng rng(2);
  const Tensor w = randn({4, 3}, rng, 0, 1, DType::f64), x = randn({5, 3}, rng, 0, 1, DType::f64),
               u = randn({5, 3}, rng, 0, 1, DType::f64);
  const auto net = [&](const TensorList& in) { return tanh(linear(in[0], w)); };
  const std::vector<double> got = jvp(net, {x}, {u}).values<double>();
  const std::vector<double> ahead = net({x + u * 1e-6}).values<double>(),
                            behind = net({x - u * 1e-6}).values<double>();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], (ahead[i] - behind[i]) / 2e-6, 1e-8);
}

TEST(Jvp, IsZeroWhereTheFunctionDoesNotLook) {
  const Tensor along = jvp([](const TensorList& in) { return in[0] * 2; }, {d({1}, {1}), d({2}, {1, 2})},
                           {d({1}, {0}), d({2}, {7, 7})});
  EXPECT_EQ(along.values<double>(), std::vector<double>{0});
}

TEST(Hvp, IsTheHessianTimesTheDirection) {
  // f = x0^2 x1: H = [[2 x1, 2 x0], [2 x0, 0]]
  const auto f = [](const TensorList& in) {
    return sum(square(slice(in[0], 0, 0, 1)) * slice(in[0], 0, 1, 2));
  };
  const Grads h = hvp(f, {d({2}, {3, 5})}, {d({2}, {1, 2})});
  EXPECT_EQ(h[0].values<double>(), (std::vector<double>{10 * 1 + 6 * 2, 6 * 1}));
}

TEST(Hvp, OfALinearFunctionIsZero) {
  const Grads h =
      hvp([](const TensorList& in) { return sum(in[0] * 3); }, {d({2}, {3, 5})}, {d({2}, {1, 2})});
  EXPECT_EQ(h[0].values<double>(), (std::vector<double>{0, 0}));
}

TEST(Directions, ThatDoNotFitAreNamed) {
  EXPECT_THAT(test::error_of<ShapeError>([] {
                jvp(curved, {d({2}, {2, 3}), d({1}, {5})}, {d({2}, {1, 1})});
              }),
              HasSubstr("jvp was given directions that do not fit its 2 inputs"));
}

// x^3 with a gradient of 3 x^2 times `factor`.
Tensor cube(const Tensor& x, double factor) {
  const Tensor values = (x * x * x).detach();
  return record("cube", values, {x},
                [x, factor](const Tensor& g) -> Grads { return {g * (3 * factor) * x * x}; });
}

TEST(Gradcheck, PassesARightGradientAndNamesAWrongOne) {
  const Tensor x = d({3}, {1, -2, 0.5}).set_requires_grad();
  EXPECT_TRUE(gradcheck([](const TensorList& in) { return cube(in[0], 1); }, {x}));
  const GradcheckReport report = gradcheck([](const TensorList& in) { return cube(in[0], 1.01); }, {x});
  EXPECT_FALSE(report);
  EXPECT_THAT(report.difference, HasSubstr("input 0 at element "));
  EXPECT_NEAR(report.worst, 0.01, 0.005);
  EXPECT_EQ(x.values<double>(), (std::vector<double>{1, -2, 0.5})) << "the caller's values stay";
}

TEST(Gradcheck, FailsOnANaN) {
  const Tensor x = d({2}, {1, -1}).set_requires_grad();
  const GradcheckReport report = gradcheck([](const TensorList& in) { return sqrt(in[0]); }, {x});
  EXPECT_FALSE(report.passed);
}

TEST(Gradgradcheck, SeesASecondDerivativeThatTheFirstHides) {
  const Tensor x = d({3}, {1, -2, 0.5}).set_requires_grad();
  EXPECT_TRUE(gradgradcheck([](const TensorList& in) { return cube(in[0], 1); }, {x}));
  // The right values of 3 x^2, in the graph by a factor that is 1 but has a slope.
  const auto wrong = [](const TensorList& in) {
    const Tensor t = in[0];
    return record("cube", (t * t * t).detach(), {t}, [t](const Tensor& g) -> Grads {
      return {g * 3 * t.detach() * t.detach() * (t / t.detach())};
    });
  };
  EXPECT_TRUE(gradcheck(wrong, {x}));
  EXPECT_FALSE(gradgradcheck(wrong, {x}));
}

TEST(Jvp, OfAFunctionThatIgnoresItsInputsIsZeros) {
  const auto constant = [](const TensorList&) { return d({2}, {4, 5}); };
  EXPECT_THAT(jvp(constant, {d({1}, {1})}, {d({1}, {1})}).values<double>(), testing::ElementsAre(0, 0));
  EXPECT_THAT(vjp(constant, {d({1}, {1})}, d({2}, {1, 1}))[0].values<double>(), testing::ElementsAre(0));
}

TEST(Gradcheck, WantsF64AndSomethingToCheck) {
  const auto same = [](const TensorList& in) { return in[0] * 2; };
  EXPECT_THROW(gradcheck(same, {Tensor::of({1}, {1}).set_requires_grad()}), ConfigError);
  EXPECT_THROW(gradcheck(same, {d({1}, {1})}), ConfigError);
}

}  // namespace
}  // namespace veldt
