// Rows of veldt/ops/unary.h. The oracles are libm's functions in double.
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/unary.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using X = std::span<const double>;

const OpInput kAnywhere{};
const OpInput kNotZero{.avoid = {0}};
const OpInput kPositive{.low = 0.2, .high = 3};

Formula formula(std::string label, Function run, Scalar value, Scalar magnitude = {}) {
  return {std::move(label), std::move(run), std::move(value), std::move(magnitude)};
}

OpRow unary(const char* name, OpInput domain, Tensor (*op)(const Tensor&), double (*oracle)(double),
            int order, double ulps) {
  return elementwise(name, {std::move(domain)},
                     {formula(
                         "", [op](In in) { return op(in[0]); }, [oracle](X x) { return oracle(x[0]); })},
                     order, ulps);
}

// a x + b is as exact as its terms are.
Formula affine_formula(double scale, double shift) {
  return formula(
      str("scale ", scale, " shift ", shift), [=](In in) { return affine(in[0], scale, shift); },
      [=](X x) { return scale * x[0] + shift; },
      [=](X x) { return std::fabs(scale * x[0]) + std::fabs(shift); });
}

Formula pow_formula(double p) {
  return formula(
      str("p ", p), [p](In in) { return pow(in[0], p); }, [p](X x) { return std::pow(x[0], p); });
}

Formula clamp_formula(double low, double high) {
  return formula(
      str(low, " to ", high), [=](In in) { return clamp(in[0], low, high); },
      [=](X x) { return x[0] < low    ? low
                        : x[0] > high ? high
                                      : x[0]; });
}

// Where it is computed in floats, as on CUDA, the argument omega x is rounded before the sine is taken of it.
Formula sine_formula(double omega) {
  return formula(
      str("omega ", omega), [omega](In in) { return sine(in[0], omega); },
      [omega](X x) { return std::sin(omega * x[0]); }, [omega](X x) { return std::fabs(omega * x[0]); });
}

Formula gauss_formula(double scale) {
  const auto z2 = [scale](double x) { return scale * x * scale * x; };
  return formula(
      str("scale ", scale), [scale](In in) { return gauss(in[0], scale); },
      [z2](X x) { return std::exp(-z2(x[0])); },
      [z2](X x) {
        const double e = std::exp(-z2(x[0]));
        return e == 0 ? 0 : (1 + z2(x[0])) * e;
      });
}

Formula finer_formula(double omega) {
  const auto argument = [omega](double x) { return omega * (std::fabs(x) + 1) * x; };
  return formula(
      str("omega ", omega), [omega](In in) { return finer(in[0], omega); },
      [argument](X x) { return std::sin(argument(x[0])); },
      [argument](X x) { return std::fabs(argument(x[0])); });
}

Formula wire_formula(double omega, double scale) {
  const auto window = [scale](double x) { return std::exp(-scale * x * scale * x); };
  return formula(
      str("omega ", omega, ", scale ", scale), [=](In in) { return wire(in[0], omega, scale); },
      [=](X x) { return window(x[0]) == 0 ? 0 : std::cos(omega * x[0]) * window(x[0]); },
      [=](X x) {
        const double z = scale * x[0], e = window(x[0]);
        return e == 0 ? 0 : (1 + std::fabs(omega * x[0]) + z * z) * e;
      });
}

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double sigmoid_of(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double relu_of(double x) { return x < 0 ? 0 : x; }

// Functions that have their own kernel or libm's.
std::vector<OpRow> function_rows() {
  const OpInput kUnit{.low = -0.9, .high = 0.9}, kAboveOne{.low = 1.2, .high = 3};
  std::vector<OpRow> rows;
  const auto add = [&](const char* name, OpInput domain, Tensor (*op)(const Tensor&),
                       double (*oracle)(double),
                       double ulps) { rows.push_back(unary(name, std::move(domain), op, oracle, 3, ulps)); };
  add(
      "reciprocal", {.low = 0.3, .high = 3}, reciprocal, [](double x) { return 1 / x; }, 1);
  add(
      "rsqrt", kPositive, rsqrt, [](double x) { return 1 / std::sqrt(x); }, 2);
  add(
      "exp2", kAnywhere, exp2, [](double x) { return std::exp2(x); }, 1);
  add(
      "expm1", kAnywhere, expm1, [](double x) { return std::expm1(x); }, 4);
  add(
      "log2", kPositive, log2, [](double x) { return std::log2(x); }, 2);
  add(
      "log10", kPositive, log10, [](double x) { return std::log10(x); }, 2);
  add(
      "log1p", kPositive, log1p, [](double x) { return std::log1p(x); }, 6);
  add(
      "tan", {.low = -1, .high = 1}, tan, [](double x) { return std::tan(x); }, 2);
  add(
      "asin", kUnit, asin, [](double x) { return std::asin(x); }, 2);
  add(
      "acos", kUnit, acos, [](double x) { return std::acos(x); }, 2);
  add(
      "atan", kAnywhere, atan, [](double x) { return std::atan(x); }, 2);
  add(
      "sinh", kAnywhere, sinh, [](double x) { return std::sinh(x); }, 3);
  add(
      "cosh", kAnywhere, cosh, [](double x) { return std::cosh(x); }, 3);
  add(
      "asinh", kAnywhere, asinh, [](double x) { return std::asinh(x); }, 3);
  add(
      "acosh", kAboveOne, acosh, [](double x) { return std::acosh(x); }, 3);
  add(
      "atanh", kUnit, atanh, [](double x) { return std::atanh(x); }, 3);
  add(
      "erf", kAnywhere, erf, [](double x) { return std::erf(x); }, 2);
  add(
      "erfc", kAnywhere, erfc, [](double x) { return std::erfc(x); }, 6);
  return rows;
}

// Steps: exact, and flat between them.
std::vector<OpRow> step_rows() {
  const OpInput kBetween{.avoid = {-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2}};
  std::vector<OpRow> rows;
  const auto add = [&](const char* name, Tensor (*op)(const Tensor&), double (*oracle)(double)) {
    rows.push_back(unary(name, kBetween, op, oracle, 2, 0));
  };
  add("floor", floor, [](double x) { return std::floor(x); });
  add("ceil", ceil, [](double x) { return std::ceil(x); });
  add("trunc", trunc, [](double x) { return std::trunc(x); });
  add("round", round, [](double x) { return std::nearbyint(x); });
  add("frac", frac, [](double x) { return x - std::trunc(x); });
  return rows;
}

}  // namespace

