// The CUDA backend's device, memory and errors.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>

#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "tests/support/gpu_emulation.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/sort.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/device_library.h"
#include "veldt/tensor/plan.h"

namespace veldt::test {
namespace {

namespace emulation = gpu::emulation;

class Cuda : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
};

// What is planted in the emulated device, or seen of it from outside.
class CudaFaults : public Cuda {
 protected:
  void SetUp() override {
    if (on_real_gpu()) GTEST_SKIP() << "needs the emulated device";
  }
  void TearDown() override {
    emulation::lose_device(false);
    emulation::set_driver(true);
    emulation::set_memory(0);
    EXPECT_EQ(emulation::take_fault(), "");
  }
};

TEST_F(Cuda, HoldsItsTensorsInTheMemoryOfTheDevice) {
  const std::vector<float> numbers = {-2, -0.5f, 0, 1, 3};
  const Tensor x = Tensor::from<float>({5}, numbers, kEmulated);
  if (!on_real_gpu()) {
    EXPECT_TRUE(emulation::owns(x.view().data));
  }
  EXPECT_EQ(abs(x).device(), kEmulated);
  EXPECT_EQ(abs(x).values<float>(), (std::vector<float>{2, 0.5f, 0, 1, 3}));
  EXPECT_THROW(x.data<float>(), DeviceError);
}

TEST_F(Cuda, AssignsBetweenDevicesWithAnyStridesAndDtypes) {
  const Tensor here = Tensor::of({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor there = to(Tensor::of({3, 2}, {0, 0, 0, 0, 0, 0}, DType::f64), kEmulated);
  Tensor turned = transpose(there);
  turned.assign(here);
  EXPECT_EQ(there.values<double>(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  Tensor back = Tensor::of({2, 3}, {0, 0, 0, 0, 0, 0});
  back.assign(turned);
  EXPECT_EQ(back.values<float>(), here.values<float>());
}

// More than the staging memory holds at a time, and each of them changed as soon as it was given.
TEST_F(Cuda, UploadsWithoutHoldingOnToWhatItWasGiven) {
  std::vector<float> numbers(3 << 20);
  Tensor there = empty({3 << 20}, DType::f32, kEmulated);
  double sum_of_lasts = 0;
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(round + 1);
    there.assign(Tensor::from<float>({3 << 20}, numbers));
    numbers.assign(numbers.size(), -1);
    sum_of_lasts += slice(there, 0, (3 << 20) - 1, 3 << 20).item();
  }
  EXPECT_EQ(sum_of_lasts, 1 + 2 + 3 + 4);
  EXPECT_EQ(there.values<float>(), std::vector<float>(3 << 20, 4.0f));
}

TEST_F(Cuda, RefusesToCombineDevices) {
  const Tensor here = Tensor::of({2}, {1, 2}), there = to(here, kEmulated);
  EXPECT_THROW(here + there, DeviceError);
  EXPECT_THROW(cat({here, there}), DeviceError);
}

TEST_F(Cuda, TakesMemoryOnceAndKeepsIt) {
  const Tensor x = to(Tensor::of({3}, {1, 2, 3}), kEmulated);
  { const Tensor warm = (x + x) * x; }
  emulation::reset_counts();
  const PoolStats before = pool(kEmulated).stats();
  for (int i = 0; i < 10; ++i) const Tensor again = (x + x) * x;
  EXPECT_EQ(emulation::counts().allocations, 0);
  EXPECT_EQ(pool(kEmulated).stats().system_allocations, before.system_allocations);
  EXPECT_GT(before.bytes_in_use, 0u);
}

TEST_F(Cuda, SaysWhatIsHeldWhereMemoryIsFull) {
  const auto all = static_cast<std::int64_t>(look_for_devices(DeviceKind::cuda).devices.at(0).memory_bytes);
  const std::string said = error_of<OutOfMemory>([&] { empty({2 * all}, DType::u8, kEmulated); });
  EXPECT_NE(said.find(bytes_text(Pool::size_class(static_cast<std::size_t>(2 * all)))), std::string::npos)
      << said;
  EXPECT_NO_THROW(empty({1024}, DType::f32, kEmulated));  // goes on
}

// A sort needs several times what it sorts; the pool gives back what no tensor holds.
TEST_F(CudaFaults, MakesRoomForWhatAKernelNeedsItself) {
  const Tensor x = to(zeros({100000}), kEmulated);
  { const Tensor freed = empty({1 << 20}, DType::f32, kEmulated); }  // 4 MB that the pool keeps
  const std::size_t cached = pool(kEmulated).stats().bytes_cached;
  ASSERT_GE(cached, std::size_t{4} << 20);
  emulation::set_memory(std::size_t{6} << 20);
  EXPECT_NO_THROW(argsort(x, 0).values<std::int64_t>());
  EXPECT_LT(pool(kEmulated).stats().bytes_cached, cached);
}

// However much tensors hold: to map memory takes longer than most kernels.
TEST_F(CudaFaults, KeepsTheMemoryOfKernelsMapped) {
  const Tensor held = empty({65 << 20}, DType::u8, kEmulated);
  const Tensor x = to(zeros({100000}), kEmulated);
  for (int i = 0; i < 2; ++i) argsort(x, 0).values<std::int64_t>();
  emulation::reset_counts();
  for (int i = 0; i < 3; ++i) argsort(x, 0).values<std::int64_t>();
  EXPECT_GT(emulation::counts().allocations, 0);
  EXPECT_EQ(emulation::counts().mappings, 0);
}

TEST_F(CudaFaults, GivesBackWhatTensorsHeld) {
  const std::size_t before = backend(kEmulated).free_bytes();
  { const Tensor freed = empty({33 << 20}, DType::u8, kEmulated); }
  pool(kEmulated).trim();
  backend(kEmulated).synchronize();
  EXPECT_GE(backend(kEmulated).free_bytes(), before);
}

// What kernels used is there for tensors, if nothing else is.
TEST_F(CudaFaults, TakesTheMemoryOfKernelsForTensorsWhereThatIsAllThereIs) {
  argsort(to(zeros({1 << 18}), kEmulated), 0).values<std::int64_t>();
  pool(kEmulated).trim();
  backend(kEmulated).synchronize();
  const std::size_t free = backend(kEmulated).free_bytes(),
                    all = look_for_devices(DeviceKind::cuda).devices.at(0).memory_bytes;
  emulation::set_memory(all - free + (std::size_t{1} << 19));
  EXPECT_NO_THROW(empty({2 << 20}, DType::u8, kEmulated));
}

TEST_F(CudaFaults, TellsThatTheDeviceWasLost) {
  const Tensor x = to(Tensor::of({3}, {1, 2, 3}), kEmulated);
  emulation::lose_device(true);
  EXPECT_THROW(x.values<float>(), DeviceError);
  emulation::lose_device(false);
}

// What a graph cannot keep loses the whole capture, and the stream works on.
TEST_F(CudaFaults, LosesACaptureInWhichItWouldHaveToWait) {
  const Tensor x = to(Tensor::of({2}, {1, 2}), kEmulated);
  const Backend& device = backend(kEmulated);
  std::vector<float> got(2);
  const std::function<void()> waits[] = {[&] { device.download(got.data(), x.view().data, 8); },
                                         [&] { device.upload(x.view().data, got.data(), 8); },
                                         [&] { device.synchronize(); }};
  for (const auto& wait : waits) {
    const DeviceSteps& kept = *backend(kEmulated).steps;
    void* const steps = kept.make(nullptr);
    for (const StepMode mode : {StepMode::run, StepMode::capture}) {
      kept.begin(steps, mode);
      if (mode == StepMode::capture) {
        EXPECT_THROW(wait(), DeviceError);
      }
      kept.step_done(steps);
      if (mode == StepMode::run) kept.end(steps, true);
    }
    try {
      kept.end(steps, true);
    } catch (const DeviceError&) {  // 901: unless it was refused before CUDA was asked
    }
    kept.destroy(steps);
    EXPECT_EQ((x + x).values<float>(), (std::vector<float>{2, 4}));
  }
}

// A thread that has not used the device before has to be told of it, and a lost one does not listen.
TEST_F(CudaFaults, LetsGoOfMemoryOnAnyThreadAfterTheDeviceWasLost) {
  { const Tensor freed = empty({1024}, DType::f32, kEmulated); }
  const Tensor x = to(arange(0, 8, 1), kEmulated);
  auto plan = std::make_unique<Plan>([&] { return x * x; });
  for (int i = 0; i < 2; ++i) plan->replay();
  emulation::lose_device(true);
  std::thread([&] {
    pool(kEmulated).trim();
    plan.reset();
    EXPECT_THROW(backend(kEmulated).synchronize(), DeviceError);
  }).join();
  emulation::lose_device(false);
}

TEST_F(Cuda, TellsWhatTheDeviceIs) {
  const DeviceReport report = look_for_devices(DeviceKind::cuda);
  ASSERT_TRUE(report.usable) << report.reason;
  if (!on_real_gpu()) {
    EXPECT_EQ(report.devices.at(0).name, "emulated device");
  }
  EXPECT_EQ(report.devices.at(0).architecture.substr(0, 3), "sm_");
  EXPECT_EQ(choose_device("cuda").device, kEmulated);
  EXPECT_EQ(choose_device("auto").device, Device{});
  EXPECT_EQ(cuda_if_available(), kEmulated);
}

__global__ void __launch_bounds__(64) bound_to_64(int*) {}
constexpr unsigned kThreeWarps = 96;
template <class T> __global__ void __launch_bounds__(kThreeWarps, 2) bound_to_96(T*) {}

TEST_F(CudaFaults, RefusesMoreThreadsThanAKernelIsBoundTo) {
  backend(kEmulated).synchronize();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  int* const nothing = nullptr;
  EXPECT_EQ(gpu::launch(bound_to_64, 1, 64, 0, stream, nothing), cudaSuccess);
  EXPECT_EQ(gpu::launch(bound_to_64, 1, 65, 0, stream, nothing), cudaErrorLaunchOutOfResources);
  EXPECT_EQ(gpu::launch(bound_to_96<int>, 1, 96, 0, stream, nothing), cudaSuccess);
  EXPECT_EQ(gpu::launch(bound_to_96<int>, 1, 128, 0, stream, nothing), cudaErrorLaunchOutOfResources);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  emulation::take_fault();
}

TEST_F(CudaFaults, TellsWhyThereIsNone) {
  emulation::set_driver(false);
  const DeviceReport report = look_for_devices(DeviceKind::cuda);
  EXPECT_FALSE(report.usable);
  EXPECT_NE(report.reason.find("no NVIDIA driver"), std::string::npos) << report.reason;
}

TEST_F(Cuda, HasOneDeviceAProcess) {
  EXPECT_EQ(choose_device("cuda").device, kEmulated);
  const std::string said = error_of<DeviceError>([] { choose_device("cuda:1"); });
  EXPECT_NE(said.find("already computes on cuda:0"), std::string::npos) << said;
  EXPECT_THROW(choose_device("cuda:"), ConfigError);
  EXPECT_THROW(choose_device("cuda:one"), ConfigError);
}

}  // namespace
}  // namespace veldt::test
