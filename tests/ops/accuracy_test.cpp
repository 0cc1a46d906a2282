// Functions of one f32 number beside the exact value: numbers that lie evenly over all bit patterns, and
// those around every power of two. bench/ulp.cpp tries all.
#include "tests/support/accuracy.h"

#include <gtest/gtest.h>

#include <bit>
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

}  // namespace
}  // namespace veldt::test
