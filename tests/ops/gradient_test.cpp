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

std::vector<OpRowRef> rows_of_order(int order) {
  std::vector<OpRowRef> rows;
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

class FirstGradient : public testing::TestWithParam<OpRowRef> {};
TEST_P(FirstGradient, EqualsCentralDifferences) {
  expect_gradients(GetParam(), 1, own_memory_layouts(), kMostElements);
}
INSTANTIATE_TEST_SUITE_P(OpTable, FirstGradient, testing::ValuesIn(rows_of_order(1)),
                         [](const auto& p) { return test_name(p.param); });

// The gradients of a case for all its real inputs, weighted by numbers that do not depend on the dtype.
std::vector<Values> gradients_in(const OpRow& row, const OpCase& op_case, const std::vector<Values>& values,
                                 DType dtype, Layout layout, bool create_graph) {
  std::vector<Tensor> inputs, real;
  for (std::size_t i = 0; i < values.size(); ++i) {
    inputs.push_back(lay_out(values[i], dtype_of_input(row, i, dtype), layout));
    if (row.inputs[i].dtype) continue;
    inputs.back().set_requires_grad();
    real.push_back(inputs.back());
  }
  const Tensor y = op_case.run(inputs);
  Rng rng(7);
  std::vector<Values> out;
  for (const Tensor& g : grad(y, real, create_graph, write(uniform(y.shape(), rng, 0.5, 1.5), dtype)))
    out.push_back(read(g));
  return out;
}

// At least 10: sin(30 x) knows its argument, of up to 60, to 4e-6, which its slope of 30 makes 1e-4.
double largest(const Values& values) {
  double most = 10;
  for (double v : values.v) most = std::max(most, std::fabs(v));
  return most;
}

// With and without create_graph the gradient takes different ways: ops, or one kernel.
TEST_P(FirstGradient, InSinglePrecisionIsTheOneInDouble) {
  const OpRow& row = GetParam();
  for (const OpCase& op_case : row.cases) {
    if (elements(op_case) > 1000) continue;
    std::vector<Values> values = inputs_for(row, op_case);
    for (Values& v : values)
      for (double& x : v.v) x = static_cast<double>(static_cast<float>(x));
    const auto exact = gradients_in(row, op_case, values, DType::f64, Layout::contiguous, true);
    for (Layout layout : {Layout::contiguous, Layout::padded})
      for (bool create_graph : {false, true}) {
        const auto got = gradients_in(row, op_case, values, DType::f32, layout, create_graph);
        ASSERT_EQ(got.size(), exact.size());
        for (std::size_t k = 0; k < got.size(); ++k)
          for (std::size_t i = 0; i < got[k].v.size(); ++i) {
            if (std::isnan(exact[k].v[i])) continue;  // the mean of nothing
            ASSERT_NEAR(got[k].v[i], exact[k].v[i], 2e-5 * largest(exact[k]))
                << row.name << ' ' << op_case.label << ", " << name_of(layout) << ", input " << k
                << ", element " << i << (create_graph ? ", in the graph" : ", by the kernel");
          }
      }
  }
}

class SecondGradient : public testing::TestWithParam<OpRowRef> {};
TEST_P(SecondGradient, EqualsCentralDifferences) {
  expect_gradients(GetParam(), 2, {Layout::contiguous, Layout::transposed}, 20);
}
INSTANTIATE_TEST_SUITE_P(OpTable, SecondGradient, testing::ValuesIn(rows_of_order(2)),
                         [](const auto& p) { return test_name(p.param); });

class ThirdGradient : public testing::TestWithParam<OpRowRef> {};
TEST_P(ThirdGradient, EqualsCentralDifferences) { expect_gradients(GetParam(), 3, {Layout::contiguous}, 9); }
INSTANTIATE_TEST_SUITE_P(OpTable, ThirdGradient, testing::ValuesIn(rows_of_order(3)),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace veldt::test
