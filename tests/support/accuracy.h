// How far the functions of one f32 number may be from the exact value, in ulp. For a test of some numbers
// (tests/ops/accuracy_test.cpp) and a program that tries all (bench/ulp.cpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "veldt/ops/activation.h"
#include "veldt/ops/unary.h"

namespace veldt::test {

struct AccuracyRow {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*exact)(double);  // by libm in double, whose own error is a millionth of an f32's ulp
  double ulps;
};

inline double softplus_in_double(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
inline double sigmoid_in_double(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
inline double mish_in_double(double x) {
  const double e = std::exp(std::fmin(x, 40)), n = e * (e + 2);
  return std::isnan(x) ? x : x * (n / (n + 2));
}
inline double wire_in_double(double x) {  // 0 where its window is, at infinity too
  const double window = std::exp(-(2 * x) * (2 * x));
  return window == 0 ? 0 : std::cos(10 * x) * window;
}
inline double gelu_tanh_in_double(double x) {
  return x * sigmoid_in_double(std::sqrt(8 / std::numbers::pi) * x * (1 + 0.044715 * x * x));
}

// Elementary functions to 2 ulp, the others to 4.
inline std::vector<AccuracyRow> accuracy_rows() {
  using T = const Tensor&;
  return {
      {"exp", exp, [](double x) { return std::exp(x); }, 2},
      {"exp2", exp2, [](double x) { return std::exp2(x); }, 2},
      {"expm1", expm1, [](double x) { return std::expm1(x); }, 2},
      {"log", log, [](double x) { return std::log(x); }, 2},
      {"log2", log2, [](double x) { return std::log2(x); }, 2},
      {"log10", log10, [](double x) { return std::log10(x); }, 2},
      {"log1p", log1p, [](double x) { return std::log1p(x); }, 2},
      {"sin", sin, [](double x) { return std::sin(x); }, 2},
      {"cos", cos, [](double x) { return std::cos(x); }, 2},
      {"tan", tan, [](double x) { return std::tan(x); }, 2},
      {"asin", asin, [](double x) { return std::asin(x); }, 2},
      {"acos", acos, [](double x) { return std::acos(x); }, 2},
      {"atan", atan, [](double x) { return std::atan(x); }, 2},
      {"sinh", sinh, [](double x) { return std::sinh(x); }, 2},
      {"cosh", cosh, [](double x) { return std::cosh(x); }, 2},
      {"tanh", tanh, [](double x) { return std::tanh(x); }, 2},
      {"asinh", asinh, [](double x) { return std::asinh(x); }, 2},
      {"acosh", acosh, [](double x) { return std::acosh(x); }, 2},
      {"atanh", atanh, [](double x) { return std::atanh(x); }, 2},
      {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.51},
      {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 2},
      {"reciprocal", reciprocal, [](double x) { return 1 / x; }, 0.51},
      {"erf", erf, [](double x) { return std::erf(x); }, 4},
      {"erfc", erfc, [](double x) { return std::erfc(x); }, 4},
      {"sigmoid", sigmoid, sigmoid_in_double, 4},
      {"softplus", softplus, softplus_in_double, 4},
      {"logsigmoid", logsigmoid, [](double x) { return -softplus_in_double(-x); }, 4},
      {"silu", silu, [](double x) { return x * sigmoid_in_double(x); }, 4},
      {"mish", mish, mish_in_double, 4},
      {"gelu", gelu, [](double x) { return x * 0.5 * std::erfc(-x * (std::numbers::sqrt2 / 2)); }, 4},
      {"gelu_tanh", gelu_tanh, gelu_tanh_in_double, 4},
      {"elu", [](T x) { return elu(x); }, [](double x) { return x > 0 ? x : std::expm1(x); }, 4},
      {"elu_of_07", [](T x) { return elu(x, 0.7); }, [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); },
       4},
      {"celu", [](T x) { return celu(x, 1.5); },
       [](double x) { return x > 0 ? x : 1.5 * std::expm1(x / 1.5); }, 4},
      {"selu", selu,
       [](double x) {
         return 1.0507009873554804934193349852946 *
                (x > 0 ? x : 1.6732632423543772848170429916717 * std::expm1(x));
       },
       4},
      {"hardswish", hardswish, [](double x) { return x <= -3 ? x * 0 : x * (std::fmin(x + 3, 6) / 6); }, 4},
      {"softsign", softsign, [](double x) { return x / (1 + std::fabs(x)); }, 4},
      {"sine", [](T x) { return sine(x, 30); }, [](double x) { return std::sin(30 * x); }, 2},
      {"finer", [](T x) { return finer(x, 10); },
       [](double x) { return std::sin(10 * (std::fabs(x) + 1) * x); }, 2},
      {"wire", [](T x) { return wire(x, 10, 2); }, wire_in_double, 2},
      {"gauss", [](T x) { return gauss(x, 2); }, [](double x) { return std::exp(-(2 * x) * (2 * x)); }, 2},
  };
}

// In units of the last place of the exact value; infinite where one is NaN and the other is not. A value that
// rounds to infinity is as well served by it.
inline double ulps_between(float got, double exact) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : kInf;
  const double size = std::fabs(exact), value = static_cast<double>(got);
  if (std::isinf(got) && size >= 0x1.ffffffp127) return (got > 0) == (exact > 0) ? 0 : kInf;
  if (std::isinf(got) || std::isinf(exact)) return kInf;
  const int exponent = std::max(std::ilogb(std::max(size, 0x1p-149)), -126);
  return std::fabs(value - exact) / std::ldexp(1.0, exponent - 23);
}

}  // namespace veldt::test
