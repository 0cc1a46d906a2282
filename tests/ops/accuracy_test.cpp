// Functions of one f32 number beside the exact value: numbers that lie evenly over all bit patterns, and
// those around every power of two. bench/ulp.cpp tries all. Then doubles beside C's library in long double.
#include "tests/support/accuracy.h"

#include <gtest/gtest.h>

#include <bit>
#include <numbers>
#include <string>

#include "veldt/core/error.h"

namespace veldt::test {
namespace {

std::vector<float> numbers_over_all_bits() {
  std::vector<float> out;
  for (std::uint64_t bits = 0; bits < (std::uint64_t(1) << 32); bits += 8191)
    out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t exponent = 0; exponent < 512; ++exponent)
    for (std::uint32_t near = 0; near < 64; ++near)
      out.push_back(std::bit_cast<float>((exponent << 23) + near - 32));
  return out;
}

class Accuracy : public testing::TestWithParam<AccuracyRow> {};

TEST_P(Accuracy, IsWithinItsUlps) {
  static const std::vector<float> numbers = numbers_over_all_bits();
  const AccuracyRow& row = GetParam();
  const auto n = static_cast<std::int64_t>(numbers.size());
  const std::vector<float> y = row.op(Tensor::from<float>({n}, numbers)).values<float>();
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double off = ulps_between(y[i], row.exact(static_cast<double>(numbers[i])));
    if (off > worst) worst = off, at = i;
  }
  EXPECT_LE(worst, row.ulps) << row.name << '(' << numbers[at] << ") is " << y[at];
}

INSTANTIATE_TEST_SUITE_P(OpTable, Accuracy, testing::ValuesIn(accuracy_rows()),
                         [](const auto& p) { return std::string(p.param.name); });

struct DoubleRow {
  const char* name;
  Tensor (*op)(const Tensor&);
  long double (*exact)(long double);
  double ulps;
};

const DoubleRow kDoubleRows[] = {
    {"exp", exp, [](long double x) { return std::exp(x); }, 4},
    {"expm1", expm1, [](long double x) { return std::expm1(x); }, 4},
    {"log", log, [](long double x) { return std::log(x); }, 4},
    {"log1p", log1p, [](long double x) { return std::log1p(x); }, 4},
    {"sin", sin, [](long double x) { return std::sin(x); }, 4},
    {"tan", tan, [](long double x) { return std::tan(x); }, 4},
    {"atan", atan, [](long double x) { return std::atan(x); }, 4},
    {"tanh", tanh, [](long double x) { return std::tanh(x); }, 4},
    {"asinh", asinh, [](long double x) { return std::asinh(x); }, 4},
    {"atanh", atanh, [](long double x) { return std::atanh(x); }, 4},
    {"erf", erf, [](long double x) { return std::erf(x); }, 4},
    {"erfc", erfc, [](long double x) { return std::erfc(x); }, 6},
    {"gelu", gelu,
     [](long double x) { return x / 2 * std::erfc(-x * (std::numbers::sqrt2_v<long double> / 2)); }, 6},
};

class AccuracyOfDoubles : public testing::TestWithParam<DoubleRow> {};

TEST_P(AccuracyOfDoubles, IsWithinItsUlps) {
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < 200'000;
       ++i)  // of magnitudes where most functions are neither 0 nor constant
    for (const double sign : {-1.0, 1.0})
      numbers.push_back(sign * std::bit_cast<double>(0x3e00'0000'0000'0000 + i * 923'237'923'619));
  const auto n = static_cast<std::int64_t>(numbers.size());
  const std::vector<double> y = GetParam().op(Tensor::from<double>({n}, numbers)).values<double>();
  double worst = 0, at = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const long double exact = GetParam().exact(numbers[i]);
    if (std::isnan(exact) && std::isnan(y[i])) continue;
    const double rounded = static_cast<double>(exact);
    const double size = std::max(std::fabs(rounded), std::numeric_limits<double>::min());
    const double off = rounded == y[i] ? 0  // infinities too
                                       : std::fabs(static_cast<double>(y[i] - exact)) /
                                             std::ldexp(1.0, std::ilogb(size) - 52);
    if (!(off <= worst)) worst = off, at = numbers[i];
  }
  EXPECT_LE(worst, GetParam().ulps) << at;
  RecordProperty("ulps", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(OpTable, AccuracyOfDoubles, testing::ValuesIn(kDoubleRows),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace veldt::test
