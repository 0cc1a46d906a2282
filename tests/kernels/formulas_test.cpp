// The formulas as plain functions of a double, against libm, and each slope against differences of its
// forward.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class Op> void expect_slope(const Op& op, std::initializer_list<double> points) {
  for (double x : points) {
    const double h = 1e-4;
    const auto f = [&](double at) { return op.forward(at); };
    const double difference = (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
    EXPECT_NEAR(op.slope(x, f(x)), difference, 1e-7 * std::max(1.0, std::fabs(difference)))
        << Op::name << " at " << x;
  }
}

TEST(Formulas, HaveTheSlopesOfTheirForward) {
  using namespace scalar;
  expect_slope(Affine{2.5, -1}, {-1, 0, 3});
  expect_slope(Abs{}, {-1, 3});
  expect_slope(Sign{}, {-1, 3});
  expect_slope(Exp{}, {-5, 0, 3});
  expect_slope(Log{}, {0.1, 1, 30});
  expect_slope(Sqrt{}, {0.1, 1, 30});
  expect_slope(Square{}, {-2, 0, 3});
  expect_slope(PowScalar{3}, {-2, 0, 3});
  expect_slope(PowScalar{-0.5}, {0.2, 3});
  expect_slope(PowScalar{0}, {-2, 0.5, 3});
  expect_slope(Clamp{-1, 2}, {-3, 0, 1.5, 4});
  expect_slope(Sin{}, {-4, 0, 2});
  expect_slope(Cos{}, {-4, 0, 2});
  expect_slope(Tanh{}, {-4, 0, 2});
  expect_slope(Sigmoid{}, {-30, -4, 0, 2, 30});
  expect_slope(Softplus{}, {-30, -4, 0, 2, 30});
  expect_slope(Relu{}, {-1, 3});
  expect_slope(Sine{30}, {-0.3, 0, 0.7});
  expect_slope(Gauss{3}, {-0.3, 0, 0.7});
  expect_slope(Wire{5, 2}, {-0.3, 0, 0.7});
  expect_slope(Finer{2}, {-0.3, 0.7});  // its slope has a kink at 0
  expect_slope(Quotient{3}, {-1, 2});
  expect_slope(Inverse{3}, {-1, 2});
  expect_slope(Rsqrt{}, {0.3, 2});
  expect_slope(Expm1{}, {-5, 0, 3});
  expect_slope(Log1p{}, {-0.5, 0, 3});
  for (double x : {-1.3, 0.2, 4.7}) {
    expect_slope(Floor{}, {x});
    expect_slope(Ceil{}, {x});
    expect_slope(Trunc{}, {x});
    expect_slope(Round{}, {x});
  }
}

TEST(Formulas, OfRareFunctionsHaveTheSlopesOfTheirForward) {
  using namespace scalar;
  expect_slope(Tan{}, {-1, 0, 0.7});
  expect_slope(Asin{}, {-0.8, 0, 0.7});
  expect_slope(Acos{}, {-0.8, 0, 0.7});
  expect_slope(Atan{}, {-3, 0, 0.7});
  expect_slope(Sinh{}, {-2, 0, 0.7});
  expect_slope(Cosh{}, {-2, 0, 0.7});
  expect_slope(Asinh{}, {-2, 0, 0.7});
  expect_slope(Acosh{}, {1.2, 3});
  expect_slope(Atanh{}, {-0.8, 0, 0.7});
  expect_slope(Erf{}, {-2, 0, 0.7});
  expect_slope(Erfc{}, {-2, 0, 0.7});
  expect_slope(Exp2{}, {-2, 0, 3});
  expect_slope(Log2{}, {0.2, 3});
  expect_slope(Log10{}, {0.2, 3});
}

TEST(Formulas, OfActivationsHaveTheSlopesOfTheirForward) {
  using namespace scalar;
  expect_slope(LeakyRelu{0.1}, {-1, 3});
  expect_slope(Elu{0.5}, {-4, -1, 3});
  expect_slope(Selu{}, {-4, -1, 3});
  expect_slope(Celu{2}, {-4, -1, 3});
  expect_slope(Gelu{}, {-30, -4, 0, 2, 30});
  expect_slope(GeluTanh{}, {-30, -4, 0, 2, 30});
  expect_slope(Silu{}, {-30, -4, 0, 2, 30});
  expect_slope(Mish{}, {-30, -4, 0, 2, 30});
  expect_slope(Softsign{}, {-4, 2});
  expect_slope(Hardsigmoid{}, {-4, 0, 4});
  expect_slope(Hardswish{}, {-4, 0, 4});
  expect_slope(LogSigmoid{}, {-30, -4, 0, 2, 30});
}

