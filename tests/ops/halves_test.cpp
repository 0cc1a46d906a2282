// Every op of the table on bf16 and f16. None refuses them, whatever the entries of the waist take, and all
// but a few compute in f32 or better and round once.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/layouts.h"
#include "tests/support/op_table.h"
#include "veldt/core/error.h"

namespace veldt::test {
namespace {

constexpr DType kHalves[] = {DType::bf16, DType::f16};

// The distance of a number's neighbours: 2^-7 or 2^-10 of the power of two below it, and never less than
// denormals'.
double spacing(double x, DType half) {
  const int bits = half == DType::bf16 ? 7 : 10, least = half == DType::bf16 ? -126 : -14;
  return std::ldexp(1.0, std::max(x == 0 ? least : std::ilogb(x), least) - bits);
}

// How far element `i` may be off: by half a spacing for the rounding, and by the row's ulps in f32 terms for
// what was rounded; or by the row's ulps of halves.
double allowed(const OpRow& row, const Expected& expected, std::size_t i, DType dtype) {
  const double x = std::fabs(expected.values.v[i]);
  const double size = expected.magnitude.empty() ? x : std::max(x, expected.magnitude[i]);
  const double before = row.ulps * 0x1p-23 * size;
  if (dtype == DType::f32) return before;
  return row.half_ulps > 0 ? row.half_ulps * spacing(size, dtype) : 0.5 * spacing(x, dtype) + before;
}

void expect_rounded_once(const OpRow& row, const OpCase& op_case, const std::vector<Values>& values,
                         DType half, Layout layout) {
  SCOPED_TRACE(str(op_case.label, ", ", half, ", ", name_of(layout)));
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i)
    inputs.push_back(lay_out(values[i], dtype_of_input(row, i, half), layout));
  const Tensor result = op_case.run(inputs);
  EXPECT_EQ(result.dtype(), row.result.value_or(half));
  const Expected expected = expected_of(op_case, inputs);
  const Values got = read(result);
  ASSERT_EQ(got.shape, expected.values.shape);
  for (std::size_t i = 0; i < got.v.size(); ++i) {
    const double wanted = expected.values.v[i];
    if (got.v[i] == wanted || (std::isnan(got.v[i]) && std::isnan(wanted))) continue;
    const double most = is_float(result.dtype()) ? allowed(row, expected, i, result.dtype()) : 0;
    ASSERT_LE(std::fabs(got.v[i] - wanted), most)
        << "element " << i << " of " << got.shape << " is " << got.v[i] << ", not " << wanted;
  }
}

class Halves : public testing::TestWithParam<OpRowRef> {};

TEST_P(Halves, AreWhatTheOracleGivesRoundedOnce) {
  const OpRow& row = GetParam();
  for (const OpCase& op_case : row.cases) {
    const std::vector<Values> values = inputs_for(row, op_case);
    for (const DType half : kHalves)
      for (const Layout layout : {Layout::contiguous, Layout::transposed}) {
        expect_rounded_once(row, op_case, values, half, layout);
        if (HasFatalFailure()) return;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(OpTable, Halves, testing::ValuesIn(op_rows()),
                         [](const auto& p) { return test_name(p.param); });

// Lengths around those of a SIMD register, and beyond the grain at which work is spread over threads.
class HalfLengths : public testing::TestWithParam<OpRowRef> {};

TEST_P(HalfLengths, LeaveNoTailBehind) {
  const OpRow& row = GetParam();
  std::vector<std::int64_t> lengths(35);
  std::iota(lengths.begin(), lengths.end(), 1);
  lengths.push_back(33001);
  for (const std::int64_t n : lengths) {
    const OpCase op_case{str("length ", n), std::vector<Shape>(row.inputs.size(), Shape{n}),
                         row.formulas[0].run, row.cases[0].oracle};
    for (const DType half : kHalves) {
      expect_rounded_once(row, op_case, inputs_for(row, op_case), half, Layout::offset);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OpTable, HalfLengths, testing::ValuesIn(elementwise_rows()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace veldt::test
