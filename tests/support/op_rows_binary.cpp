// Rows of veldt/ops/binary.h and operators.h.
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/close.h"
#include "veldt/ops/operators.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using X = std::span<const double>;
using Binary = Tensor (*)(const Tensor&, const Tensor&);

const OpInput kAnywhere{};
const OpInput kDivisor{.low = -3, .high = 3, .avoid = {0}, .margin = 0.4};
const OpInput kApart{.distinct = true};

OpRow arithmetic(const char* name, OpInput b, Binary op, double (*oracle)(double, double), int order) {
  return elementwise(
      name, {kAnywhere, std::move(b)},
      {{"", [op](In in) { return op(in[0], in[1]); }, [oracle](X x) { return oracle(x[0], x[1]); }}}, order,
      1);
}

OpRow choice(const char* name, Binary op, double (*oracle)(double, double)) {
  return elementwise(
      name, {kApart, kApart},
      {{"", [op](In in) { return op(in[0], in[1]); }, [oracle](X x) { return oracle(x[0], x[1]); }}}, 2, 0);
}

OpRow comparison(const char* name, Binary op, bool (*oracle)(double, double)) {
  OpRow row =
      elementwise(name, {kAnywhere, kAnywhere},
                  {{"", [op](In in) { return op(in[0], in[1]); },
                    [oracle](X x) { return oracle(x[0], x[1]) ? 1.0 : 0.0; }},
                   {"with itself", [op](In in) { return op(in[0] + 0.0 * in[1], in[0] + 0.0 * in[1]); },
                    [oracle](X x) { return oracle(x[0] + 0 * x[1], x[0] + 0 * x[1]) ? 1.0 : 0.0; }}},
                  0, 0);
  row.result = DType::boolean;
  return row;
}

double remainder_of(double a, double b) {
  const double m = std::fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

// As PyTorch has it, which for infinities and divisors of 0 is no plain floor(a / b).
double floor_quotient(double a, double b) {
  if (b == 0) return a / b;
  const double m = std::fmod(a, b);
  const double q = (a - m) / b - (m != 0 && (m < 0) != (b < 0) ? 1 : 0);
  return q == 0 ? std::copysign(0, a / b) : std::floor(q + 0.5);
}

// Between two whole quotients, so that a gradient check meets no step.
OpRow division(const char* name, Binary op, double (*oracle)(double, double), double ulps) {
  return elementwise(
      name, {{.low = 5.3, .high = 7.4}, {.low = 2.5, .high = 2.6}},
      {{"", [op](In in) { return op(in[0], in[1]); }, [oracle](X x) { return oracle(x[0], x[1]); }}}, 2,
      ulps);
}

OpRow question(const char* name, Tensor (*op)(const Tensor&), bool (*oracle)(double)) {
  OpRow row = elementwise(
      name, {kAnywhere},
      {{"", [op](In in) { return op(in[0]); }, [oracle](X x) { return oracle(x[0]) ? 1.0 : 0.0; }}}, 0, 0);
  row.result = DType::boolean;
  return row;
}

std::vector<OpRow> logical_rows() {
  std::vector<OpRow> rows;
  rows.push_back(comparison("logical_and", logical_and, [](double a, double b) { return a != 0 && b != 0; }));
  rows.push_back(comparison("logical_or", logical_or, [](double a, double b) { return a != 0 || b != 0; }));
  rows.push_back(
      comparison("logical_xor", logical_xor, [](double a, double b) { return (a != 0) != (b != 0); }));
  rows.push_back(question("logical_not", logical_not, [](double x) { return x == 0; }));
  rows.push_back(question("isnan", isnan, [](double x) { return std::isnan(x); }));
  rows.push_back(question("isinf", isinf, [](double x) { return std::isinf(x); }));
  rows.push_back(question("isfinite", isfinite, [](double x) { return std::isfinite(x); }));
  return rows;
}

// "&" and its like take conditions alone.
OpRow joined(const char* name, Binary op, bool (*oracle)(bool, bool)) {
  const OpInput condition{.low = 0, .high = 2, .dtype = DType::boolean};
  OpRow row = elementwise(name, {condition, condition},
                          {{"", [op](In in) { return op(in[0], in[1]); },
                            [oracle](X x) { return oracle(x[0] != 0, x[1] != 0) ? 1.0 : 0.0; }}},
                          0, 0);
  row.result = DType::boolean;
  return row;
}

// Operators that are other names of ops.
std::vector<OpRow> operator_rows() {
  using T = const Tensor&;
  std::vector<OpRow> rows;
  rows.push_back(comparison(
      "operator==", [](T a, T b) { return a == b; }, [](double a, double b) { return a == b; }));
  rows.push_back(comparison(
      "operator!=", [](T a, T b) { return a != b; }, [](double a, double b) { return a != b; }));
  rows.push_back(comparison(
      "operator<", [](T a, T b) { return a < b; }, [](double a, double b) { return a < b; }));
  rows.push_back(comparison(
      "operator<=", [](T a, T b) { return a <= b; }, [](double a, double b) { return a <= b; }));
  rows.push_back(comparison(
      "operator>", [](T a, T b) { return a > b; }, [](double a, double b) { return a > b; }));
  rows.push_back(comparison(
      "operator>=", [](T a, T b) { return a >= b; }, [](double a, double b) { return a >= b; }));
  rows.push_back(question(
      "operator!", [](T x) { return !x; }, [](double x) { return x == 0; }));
  rows.push_back(joined(
      "operator&", [](T a, T b) { return a & b; }, [](bool a, bool b) { return a && b; }));
  rows.push_back(joined(
      "operator|", [](T a, T b) { return a | b; }, [](bool a, bool b) { return a || b; }));
  rows.push_back(joined(
      "operator^", [](T a, T b) { return a ^ b; }, [](bool a, bool b) { return a != b; }));
  rows.push_back(division(
      "operator%", [](T a, T b) { return a % b; }, remainder_of, 1));
  return rows;
}

Formula mixed(const char* label, Function run, Scalar value, Scalar magnitude) {
  return {label, std::move(run), std::move(value), std::move(magnitude)};
}

}  // namespace

