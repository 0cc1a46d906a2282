// Recorded steps: they give the bits of the step itself, follow data, rate and random numbers, and stay
// within the memory that was planned.
#include "veldt/tensor/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/core/pool.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/profile.h"

namespace veldt {
namespace {

using testing::HasSubstr;

// A network of two layers that trains itself by plain descent, with tensors for all that varies.
struct Net {
  Tensor x, y, w1, b1, w2, rate = Tensor::of({}, {0.05});
  Rng noise{3};

  explicit Net(std::int64_t batch = 7) {
    Rng rng(11);
    x = randn({batch, 3}, rng);
    y = randn({batch, 2}, rng);
    w1 = randn({5, 3}, rng).set_requires_grad();
    b1 = randn({5}, rng).set_requires_grad();
    w2 = randn({2, 5}, rng).set_requires_grad();
  }

  Tensor step() {
    for (Tensor* w : {&w1, &b1, &w2}) w->zero_grad();
    const Tensor hidden = tanh(linear(x, w1, b1)) + 0.1 * randn({5}, noise);
    const Tensor loss = mean(square(linear(hidden, w2) - y)) + 0.01 * sum(square(w1));
    loss.backward();
    NoGrad off;
    for (Tensor* w : {&w1, &b1, &w2}) w->assign(*w - rate * w->grad());
    return loss;
  }
};

TEST(Plan, GivesTheBitsOfTheStepItself) {
  Net eager, planned;
  Plan plan([&] { return planned.step(); });
  for (int i = 0; i < 50; ++i) {
    const Tensor loss = eager.step();
    plan.replay();
    ASSERT_EQ(plan.output().item(), loss.item()) << "step " << i;
  }
  EXPECT_EQ(planned.w1.values<float>(), eager.w1.values<float>());
  EXPECT_EQ(planned.b1.values<float>(), eager.b1.values<float>());
  EXPECT_EQ(planned.w2.values<float>(), eager.w2.values<float>());
  EXPECT_EQ(planned.w2.grad().values<float>(), eager.w2.grad().values<float>());
  EXPECT_EQ(planned.noise.position(), eager.noise.position());
}

TEST(Plan, RecordsWithoutComputingAnything) {
  Net net;
  const std::vector<float> before = net.w1.values<float>();
  int calls = 0;
  Plan plan([&] { return ++calls, net.step(); });
  EXPECT_EQ(calls, 2) << "the leaves had no gradient before";
  EXPECT_EQ(net.w1.values<float>(), before);
  EXPECT_EQ(net.noise.position(), 0u);
  Plan second([&] { return ++calls, net.step(); });
  EXPECT_EQ(calls, 3);
}

TEST(Plan, FollowsDataAndRateBetweenReplays) {
  Net eager, planned;
  Plan plan([&] { return planned.step(); });
  Rng rng(5);
  for (int i = 0; i < 20; ++i) {
    const Tensor batch = randn({7, 3}, rng), rate = Tensor::of({}, {0.1 / (i + 1)});
    for (Net* net : {&eager, &planned}) {
      net->x.assign(batch);
      net->rate.assign(rate);
    }
    const Tensor loss = eager.step();
    plan.replay();
    ASSERT_EQ(plan.output().item(), loss.item()) << "step " << i;
  }
}

TEST(Plan, AccumulatesGradientsThatTheStepDoesNotForget) {
  Tensor w = Tensor::of({2}, {1, 2}).set_requires_grad();
  const Tensor x = Tensor::of({2}, {3, 4});
  Plan plan([&] { sum(w * x).backward(); });
  for (int i = 1; i <= 3; ++i) {
    plan.replay();
    EXPECT_EQ(w.grad().values<float>(), (std::vector<float>{3.0f * i, 4.0f * i}));
  }
}

TEST(Plan, GradientsForgottenBetweenReplaysComeBack) {
  Tensor w = Tensor::of({2}, {1, 2}).set_requires_grad();
  Plan plan([&] {
    w.zero_grad();
    sum(square(w)).backward();
  });
  plan.replay();
  w.zero_grad();
  plan.replay();
  EXPECT_EQ(w.grad().values<float>(), (std::vector<float>{2, 4}));
}

TEST(Plan, AddsToGradientsUnlessTheyWereForgottenOutside) {
  Tensor w = Tensor::of({1}, {1}).set_requires_grad();
  sum(square(w)).backward();
  w.zero_grad();  // stale while it is recorded
  Plan plan([&] { sum(square(w)).backward(); });
  EXPECT_FALSE(w.grad().defined()) << "recording computes nothing";
  for (int i = 0; i < 3; ++i) {
    w.zero_grad();
    plan.replay();
    EXPECT_EQ(w.grad().item(), 2);
  }
  plan.replay();
  EXPECT_EQ(w.grad().item(), 4);
}

TEST(Plan, LeavesAForgottenGradientForgotten) {
  Tensor w = Tensor::of({1}, {1}).set_requires_grad();
  const auto step = [&] { sum(square(w)).backward(); };
  step();
  w.zero_grad();
  step_facts(step);
  step();
  EXPECT_EQ(w.grad().item(), 2);
}

TEST(Plan, MayMakeLeavesWithinItsStep) {
  const Tensor x = Tensor::of({2}, {1, 3});
  Plan plan([&] {
    Tensor leaf = x.detach().set_requires_grad();
    sum(square(leaf)).backward();
    return leaf.grad();
  });
  for (int i = 0; i < 2; ++i) {
    plan.replay();
    EXPECT_EQ(plan.output().values<float>(), (std::vector<float>{2, 6}));
  }
}

TEST(Plan, SaysWhenALeafWasMovedAfterwards) {
  Tensor w = Tensor::of({1}, {1}).set_requires_grad();
  Plan plan([&] { sum(square(w)).backward(); });
  plan.replay();
  w.set_grad(Tensor());
  EXPECT_THROW(plan.replay(), Error) << "its gradient is gone";
  const Tensor slab = zeros({16});
  Plan second([&] { sum(square(w)).backward(); });
  move_into_slab(w, slab, 0);
  EXPECT_THROW(second.replay(), Error) << "its values lie elsewhere";
}

TEST(Plan, MayBeRecordedWhileAProfileWatches) {
  const Profile profile;
  const Tensor x = Tensor::of({2}, {1, 3});
  Plan plan([&] { return x * 2; });
  plan.replay();
  EXPECT_EQ(plan.output().values<float>(), (std::vector<float>{2, 6}));
  EXPECT_EQ(profile.lines().at(0).calls, 1);
}

TEST(Plan, HandsOutSeveralOutputsWithoutTheirGraph) {
  Tensor w = Tensor::of({2}, {1, 2}).set_requires_grad();
  Plan plan([&] { return TensorList{w * 2, w + 1}; });
  plan.replay();
  EXPECT_FALSE(plan.output(0).requires_grad());
  EXPECT_EQ(plan.output(0).values<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(plan.output(1).values<float>(), (std::vector<float>{2, 3}));
  EXPECT_THROW(plan.output(2), Error);
}

TEST(Plan, MovesWithItsMemory) {
  const Tensor x = Tensor::of({2}, {1, 2});
  Plan first([&] { return x * 3; });
  Plan plan = std::move(first);
  plan.replay();
  EXPECT_EQ(plan.output().values<float>(), (std::vector<float>{3, 6}));
}

TEST(Plan, NamesWhatItCannotRecord) {
  const Tensor x = Tensor::of({2}, {1, 2});
  const auto refused = [](auto step) {
    const Error error = test::thrown_by([&] { const Plan plan(step); });
    EXPECT_FALSE(recording());
    return error.summary();
  };
  EXPECT_EQ(refused([&] { sum(x).item(); }), "a plan cannot record item()");
  EXPECT_EQ(refused([&] { x.values<float>(); }), "a plan cannot record values()");
  EXPECT_EQ(refused([&] { x.data<float>(); }), "a plan cannot record data()");
  EXPECT_EQ(refused([&] { return x + Tensor::of({2}, {1, 1}); }), "a plan cannot record Tensor::from()");
  EXPECT_THAT(refused([&] { Plan inner([] {}); }), HasSubstr("within another"));
  Plan whole([&] { return x * 2; });
  EXPECT_THAT(refused([&] { whole.replay(); }), HasSubstr("while another is recorded"));
}

TEST(Plan, AStepThatThrowsLeavesTensorsUsable) {
  Tensor w = Tensor::of({2}, {1, 2}).set_requires_grad();
  Tensor kept;
  EXPECT_THROW(Plan([&] {
                 kept = w * 2;
                 sum(kept).backward();
                 kept.item();
               }),
               Error);
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(kept.values<float>(), (std::vector<float>{0, 0})) << "never computed, but memory of its own";
  sum(w * 2).backward();
  EXPECT_EQ(w.grad().values<float>(), (std::vector<float>{2, 2}));
}

TEST(Plan, ChecksAnIndexAtEachReplay) {
  const Tensor x = Tensor::of({3}, {10, 20, 30});
  Tensor index = Tensor::of({2}, {0, 2}, DType::i64);
  Plan plan([&] { return index_select(x, 0, index); });
  plan.replay();
  EXPECT_EQ(plan.output().values<float>(), (std::vector<float>{10, 30}));
  index.assign(Tensor::of({2}, {1, 3}, DType::i64));
  EXPECT_THROW(plan.replay(), ShapeError);
  index.assign(Tensor::of({2}, {1, 1}, DType::i64));
  plan.replay();
  EXPECT_EQ(plan.output().values<float>(), (std::vector<float>{20, 20}));
}

TEST(Plan, ChangingAValueThatAGraphStillNeedsIsAnError) {
  Net net;
  Plan plan([&] { return net.step(); });
  const Tensor loss = sum(square(net.w1));
  const Tensor data = sum(square(net.x.detach().set_requires_grad()));
  plan.replay();
  EXPECT_THROW(loss.backward(), Error) << "the replay has changed w1";
  EXPECT_NO_THROW(data.backward()) << "it has only read x";
}

TEST(Plan, TakesNothingFromThePoolWhenItReplays) {
  Net net(200);
  Plan plan([&] { return net.step(); });
  plan.replay();
  pool({}).reset_peak();
  const PoolStats before = pool({}).stats();
  for (int i = 0; i < 100; ++i) plan.replay();
  const PoolStats after = pool({}).stats();
  EXPECT_EQ(after.peak_bytes, before.bytes_in_use);
  EXPECT_EQ(after.system_allocations, before.system_allocations);
}

TEST(Plan, GivesItsMemoryBack) {
  Net net;
  const std::size_t before = pool({}).stats().bytes_in_use;
  {
    Plan plan([&] { return net.step(); });
    plan.replay();
    EXPECT_GT(pool({}).stats().bytes_in_use, before);
  }
  for (Tensor* w : {&net.w1, &net.b1, &net.w2}) w->set_grad(Tensor());
  EXPECT_EQ(pool({}).stats().bytes_in_use, before);
}

TEST(Forecast, SaysWhatAStepWillHoldAtMost) {
  Net net(1000);
  net.step();  // the leaves have their gradients
  const StepFacts facts = step_facts([&] { return net.step(); });
  pool({}).reset_peak();
  const PoolStats before = pool({}).stats();
  net.step();
  const PoolStats after = pool({}).stats();
  EXPECT_EQ(facts.eager_bytes, after.peak_bytes - before.bytes_in_use);
  EXPECT_LE(facts.planned_bytes, facts.eager_bytes);
  EXPECT_GT(facts.planned_bytes, std::size_t{1000} * 5 * 4) << "the hidden layer is needed by backward";
  EXPECT_EQ(static_cast<std::size_t>(facts.calls), facts.names.size());
  // 2 m n k for each of the forward products, and twice that backward but for x, which needs no gradient.
  EXPECT_GT(facts.flops, 2.0 * 1000 * (3 * 5 * 2 + 5 * 2 * 3));
}

TEST(Forecast, LeavesGradientsAsTheyWere) {
  Net net;
  step_facts([&] { return net.step(); });
  EXPECT_FALSE(net.w1.grad().defined());
}

}  // namespace
}  // namespace veldt
