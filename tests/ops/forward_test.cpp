// Every op's result against its oracle, in f32 and f64, over the layouts of its inputs.
#include <gtest/gtest.h>

#include "tests/support/allclose.h"
#include "tests/support/op_table.h"
#include "veldt/core/error.h"

namespace veldt::test {
namespace {

class Forward : public testing::TestWithParam<OpRowRef> {};

std::vector<Tensor> lay_out_all(const OpRow& row, const std::vector<Values>& values, DType dtype,
                                std::size_t layout, std::size_t step) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Layout l = all_layouts()[(layout + i * step) % all_layouts().size()];
    out.push_back(lay_out(values[i], dtype_of_input(row, i, dtype), l));
  }
  return out;
}

void expect_oracle(const OpRow& row, const OpCase& op_case, const std::vector<Tensor>& inputs, DType dtype,
                   const std::string& what) {
  const Tensor result = op_case.run(inputs);
  EXPECT_EQ(result.dtype(), row.result.value_or(dtype)) << what;
  const Expected expected = expected_of(op_case, inputs);
  const Comparison c = compare(result, expected.values, row.ulps, expected.magnitude);
  EXPECT_TRUE(c.ok) << row.name << ' ' << op_case.label << ", " << dtype << ", " << what << ": " << c.message;
}

TEST_P(Forward, EqualsTheOracle) {
  const OpRow& row = GetParam();
  for (const OpCase& op_case : row.cases) {
    const std::vector<Values> values = inputs_for(row, op_case);
    for (DType dtype : {DType::f32, DType::f64})
      for (std::size_t l = 0; l < all_layouts().size(); ++l) {
        const char* name = name_of(all_layouts()[l]);
        expect_oracle(row, op_case, lay_out_all(row, values, dtype, l, 0), dtype, name);
        if (values.size() > 1)
          expect_oracle(row, op_case, lay_out_all(row, values, dtype, l, 2), dtype, str(name, " and others"));
      }
    if (testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(OpTable, Forward, testing::ValuesIn(op_rows()),
                         [](const auto& p) { return test_name(p.param); });

// Lengths around those of a SIMD register, and beyond the grain at which work is spread over threads.
class Lengths : public testing::TestWithParam<OpRowRef> {};

TEST_P(Lengths, LeaveNoTailBehind) {
  const OpRow& row = GetParam();
  std::vector<std::int64_t> lengths = {33001};
  for (std::int64_t n = 1; n <= 67; ++n) lengths.push_back(n);
  const Formula& formula = row.formulas[0];
  for (std::int64_t n : lengths) {
    const OpCase op_case{str("length ", n), std::vector<Shape>(row.inputs.size(), Shape{n}), formula.run,
                         row.cases[0].oracle};
    const std::vector<Values> values = inputs_for(row, op_case);
    for (DType dtype : {DType::f32, DType::f64}) {
      expect_oracle(row, op_case, lay_out_all(row, values, dtype, 0, 0), dtype, "contiguous");
      if (n <= 67) expect_oracle(row, op_case, lay_out_all(row, values, dtype, 3, 0), dtype, "offset");
    }
    if (testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(OpTable, Lengths, testing::ValuesIn(elementwise_rows()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace veldt::test
