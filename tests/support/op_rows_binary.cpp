// Rows of veldt/ops/binary.h.
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/ops/binary.h"

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

  rows.push_back(comparison("equal", equal, [](double a, double b) { return a == b; }));
  rows.push_back(comparison("not_equal", not_equal, [](double a, double b) { return a != b; }));
  rows.push_back(comparison("less", less, [](double a, double b) { return a < b; }));
  rows.push_back(comparison("less_equal", less_equal, [](double a, double b) { return a <= b; }));
  rows.push_back(comparison("greater", greater, [](double a, double b) { return a > b; }));
  rows.push_back(comparison("greater_equal", greater_equal, [](double a, double b) { return a >= b; }));

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
  return rows;
}

}  // namespace veldt::test