std::vector<OpRow> unary_rows() {
  std::vector<OpRow> rows;
  rows.push_back(unary(
      "neg", kAnywhere, neg, [](double x) { return -x; }, 2, 0));
  rows.push_back(
      elementwise("operator-", {kAnywhere, kAnywhere},
                  {formula(
                       "of two", [](In in) { return in[0] - in[1]; }, [](X x) { return x[0] - x[1]; }),
                   formula(
                       "of one", [](In in) { return -in[0] - in[1]; }, [](X x) { return -x[0] - x[1]; }),
                   formula(
                       "with a number", [](In in) { return (in[0] - 0.75) - (0.5 - in[1]); },
                       [](X x) { return (x[0] - 0.75) - (0.5 - x[1]); },
                       [](X x) { return std::fabs(x[0]) + std::fabs(x[1]) + 1; })},
                  2, 1));
  rows.back().half_ulps = 2;  // of three steps
  rows.push_back(elementwise("affine", {kAnywhere},
                             {affine_formula(2.5, -0.75), affine_formula(0, 3), affine_formula(-1, 0)}, 2,
                             1));
  rows.push_back(unary(
      "abs", kNotZero, abs, [](double x) { return std::fabs(x); }, 2, 0));
  rows.push_back(unary("sign", kNotZero, sign, sign_of, 2, 0));
  rows.push_back(unary(
      "exp", kAnywhere, exp, [](double x) { return std::exp(x); }, 3, 3));
  rows.push_back(unary(
      "log", kPositive, log, [](double x) { return std::log(x); }, 3, 4));
  rows.push_back(unary(
      "sqrt", kPositive, sqrt, [](double x) { return std::sqrt(x); }, 3, 1));
  rows.push_back(unary(
      "square", kAnywhere, square, [](double x) { return x * x; }, 3, 1));
  rows.push_back(elementwise(
      "pow", {kPositive, {.low = -2, .high = 2}},
      {formula(
          "of two", [](In in) { return pow(in[0], in[1]); }, [](X x) { return std::pow(x[0], x[1]); })},
      3, 1));
  rows.push_back(elementwise(
      "pow_number", {kPositive},
      {pow_formula(2), pow_formula(3), pow_formula(-1), pow_formula(0.5), pow_formula(1), pow_formula(0)}, 3,
      1));
  rows.push_back(elementwise("clamp", {{.avoid = {-0.5, 1}}},
                             {clamp_formula(-0.5, 1), clamp_formula(-0.5, INFINITY), clamp_formula(1, 1)}, 2,
                             0));
  rows.push_back(unary(
      "sin", kAnywhere, sin, [](double x) { return std::sin(x); }, 3, 3));
  rows.push_back(unary(
      "cos", kAnywhere, cos, [](double x) { return std::cos(x); }, 3, 3));
  rows.push_back(unary(
      "tanh", kAnywhere, tanh, [](double x) { return std::tanh(x); }, 3, 5));
  rows.push_back(unary("sigmoid", kAnywhere, sigmoid, sigmoid_of, 3, 4));
  rows.push_back(unary("softplus", kAnywhere, softplus, softplus_of, 3, 6));
  rows.push_back(unary("relu", kNotZero, relu, relu_of, 2, 0));
  rows.push_back(elementwise("sine", {kAnywhere}, {sine_formula(1), sine_formula(30)}, 3, 3));
  rows.push_back(elementwise("gauss", {kAnywhere}, {gauss_formula(0.5), gauss_formula(3)}, 3, 4));
  rows.push_back(elementwise("finer", {kNotZero}, {finer_formula(1), finer_formula(5)}, 3, 3));
  rows.push_back(elementwise("wire", {kAnywhere}, {wire_formula(3, 0.5), wire_formula(5, 2)}, 3, 6));
  for (OpRow& row : function_rows()) rows.push_back(std::move(row));
  for (OpRow& row : step_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace veldt::test