TEST(Formulas, EqualLibm) {
  using namespace scalar;
  for (double x : {-3.0, -0.5, 0.0, 0.25, 2.0, 40.0}) {
    EXPECT_EQ(Exp{}.forward(x), std::exp(x));
    EXPECT_EQ(Sin{}.forward(x), std::sin(x));
    EXPECT_EQ(Cos{}.forward(x), std::cos(x));
    EXPECT_EQ(Tanh{}.forward(x), std::tanh(x));
    EXPECT_EQ(Sine{7}.forward(x), std::sin(7 * x));
    EXPECT_NEAR(Sigmoid{}.forward(x), 1 / (1 + std::exp(-x)), 1e-15);
    EXPECT_NEAR(Softplus{}.forward(x), std::log(1 + std::exp(x)), 1e-14);
    EXPECT_NEAR(Gauss{2}.forward(x), std::exp(-4 * x * x), 1e-15);
    EXPECT_NEAR((Wire{3, 2}.forward(x)), std::cos(3 * x) * std::exp(-4 * x * x), 1e-15);
    EXPECT_NEAR(Finer{2}.forward(x), std::sin(2 * (std::fabs(x) + 1) * x), 1e-15);
  }
}

TEST(Formulas, KeepNaN) {
  using namespace scalar;
  EXPECT_TRUE(std::isnan(Relu{}.forward(kNaN)));
  EXPECT_TRUE(std::isnan((Clamp{-1, 1}.forward(kNaN))));
  EXPECT_TRUE(std::isnan(Sign{}.forward(kNaN)));
  EXPECT_TRUE(std::isnan(Softplus{}.forward(kNaN)));
  EXPECT_TRUE(std::isnan(Sigmoid{}.forward(kNaN)));
  EXPECT_TRUE(std::isnan(Maximum::forward(1.0, kNaN)));
  EXPECT_TRUE(std::isnan(Maximum::forward(kNaN, 1.0)));
  EXPECT_TRUE(std::isnan(Minimum::forward(1.0, kNaN)));
  EXPECT_TRUE(std::isnan(Minimum::forward(kNaN, 1.0)));
}

TEST(Formulas, OfTwoNumbers) {
  using namespace scalar;
  EXPECT_EQ(Add::forward(2.0, 3.0), 5);
  EXPECT_EQ(Sub::forward(2.0, 3.0), -1);
  EXPECT_EQ(Mul::forward(2.0, 3.0), 6);
  EXPECT_EQ(Div::forward(3.0, 2.0), 1.5);
  EXPECT_EQ(Pow::forward(2.0, 3.0), 8);
  EXPECT_EQ(Maximum::forward(2.0f, 3.0f), 3);
  EXPECT_EQ(Minimum::forward(2.0f, 3.0f), 2);
}

TEST(Comparisons, HoldAsIeee754Says) {
  EXPECT_TRUE(Equal::holds(0.0, -0.0));
  EXPECT_FALSE(Equal::holds(kNaN, kNaN));
  EXPECT_TRUE(NotEqual::holds(kNaN, kNaN));
  EXPECT_FALSE(Less::holds(kNaN, 1.0));
  EXPECT_FALSE(GreaterEqual::holds(kNaN, 1.0));
  EXPECT_TRUE(LessEqual::holds(2, 2));
  EXPECT_FALSE(Greater::holds(2, 2));
}

struct A {};
struct B {};
struct C {};

TEST(TypeList, GivesEachTypeItsPosition) {
  using List = TypeList<A, B, C>;
  static_assert(List::size == 3);
  static_assert(IndexOf<A, List>::value == 0);
  static_assert(IndexOf<C, List>::value == 2);
  EXPECT_EQ(TypeList<>::size, 0);
}

}  // namespace
}  // namespace veldt
