// Steps in a hurry. One that has run once asks for no memory: neither of the pool (optimizer_test.cpp) nor of
// operator new, which this program counts. And a Plan may hold it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>

#include "tests/support/error_of.h"
#include "tests/support/sanitizers.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/ema.h"
#include "veldt/optim/muon.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/plan.h"
#include "veldt/tensor/profile.h"

namespace {
std::atomic<std::int64_t> g_allocations{0};
}

#ifndef VELDT_SMALL_BLOCKS_FROM_HEAP
// Not inlined, or the compiler takes malloc() and delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++g_allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace veldt::optim {
namespace {

TEST(Step, AsksForNoMemoryOnceItHasRun) {
  const Tensor a = zeros({300, 100}).set_requires_grad(), b = zeros({7}).set_requires_grad();
  Adam adam(
      std::vector<Group<AdamOptions>>{{{{"a", a}}, {.clip = {.norm = 1e-3, .value = 10}}}, {{{"b", b}}, {}}});
  Ema ema(adam);
  (sum(a) + sum(b)).backward();
  const auto step = [&] {
    adam.step();
    ema.update();
  };
  step();
  const std::int64_t before = g_allocations;
  step();
  EXPECT_EQ(g_allocations, before);
}

// Muon is written with ops, whose memory the pool has ready.
TEST(Step, OfMuonAsksForNoMemoryOnceItHasRun) {
  if (test::kForeignHeap) GTEST_SKIP() << "small blocks come from the heap under the sanitizers";
  const Tensor in = ones({32, 2}).set_requires_grad(), wide = ones({24, 32}).set_requires_grad(),
               tall = ones({70, 24}).set_requires_grad(), out = ones({1, 70}).set_requires_grad();
  Muon muon({in, wide, tall, out}, {.clip = {.norm = 1}});
  (sum(in) + sum(wide) + sum(tall) + sum(out)).backward();
  for (int i = 0; i < 3; ++i) muon.step();
  const std::int64_t before = g_allocations;
  const PoolStats pool_before = pool({}).stats();
  for (int i = 0; i < 100; ++i) muon.step();
  EXPECT_EQ(g_allocations, before);
  EXPECT_EQ(pool({}).stats().system_allocations, pool_before.system_allocations);
  EXPECT_EQ(pool({}).stats().bytes_in_use, pool_before.bytes_in_use);
}

// The whole of a training step, not the optimizer's alone: forward, backward, update.
TEST(SlowStep, NeitherTakesNorKeepsMemoryInTenThousandSteps) {
  if (test::kForeignHeap) GTEST_SKIP() << "small blocks come from the heap under the sanitizers";
  Rng rng(4);
  const Tensor x = randn({16, 3}, rng), y = randn({16, 2}, rng);
  nn::Sequential model{nn::Linear(3, 8, rng), nn::Tanh(), nn::Linear(8, 2, rng)};
  Adam adam(model.parameters(), {.lr = 0.01});
  const auto step = [&] {
    const Tensor loss = mse_loss(model(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  };
  Plan plan(step);
  for (const bool planned : {false, true}) {
    const auto once = [&] { planned ? plan.replay() : static_cast<void>(step()); };
    for (int i = 0; i < 3; ++i) once();
    const std::int64_t before = g_allocations;
    const PoolStats pool_before = pool({}).stats();
    const std::size_t heap_before = mallinfo2().uordblks;
    for (int i = 0; i < 10'000; ++i) once();
    const std::size_t heap_after = mallinfo2().uordblks;
    EXPECT_EQ(g_allocations, before) << (planned ? "plan" : "eager");
    EXPECT_EQ(pool({}).stats().system_allocations, pool_before.system_allocations);
    EXPECT_EQ(pool({}).stats().bytes_in_use, pool_before.bytes_in_use);
    EXPECT_EQ(heap_after, heap_before);
  }
}

// All that varies from step to step is read when a replay runs: the rate, the count, the norm, the average's
// decay.
TEST(Step, ReplaysInAPlanWithTheSameBits) {
  std::vector<std::vector<float>> ends;
  for (const bool planned : {false, true}) {
    const Tensor w = Tensor::of({3}, {0.5, -2, 3}).set_requires_grad(), x = Tensor::of({3}, {1, 2, 3});
    Adam adam({w}, {.lr = 0.1, .clip = {.norm = 2, .value = 3}});
    Ema ema(adam, {.decay = 0.9});
    const auto step = [&] {
      const Tensor loss = sum(square(square(w) - x));
      adam.zero_grad();
      loss.backward();
      adam.step();
      ema.update();
    };
    std::optional<Plan> plan;
    if (planned) plan.emplace(step);
    for (int i = 0; i < 20; ++i) {
      adam.set_lr(0.1 / (i + 1));
      if (planned)
        plan->replay();
      else
        step();
    }
    EXPECT_EQ(adam.steps(), 20);
    EXPECT_EQ(ema.updates(), 20);
    ends.push_back(w.values<float>());
    ends.push_back(ema.state_dict()[1].tensor.values<float>());
  }
  EXPECT_EQ(ends[0], ends[2]);
  EXPECT_EQ(ends[1], ends[3]);
}

TEST(Step, IsSeenByAProfileAndBlamedForItsNan) {
  const Tensor w = Tensor::of({2}, {1e38, 1}).set_requires_grad();
  Adam adam({w}, {.clip = {.norm = 1}});
  sum(w).backward();
  {
    const Profile profile;
    adam.step();
    EXPECT_THAT(profile.table(), testing::AllOf(testing::HasSubstr("adam"), testing::HasSubstr("clip")));
  }
  adam.set_lr(1e300);  // infinite as f32: infinity times 0 momentum
  Tensor(w).set_grad(zeros({2}));
  for (auto& [name, tensor] : adam.state_dict())
    if (name.starts_with("exp_avg.")) Tensor(tensor).assign(zeros({2}));
  const DetectAnomaly watch;
  EXPECT_THAT(test::error_of([&] { adam.step(); }), testing::HasSubstr("adam made the first NaN"));
}

TEST(Clipping, ByACallInAPlanIsAnErrorThatNamesTheOption) {
  const Tensor w = zeros({3}).set_requires_grad();
  Adam adam({w});
  EXPECT_THAT(test::error_of([&] {
                Plan([&] {
                  sum(w).backward();
                  adam.clip_gradients(1);
                });
              }),
              testing::HasSubstr("clip.norm"));
}

}  // namespace
}  // namespace veldt::optim
