// Every op's gradients against central differences in double: as many orders as its row says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"

namespace veldt::test {
namespace {

// Each element costs four evaluations.
constexpr std::int64_t kMostElements = 32;

std::vector<OpRow> rows_of_order(int order) {
  std::vector<OpRow> rows;
  for (const OpRow& row : op_table())
    if (row.order >= order) rows.push_back(row);
  return rows;
}

std::vector<GradientInput> inputs_in_double(const OpRow& row, const OpCase& op_case) {
  std::vector<GradientInput> inputs;
  const std::vector<Values> values = inputs_for(row, op_case);
  for (std::size_t i = 0; i < values.size(); ++i)
    inputs.push_back({values[i], dtype_of_input(row, i, DType::f64)});
  return inputs;
}

// The mean of nothing is NaN, and its gradient nobody's.
bool has_values(const OpCase& op_case, const std::vector<GradientInput>& inputs) {
  std::vector<Values> values;
  for (const GradientInput& in : inputs) values.push_back(in.values);
  const std::vector<double> v = op_case.oracle(values).values.v;
  return std::none_of(v.begin(), v.end(), [](double x) { return std::isnan(x); });
}

std::int64_t elements(const OpCase& op_case) {
  std::int64_t n = 0;
  for (const Shape& shape : op_case.shapes) n += numel(shape);
  return n;
}

void expect_gradients(const OpRow& row, int order, const std::vector<Layout>& layouts, std::int64_t most) {
  int checked = 0;
  for (const OpCase& op_case : row.cases) {
    const std::vector<GradientInput> inputs = inputs_in_double(row, op_case);
    if (elements(op_case) > most || !has_values(op_case, inputs)) continue;
    for (Layout layout : layouts) {
      const GradientReport report = check_gradients(op_case.run, inputs, order, layout);
      EXPECT_TRUE(report.ok) << row.name << ' ' << op_case.label << ", " << name_of(layout) << ": "
                             << report.message;
      ++checked;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(checked, 0) << row.name << " has no case small enough";
}

class FirstGradient : public testing::TestWithParam<OpRow> {};
TEST_P(FirstGradient, EqualsCentralDifferences) {
  expect_gradients(GetParam(), 1, own_memory_layouts(), kMostElements);
}
INSTANTIATE_TEST_SUITE_P(OpTable, FirstGradient, testing::ValuesIn(rows_of_order(1)),
                         [](const auto& p) { return test_name(p.param); });

class SecondGradient : public testing::TestWithParam<OpRow> {};
TEST_P(SecondGradient, EqualsCentralDifferences) {
  expect_gradients(GetParam(), 2, {Layout::contiguous, Layout::transposed}, 20);
}
INSTANTIATE_TEST_SUITE_P(OpTable, SecondGradient, testing::ValuesIn(rows_of_order(2)),
                         [](const auto& p) { return test_name(p.param); });

class ThirdGradient : public testing::TestWithParam<OpRow> {};
TEST_P(ThirdGradient, EqualsCentralDifferences) { expect_gradients(GetParam(), 3, {Layout::contiguous}, 9); }
INSTANTIATE_TEST_SUITE_P(OpTable, ThirdGradient, testing::ValuesIn(rows_of_order(3)),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace veldt::test