std::vector<OpRow> binary_rows() {
  std::vector<OpRow> rows;
  rows.push_back(arithmetic(
      "add", kAnywhere, add, [](double a, double b) { return a + b; }, 2));
  rows.push_back(arithmetic(
      "sub", kAnywhere, sub, [](double a, double b) { return a - b; }, 2));
  rows.push_back(arithmetic(
      "mul", kAnywhere, mul, [](double a, double b) { return a * b; }, 3));
  rows.push_back(arithmetic(
      "div", kDivisor, div, [](double a, double b) { return a / b; }, 3));
  rows.push_back(choice("maximum", maximum, [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? NAN : a > b ? a : b;
  }));
  rows.push_back(choice("minimum", minimum, [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? NAN : a < b ? a : b;
  }));

  rows.push_back(division(
      "fmod", fmod, [](double a, double b) { return std::fmod(a, b); }, 0));
  rows.push_back(division("remainder", remainder, remainder_of, 1));
  rows.push_back(division("floor_divide", floor_divide, floor_quotient, 1));
  rows.push_back(arithmetic(
      "atan2", kDivisor, atan2, [](double a, double b) { return std::atan2(a, b); }, 3));
  rows.back().ulps = 2;
  rows.push_back(arithmetic(
      "hypot", kDivisor, hypot, [](double a, double b) { return std::hypot(a, b); }, 3));
  rows.back().ulps = 2;
  rows.push_back(elementwise("logaddexp", {kAnywhere, kAnywhere},
                             {{"", [](In in) { return logaddexp(in[0], in[1]); },
                               [](X x) {
                                 return x[0] == x[1] ? x[0] + std::log(2)
                                                     : std::max(x[0], x[1]) +
                                                           std::log1p(std::exp(-std::fabs(x[0] - x[1])));
                               },
                               [](X x) { return std::fabs(std::max(x[0], x[1])) + 1; }}},
                             3, 2));
  rows.push_back(elementwise(
      "lerp", {kAnywhere, kAnywhere, kAnywhere},
      {{"by a tensor", [](In in) { return lerp(in[0], in[1], in[2]); },
        [](X x) { return x[0] + x[2] * (x[1] - x[0]); },
        [](X x) { return std::fabs(x[0]) + std::fabs(x[2]) * (std::fabs(x[0]) + std::fabs(x[1])); }}},
      2, 2));
  rows.back().special_limit = 1e10;
  for (OpRow& row : logical_rows()) rows.push_back(std::move(row));

  rows.push_back(comparison("equal", equal, [](double a, double b) { return a == b; }));
  rows.push_back(comparison("not_equal", not_equal, [](double a, double b) { return a != b; }));
  rows.push_back(comparison("less", less, [](double a, double b) { return a < b; }));
  rows.push_back(comparison("less_equal", less_equal, [](double a, double b) { return a <= b; }));
  rows.push_back(comparison("greater", greater, [](double a, double b) { return a > b; }));
  rows.push_back(comparison("greater_equal", greater_equal, [](double a, double b) { return a >= b; }));

  rows.push_back(elementwise("isclose", {kAnywhere, kAnywhere},
                             {{"", [](In in) { return isclose(in[0], in[1], 0.5, 0.25); },
                               [](X x) {
                                 return x[0] == x[1] ||
                                        (std::isfinite(x[0] - x[1]) &&
                                         std::fabs(x[0] - x[1]) <= 0.25 + 0.5 * std::fabs(x[1]));
                               }}},
                             0, 0));
  rows.back().result = DType::boolean;

  rows.push_back(elementwise(
      "where", {{.low = 0, .high = 2, .dtype = DType::boolean}, kAnywhere, kAnywhere},
      {{"", [](In in) { return where(in[0], in[1], in[2]); }, [](X x) { return x[0] != 0 ? x[1] : x[2]; }}},
      2, 0));

  // Operators on two tensors and on a tensor and a number, in one expression each.
  rows.push_back(elementwise(
      "operator+", {kAnywhere, kAnywhere},
      {mixed(
          "", [](In in) { return (in[0] + 0.5) + (1.25 + in[1]); }, [](X x) { return x[0] + x[1] + 1.75; },
          [](X x) { return std::fabs(x[0]) + std::fabs(x[1]) + 3.5; })},
      2, 1));
  rows.push_back(elementwise("operator*", {kAnywhere, kAnywhere},
                             {mixed(
                                 "", [](In in) { return (in[0] * 3.0) * (-0.7 * in[1]); },
                                 [](X x) { return -2.1 * x[0] * x[1]; }, {})},
                             3, 4));
  rows.push_back(elementwise(
      "operator/", {kDivisor, kDivisor},
      {mixed(
          "", [](In in) { return (in[0] / 3.0) / (2.0 / in[1]); }, [](X x) { return x[0] * x[1] / 6; }, {})},
      3, 5));
  for (OpRow& row : operator_rows()) rows.push_back(std::move(row));
  for (OpRow& row : rows)
    if (row.name.starts_with("operator")) row.half_ulps = 2;  // of three steps
  return rows;
}

}  // namespace veldt::test
