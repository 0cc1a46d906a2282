// The CUDA backend's device, memory and errors, on the emulated device.
#include <gtest/gtest.h>

#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/values.h"
#include "veldt/core/error.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

class Cuda : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
};

TEST_F(Cuda, ComputesWhatTheCpuDoes) {
  const std::vector<float> numbers = {-2, -0.5f, 0, 1, 3};
  const Tensor x = Tensor::from<float>({5}, numbers, kEmulated);
  EXPECT_TRUE(gpu::emulation::owns(x.view().data));
  const std::vector<float> y = abs(x).values<float>();
  EXPECT_EQ(y, (std::vector<float>{2, 0.5f, 0, 1, 3}));
  EXPECT_EQ(gpu::emulation::take_fault(), "");
}

}  // namespace
}  // namespace veldt::test
