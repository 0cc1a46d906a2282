// That the search for races sees those that are planted, and no others. What it finds in Veldt's own kernels
// is a fault in the tests of each.
#include <gtest/gtest.h>

#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/planted_races.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

TEST(CudaRaces, AreFoundWhereTheyArePlanted) {
  if (on_real_gpu() || !gpu::emulation::finds_races()) GTEST_SKIP() << "needs a build with VELDT_GPU_RACES";
  use_emulated_device();
  const Backend& device = backend(kEmulated);
  device.synchronize();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  void* const data = device.allocate(4096);
  for (int i = 0; i < kPlanted; ++i) {
    const Planted& p = planted(i);
    ASSERT_EQ(gpu::launch(p.kernel, p.blocks, 64, 0, stream, static_cast<int*>(data)), cudaSuccess);
    static_cast<void>(cudaStreamSynchronize(stream));
    EXPECT_EQ(gpu::emulation::take_fault().find("a race in") != std::string::npos, p.races) << p.name;
  }
  device.deallocate(data, 4096);
}

}  // namespace
}  // namespace veldt::test
