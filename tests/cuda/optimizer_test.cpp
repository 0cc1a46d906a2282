// Every rule of the optimizers on the emulated device against the CPU's.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/values.h"
#include "veldt/core/error.h"
#include "veldt/core/optimizer_step.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

class CudaOptimizer : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
};

struct Rule {
  OptimizerStep step;
  int arrays;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> list = {
      {{AdamStep{0.01, 0.9, 0.999, 1e-8, 0, false, 3}}, 4},
      {{AdamStep{0.01, 0.9, 0.999, 1e-8, 0.1, false, 3}}, 4},
      {{AdamStep{0.01, 0.9, 0.999, 1e-8, 0.1, true, 3}}, 4},
      {{AdamStep{0.01, 0.9, 0.999, 1e-8, 0.1, true, 3, true}}, 4},
      {{RadamStep{0.01, 0.9, 0.999, 1e-8, 0.1, 2}}, 4},
      {{RadamStep{0.01, 0.9, 0.999, 1e-8, 0.1, 20}}, 4},
      {{SgdStep{0.01, 0, 0.1, false}}, 2},
      {{SgdStep{0.01, 0.9, 0.1, false}}, 3},
      {{SgdStep{0.01, 0.9, 0, true}}, 3},
      {{RmspropStep{0.01, 0.9, 1e-8, 0.1, 0, false}}, 3},
      {{RmspropStep{0.01, 0.9, 1e-8, 0, 0.5, false}}, 4},
      {{RmspropStep{0.01, 0.9, 1e-8, 0, 0, true}}, 4},
      {{RmspropStep{0.01, 0.9, 1e-8, 0, 0.5, true}}, 5},
      {{AdagradStep{0.01, 1e-8, 0.1, 0.5}}, 3},
      {{LionStep{0.01, 0.9, 0.99, 0.1}}, 3},
      {{AdanStep{0.01, 0.9, 0.95, 0.99, 1e-8, 0.1, 1}}, 6},
      {{AdanStep{0.01, 0.9, 0.95, 0.99, 1e-8, 0.1, 4}}, 6},
      {{ClipStep{0.5, 0.1}}, 1},
      {{LerpStep{0.25}}, 2},
  };
  return list;
}

// Arrays of `n` elements, `offset` elements into their memory; every fifth gradient is 0.
std::vector<Tensor> arrays_of(int count, std::int64_t n, std::int64_t offset, DType dtype) {
  Rng rng(9);
  std::vector<Tensor> out;
  for (int k = 0; k < count; ++k) {
    // A mean square that is larger than the square of a mean.
    Values values = uniform({n + offset}, rng, k == 1 ? 0.6 : 0.01, k == 1 ? 1 : 0.6);
    if (k == count - 1)
      for (std::size_t i = 0; i < values.v.size(); ++i) values.v[i] = i % 5 == 0 ? 0 : values.v[i] - 0.3;
    out.push_back(write(values, dtype).alias({n}, {1}, offset));
  }
  return out;
}

void expect_step(const Rule& rule, std::int64_t n, std::int64_t offset, DType dtype) {
  const std::vector<Tensor> here = arrays_of(rule.arrays, n, offset, dtype);
  std::vector<Tensor> there;
  std::vector<View> views, device_views;
  for (const Tensor& t : here) there.push_back(onto_device(t));
  for (const Tensor& t : here) views.push_back(t.view());
  for (const Tensor& t : there) device_views.push_back(t.view());
  backend(Device{}).optimize(rule.step, views.data(), rule.arrays);
  backend(kEmulated).optimize(rule.step, device_views.data(), rule.arrays);
  for (std::size_t k = 0; k < here.size(); ++k) {
    const Values wanted = read(here[k]), found = read(from_device(there[k]));
    for (std::size_t i = 0; i < wanted.v.size(); ++i)
      ASSERT_NEAR(found.v[i], wanted.v[i], dtype == DType::f32 ? 1e-6 : 2e-15)
          << rule.step.name() << ", array " << k << " of " << rule.arrays << ", element " << i << " of " << n;
  }
  ASSERT_EQ(gpu::emulation::take_fault(), "");
}

TEST_F(CudaOptimizer, StepsAsTheCpuDoes) {
  for (const Rule& rule : rules())
    for (const DType dtype : {DType::f32, DType::f64})
      for (const std::int64_t n : {0, 1, 4, 7, 1030})
        for (const std::int64_t offset : {0, 4, 1}) expect_step(rule, n, offset, dtype);
}

TEST_F(CudaOptimizer, StepsThroughMoreThanItsThreadsHold) {
  expect_step(rules()[0], 70001, 0, DType::f32);
  expect_step(rules()[3], 70001, 1, DType::f32);
}

// What lies beyond the arrays' elements stays.
TEST_F(CudaOptimizer, WritesNothingElse) {
  const Tensor memory = onto_device(write({{11}, std::vector<double>(11, 0.5)}, DType::f32));
  const View x = memory.alias({6}, {1}, 4).view();
  backend(kEmulated).optimize({ClipStep{2, 10}}, &x, 1);
  EXPECT_EQ(read(from_device(memory)).v, (std::vector<double>{0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1, 1, 1, 0.5}));
}

TEST_F(CudaOptimizer, ALazyStepLeavesWhatHasNoGradient) {
  const Tensor p = onto_device(write({{8}, {1, 1, 1, 1, 1, 1, 1, 1}}, DType::f32));
  const Tensor m = onto_device(write({{8}, std::vector<double>(8, 0.5)}, DType::f32));
  const Tensor v = onto_device(write({{8}, std::vector<double>(8, 0.25)}, DType::f32));
  const Tensor g = onto_device(write({{8}, {0, 0, 0, 0, 0, 1, 0, NAN}}, DType::f32));
  const View views[] = {p.view(), m.view(), v.view(), g.view()};
  backend(kEmulated).optimize({AdamStep{0.01, 0.9, 0.999, 1e-8, 0.1, true, 1, true}}, views, 4);
  const Values after = read(from_device(p)), moment = read(from_device(m));
  for (const std::size_t i : {0, 1, 2, 3, 4, 6}) {
    EXPECT_EQ(after.v[i], 1);
    EXPECT_EQ(moment.v[i], 0.5);
  }
  EXPECT_NE(after.v[5], 1);
  EXPECT_TRUE(std::isnan(after.v[7]));
}

TEST_F(CudaOptimizer, RefusesOtherDtypes) {
  const Tensor x = onto_device(write({{2}, {1, 2}}, DType::i64));
  const View views[] = {x.view(), x.view()};
  const std::string said = error_of<DeviceError>([&] { backend(kEmulated).optimize({SgdStep{}}, views, 2); });
  EXPECT_NE(said.find("there is no kernel of optimize for i64 on cuda"), std::string::npos) << said;
}

}  // namespace
}  // namespace veldt::test
