// Every op on the device against its oracle, over dtypes and layouts, and its gradients against the
// CPU's. An op without a kernel there fails here.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/allclose.h"
#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/layouts.h"
#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

class CudaOps : public testing::TestWithParam<OpRowRef> {};

Tensor on_cpu(const Tensor& t) { return to(t.detach(), Device{}); }

// Those that kernels may treat differently; the CPU's tests go through all of them.
constexpr Layout kInputLayouts[] = {Layout::contiguous, Layout::transposed, Layout::offset,
                                    Layout::repeated_last};

TEST_P(CudaOps, EqualTheOracle) {
  const OpRow& row = GetParam();
  for (const OpCase& op_case : row.cases) {
    const std::vector<Values> values = inputs_for(row, op_case);
    for (const DType dtype : {DType::f32, DType::f64})
      for (const Layout layout : kInputLayouts) {
        std::vector<Tensor> here, there;
        for (std::size_t i = 0; i < values.size(); ++i) {
          here.push_back(lay_out(values[i], dtype_of_input(row, i, dtype), layout));
          there.push_back(onto_device(here.back()));
        }
        DeviceWatch watch;
        const Tensor result = on_cpu(op_case.run(there));
        ASSERT_EQ(watch.faults(), "") << op_case.label << ", " << dtype << ", " << name_of(layout);
        const InterceptorScope off(nullptr);
        note_result(result);
        EXPECT_EQ(result.dtype(), row.result.value_or(dtype));
        const Expected expected = expected_of(op_case, here);
        const Comparison c = compare(result, expected.values, row.ulps, expected.magnitude);
        ASSERT_TRUE(c.ok) << op_case.label << ", " << dtype << ", " << name_of(layout) << ": " << c.message;
      }
  }
}

// The gradients of a weighting of the result, by every f64 input.
Grads gradients_of(const OpCase& op_case, std::vector<Tensor> inputs) {
  std::vector<Tensor> wanted;
  for (Tensor& t : inputs)
    if (t.dtype() == DType::f64) wanted.push_back(t.set_requires_grad());
  const Tensor y = op_case.run(inputs);
  Rng rng(11, 3);
  const Tensor weights = write(uniform(y.shape(), rng, 0.5, 1.5), y.dtype());
  const bool device = y.device().kind == DeviceKind::cuda;
  return grad(y, wanted, false, device ? onto_device(weights) : weights);
}

class CudaGradients : public testing::TestWithParam<OpRowRef> {};

TEST_P(CudaGradients, AreThoseOfTheCpu) {
  const OpRow& row = GetParam();
  for (const OpCase& op_case : row.cases) {
    const std::vector<Values> values = inputs_for(row, op_case);
    std::vector<Tensor> here, there;
    for (std::size_t i = 0; i < values.size(); ++i) {
      here.push_back(lay_out(values[i], dtype_of_input(row, i, DType::f64), Layout::contiguous));
      there.push_back(onto_device(here.back()));
    }
    const Grads expected = gradients_of(op_case, here);
    DeviceWatch watch;
    Grads got;
    for (const Tensor& g : gradients_of(op_case, there)) got.push_back(on_cpu(g));
    ASSERT_EQ(watch.faults(), "") << op_case.label;
    const InterceptorScope off(nullptr);
    for (std::size_t i = 0; i < got.size(); ++i) {
      note_result(got[i]);
      const Values a = read(got[i]), b = read(expected[i]);
      double largest = 0;
      for (const double v : b.v) largest = std::max(largest, std::fabs(v));
      for (std::size_t k = 0; k < b.v.size(); ++k)
        ASSERT_NEAR(a.v[k], b.v[k], 1e-12 * std::max(largest, 1e-3))
            << op_case.label << ", input " << i << ", element " << k;
    }
  }
}

std::vector<OpRowRef> rows_with_gradients() {
  std::vector<OpRowRef> rows = op_rows();
  std::erase_if(rows, [](const OpRow& row) { return row.order == 0; });
  return rows;
}
INSTANTIATE_TEST_SUITE_P(OpTable, CudaGradients, testing::ValuesIn(rows_with_gradients()),
                         [](const auto& p) { return test_name(p.param); });
INSTANTIATE_TEST_SUITE_P(OpTable, CudaOps, testing::ValuesIn(op_rows()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace veldt::test
