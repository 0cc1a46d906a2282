// Rows of veldt/ops/activation.h. The oracles are the papers' formulas in double.
#include <cmath>
#include <numbers>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/activation.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using X = std::span<const double>;
using Op = std::function<Tensor(const Tensor&)>;
using Oracle1 = std::function<double(double)>;

// A row that avoids the function's kinks. `terms`: the size of what a result is made from.
OpRow activation(const char* name, std::vector<double> kinks, Op op, Oracle1 value, int order, double ulps,
                 Oracle1 terms = {}) {
  Scalar magnitude;
  if (terms) magnitude = [terms](X x) { return terms(x[0]); };
  return elementwise(
      name, {{.low = -4, .high = 4, .avoid = std::move(kinks)}},
      {{"", [op](In in) { return op(in[0]); }, [value](X x) { return value(x[0]); }, magnitude}}, order,
      ulps);
}

double s(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double elu_of(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }
double selu_of(double x) {
  return 1.0507009873554804934193349852946 * elu_of(x, 1.6732632423543772848170429916717);
}
double celu_of(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x / alpha); }
double gelu_of(double x) { return x * 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2); }
double gelu_tanh_of(double x) { return x * s(std::sqrt(8 / std::numbers::pi) * x * (1 + 0.044715 * x * x)); }
double mish_of(double x) {
  const double e = std::exp(std::fmin(x, 30)), n = e * (e + 2);
  return std::isnan(x) ? x : x * (n / (n + 2));
}
double hardsigmoid_of(double x) { return x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6; }
double clamp_of(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
double logsigmoid_of(double x) {
  return x < 0    ? x - std::log1p(std::exp(x))
         : x > 0  ? -std::log1p(std::exp(-x))
         : x == 0 ? -std::log(2.0)
                  : x;
}

// The size of y = x f(x) where f has become a denormal, whose ulp is a larger part of it.
double in_tail(double y, double x) {
  const double size = std::fmax(std::fabs(y), std::fabs(x) * 0x1p-126);
  return std::isfinite(size) ? size : 0;
}

}  // namespace

std::vector<OpRow> activation_rows() {
  std::vector<OpRow> rows;
  rows.push_back(activation(
      "leaky_relu", {0}, [](const Tensor& x) { return leaky_relu(x, 0.2); },
      [](double x) { return x > 0 ? x : 0.2 * x; }, 2, 1));
  rows.push_back(activation(
      "elu", {0}, [](const Tensor& x) { return elu(x, 0.7); }, [](double x) { return elu_of(x, 0.7); }, 3,
      5));
  rows.push_back(activation("selu", {0}, selu, selu_of, 3, 5));
  rows.push_back(activation(
      "celu", {0}, [](const Tensor& x) { return celu(x, 1.5); }, [](double x) { return celu_of(x, 1.5); }, 3,
      5));
  // The tails know their argument to an ulp, which the exponential makes as many as the argument's size.
  rows.push_back(activation("gelu", {}, gelu, gelu_of, 3, 6,
                            [](double x) { return (1 + std::fmin(x * x, 1e6)) * in_tail(gelu_of(x), x); }));
  rows.push_back(activation("gelu_tanh", {}, gelu_tanh, gelu_tanh_of, 3, 6, [](double x) {
    return (1 + std::fmin(std::fabs(x * x * x), 1e6)) * in_tail(gelu_tanh_of(x), x);
  }));
  rows.push_back(activation(
      "silu", {}, silu, [](double x) { return x * s(x); }, 3, 5,
      [](double x) { return in_tail(x * s(x), x); }));
  rows.push_back(
      activation("mish", {}, mish, mish_of, 3, 8, [](double x) { return in_tail(mish_of(x), x); }));
  rows.push_back(activation(
      "softsign", {0}, softsign, [](double x) { return x / (1 + std::fabs(x)); }, 3, 2));
  rows.push_back(activation("hardsigmoid", {-3, 3}, hardsigmoid, hardsigmoid_of, 2, 1,
                            [](double x) { return x < -3 ? 0.0 : 1.0; }));
  rows.push_back(activation(
      "hardswish", {-3, 3}, hardswish, [](double x) { return x * hardsigmoid_of(x); }, 2, 2,
      [](double x) { return x < -3 ? 0.0 : std::fabs(x); }));
  rows.push_back(activation(
      "hardtanh", {-1.5, 0.5}, [](const Tensor& x) { return hardtanh(x, -1.5, 0.5); },
      [](double x) { return clamp_of(x, -1.5, 0.5); }, 2, 0));
  rows.push_back(activation(
      "relu6", {0}, relu6, [](double x) { return clamp_of(x, 0, 6); }, 2, 0));
  rows.push_back(activation(
      "hardshrink", {-0.7, 0.7}, [](const Tensor& x) { return hardshrink(x, 0.7); },
      [](double x) { return std::fabs(x) <= 0.7 ? 0.0 : x; }, 2, 0));
  rows.push_back(activation("logsigmoid", {}, logsigmoid, logsigmoid_of, 3, 6));
  return rows;
}

}  // namespace veldt::test
