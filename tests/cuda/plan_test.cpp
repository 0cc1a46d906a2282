// A recorded step on the emulated device: the same numbers as the step itself, and nothing but launches of
// graphs once it is warm.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "tests/support/cublas_emulation.h"
#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/gpu_emulation.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/sort.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/device_library.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::test {
namespace {

// One step of gradient descent on XOR, 2-4-1 with tanh, written with ops alone.
struct Xor {
  explicit Xor(Device device) {
    x = to(Tensor::of({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), device);
    y = to(Tensor::of({4, 1}, {0, 1, 1, 0}), device);
    w1 = to(Tensor::of({2, 4}, {0.6, -0.8, 0.9, 0.2, -0.7, 0.5, 0.8, -0.4}), device);
    w2 = to(Tensor::of({4, 1}, {0.9, -0.6, 0.4, 0.7}), device);
    w1.set_requires_grad();
    w2.set_requires_grad();
  }
  Tensor step() {
    const Tensor error = matmul(tanh(matmul(x, w1)), w2) - y;
    const Tensor loss = mean(error * error);
    const Grads g = grad(loss, {w1, w2});
    NoGrad off;
    w1.assign(w1 - g[0] * 0.1);
    w2.assign(w2 - g[1] * 0.1);
    return loss.detach();
  }
  Tensor x, y, w1, w2;
};

TEST(CudaPlan, GivesTheBitsOfTheStepItself) {
  use_emulated_device();
  Xor eager(kEmulated), planned(kEmulated);
  Plan plan([&] { return planned.step(); });
  for (int i = 0; i < 20; ++i) {
    plan.replay();
    EXPECT_EQ(eager.step().item(), plan.output().item()) << "step " << i;
  }
  note_result(to(planned.w1.detach(), Device{}));
  EXPECT_EQ(eager.w1.values<float>(), planned.w1.values<float>());
}

TEST(CudaPlan, LearnsAsTheCpuDoes) {
  use_emulated_device();
  Xor here(Device{}), there(kEmulated);
  Plan plan([&] { return there.step(); });
  double loss = 0;
  for (int i = 0; i < 50; ++i) {
    loss = here.step().item();
    plan.replay();
  }
  EXPECT_NEAR(plan.output().item(), loss, 1e-5 * loss);
}

TEST(CudaPlan, OnlyLaunchesGraphsWhenItIsWarm) {
  use_emulated_device();
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated device, which counts";
  Xor net(kEmulated);
  Plan plan([&] { return net.step(); });
  for (int i = 0; i < 3; ++i) plan.replay();  // as it stands, captured, launched
  gpu::emulation::reset_counts();
  gpu::emulation::take_ranges();
  for (int i = 0; i < 100; ++i) plan.replay();
  EXPECT_EQ(gpu::emulation::take_ranges(), std::set<std::string>{"steps"});
  const gpu::emulation::Counts counts = gpu::emulation::counts();
  EXPECT_EQ(counts.graph_launches, 100);
  EXPECT_EQ(counts.launches, 0);
  EXPECT_EQ(counts.copies_to_device + counts.copies_to_host, 0);
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_TRUE(std::isfinite(plan.output().item()));
  EXPECT_EQ(gpu::emulation::take_fault(), "");
}

// cublasLt is called while a step is captured, and its algorithm was chosen before.
TEST(CudaPlan, KeepsProductsOfTheLibrary) {
  use_emulated_device();
  if (!backend(kEmulated).multiplies(DType::bf16, 64, 64)) GTEST_SKIP() << "there is no cublasLt";
  const auto product = [](const Tensor& x) { return to(matmul(transpose(x), tanh(x)), DType::f32); };
  Rng rng(4);
  const Tensor here = to(randn({24, 16}, rng), DType::bf16), there = to(here, kEmulated);
  Plan plan([&] { return product(there); });
  plan.replay();  // as it stands
  gpu::emulation::take_cublas_counts();
  for (int i = 0; i < 2; ++i) plan.replay();  // captured, launched
  if (!on_real_gpu()) {
    EXPECT_EQ(gpu::emulation::take_cublas_counts().choices, 0);
    gpu::emulation::reset_counts();
    plan.replay();
    EXPECT_EQ(gpu::emulation::counts().graph_launches, 1);
    EXPECT_EQ(gpu::emulation::counts().launches, 0);
    EXPECT_EQ(gpu::emulation::take_cublas_counts().products, 0);
  }
  // Their sums and tanh differ by an ulp or two of bf16.
  EXPECT_LT(max(abs(to(plan.output(), Device{}) - product(here))).item(), 0.15);
  EXPECT_GT(max(abs(product(here))).item(), 4);
}

// Numbers that change from step to step (the rate, Adam's corrections, the place in a stream of draws) are
// written ahead; results wait on the device.
TEST(CudaPlan, TakesManyStepsAtATimeWithoutTheHost) {
  use_emulated_device();
  const auto train = [](bool ahead) {
    Xor net(kEmulated);
    optim::Adam adam({net.w1, net.w2}, {.lr = 0.1});
    Rng noise(3, 0);
    int step = 0;
    Plan plan([&] {
      const Tensor error =
          matmul(tanh(matmul(net.x + randn({4, 2}, noise, 0, 0.01, DType::f32, kEmulated), net.w1)), net.w2) -
          net.y;
      const Tensor loss = mean(error * error);
      adam.zero_grad();
      loss.backward();
      host_work(
          "rate", {}, [&](auto) { adam.set_lr(0.1 / ++step); }, CallKind::numbers);
      adam.step();
      return loss;
    });
    EXPECT_TRUE(plan.facts().waits.empty());
    std::vector<float> losses;
    if (ahead) {
      const Tensor first = empty({70}, DType::f32, kEmulated), rest = empty({130}, DType::f32, kEmulated);
      plan.replay(70, first);
      gpu::emulation::reset_counts();
      plan.replay(130, rest);
      if (!on_real_gpu()) {
        const gpu::emulation::Counts counts = gpu::emulation::counts();
        EXPECT_EQ(counts.graph_launches, 8 + 2);  // 16 at a time
        EXPECT_EQ(counts.copies_to_device + counts.copies_to_host, 0);
        EXPECT_EQ(counts.allocations, 0);
        EXPECT_LE(counts.launches, 3 * 6);  // a table and the results, for every 64 steps
      }
      losses = first.values<float>();
      for (const float loss : rest.values<float>()) losses.push_back(loss);
    } else {
      for (int i = 0; i < 200; ++i) {
        plan.replay();
        losses.push_back(static_cast<float>(plan.output().item()));
      }
    }
    EXPECT_EQ(adam.steps(), 200);
    EXPECT_EQ(gpu::emulation::take_fault(), "");
    return std::pair(losses, net.w1.values<float>());
  };
  const auto ahead = train(true), alone = train(false);
  EXPECT_EQ(ahead.first, alone.first);
  EXPECT_EQ(ahead.second, alone.second);
  EXPECT_LT(ahead.first.back(), ahead.first.front() / 2);
}

// Graphs take memory when they are made and when they are first launched, and what kernels use within them
// has to be there too.
TEST(CudaPlan, HasTensorsMakeRoomForItsGraphs) {
  use_emulated_device();
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated device, whose memory can be limited";
  const Tensor x = to(arange(0, 3000, 1), kEmulated);
  const auto step = [&] { return sum(to(argsort(x, 0), DType::f32) * x); };
  const double expected = step().item();
  for (int extra = 0; extra < 64; extra += 7) {
    pool(kEmulated).trim();
    Plan plan(step);
    plan.replay();                                                     // as it stands
    { const Tensor freed = empty({1 << 20}, DType::f32, kEmulated); }  // 4 MB that the pool keeps
    const std::size_t all = look_for_devices(DeviceKind::cuda).devices.at(0).memory_bytes;
    gpu::emulation::set_memory(all - backend(kEmulated).free_bytes() + static_cast<std::size_t>(extra) * 512);
    gpu::emulation::reset_counts();
    EXPECT_NO_THROW(plan.replay(1)) << extra;
    // One block for the numbers and for the kernels. A kernel's own, as a part of the graph, would be mapped
    // at a launch, and by no means that can be tried again.
    EXPECT_LE(gpu::emulation::counts().allocations, 3) << extra;
    { const Tensor freed = empty({1 << 18}, DType::f32, kEmulated); }
    EXPECT_NO_THROW(plan.replay(40)) << extra;
    gpu::emulation::set_memory(0);
    EXPECT_EQ(plan.output().item(), expected) << extra;
  }
}

// What lies before and behind the results of a step, which a counter places.
TEST(CudaPlan, CountsFromTheStart) {
  use_emulated_device();
  const Tensor x = to(Tensor::of({3}, {1, 2, 3}), kEmulated);
  Plan plan([&] { return sum(x * x); });
  std::vector<Tensor> around;
  for (int i = 0; i < 8; ++i) around.push_back(full({64}, 7, DType::f32, kEmulated));
  around.erase(around.begin() + 3);  // room for the table
  for (int i = 0; i < 200; ++i) plan.replay();
  const Tensor two = empty({2}, DType::f32, kEmulated);
  plan.replay(2, two);
  EXPECT_EQ(two.values<float>(), (std::vector<float>{14, 14}));
  for (const Tensor& t : around) EXPECT_EQ(t.values<float>(), std::vector<float>(64, 7));
}

// What the host has to do stays between the graphs: here the check of an index.
TEST(CudaPlan, KeepsWhatTheHostDoesInItsPlace) {
  use_emulated_device();
  const Tensor x = to(Tensor::of({3}, {5, 6, 7}), kEmulated);
  Tensor index = to(Tensor::of({2}, {0, 2}, DType::i64), kEmulated);
  Plan plan([&] { return gather(x * 2, 0, index) + 1; });
  for (int i = 0; i < 3; ++i) plan.replay();
  EXPECT_EQ(plan.output().values<float>(), (std::vector<float>{11, 15}));
  index.assign(Tensor::of({2}, {1, 1}, DType::i64));
  plan.replay();
  EXPECT_EQ(plan.output().values<float>(), (std::vector<float>{13, 13}));
  index.assign(Tensor::of({2}, {1, 3}, DType::i64));
  EXPECT_THROW(plan.replay(), ShapeError);
}

TEST(CudaPlan, RefusesAStepOnTwoDevices) {
  use_emulated_device();
  const Tensor here = Tensor::of({2}, {1, 2}), there = to(here, kEmulated);
  EXPECT_THROW(Plan([&] { return TensorList{here * 2, there * 2}; }), Error);
}

}  // namespace
}  // namespace veldt::test
