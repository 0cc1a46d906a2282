// Graphs as long as they get, and memory that comes back: no overflow, no leak, no system call in a steady
// step.
#include <gtest/gtest.h>

#include <cmath>

#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

TEST(Graph, OfTwoHundredThousandNodesNeitherOverflowsInBackwardNorWhenFreed) {
  const Tensor x = Tensor::of({}, {1}).set_requires_grad();
  Tensor y = x;
  for (int i = 0; i < 200'000; ++i) y = -y;
  y.backward();
  EXPECT_EQ(x.grad().item(), 1);
  y = Tensor();
  EXPECT_EQ((x * 2.0).item(), 2);
}

TEST(Graph, IsFreedWithoutRecursionThroughWhatBackwardFunctionsHold) {
  const PoolStats before = pool({}).stats();
  {
    Tensor y = Tensor::of({}, {1}).set_requires_grad();
    for (int i = 0; i < 100'000; ++i) {
      // The chain runs through the function alone; the recorded input is a fresh leaf.
      const Tensor fresh = Tensor::of({}, {1}).set_requires_grad();
      y = record(
          "hold", Tensor::of({}, {1}), {fresh}, [y](const Tensor& g) -> Grads { return {g}; }, false);
    }
  }
  EXPECT_EQ(pool({}).stats().blocks_in_use, before.blocks_in_use);
}

TEST(Graph, IsFreedAfterCreateGraphOnceTheGradientIsForgotten) {
  const PoolStats before = pool({}).stats();
  {
    Tensor x = Tensor::of({}, {3}).set_requires_grad();
    (x * x).backward(true);  // x's gradient holds a graph that holds x
    x.zero_grad();
  }
  EXPECT_EQ(pool({}).stats().blocks_in_use, before.blocks_in_use);
}

TEST(Ledger, NamesTheOpThatMadeTheMemoryNotItsViews) {
  const Tensor a = ones({100, 1000}), b = tanh(a);
  const Tensor view = transpose(b);
  bool found = false;
  for (const Holding& line : pool({}).ledger()) {
    EXPECT_NE(line.label, "transpose");
    found = found || (line.label == "tanh" && line.bytes >= 400'000);
  }
  EXPECT_TRUE(found);
}

struct PenalisedNet {
  Tensor w1, b1, w2, b2;
  explicit PenalisedNet(Rng& rng)
      : w1(randn({32, 2}, rng).set_requires_grad()),
        b1(zeros({32}).set_requires_grad()),
        w2(randn({1, 32}, rng).set_requires_grad()),
        b2(zeros({1}).set_requires_grad()) {}

  double step(const Tensor& x, const Tensor& y, bool penalty) {
    Tensor in = x.detach();
    if (penalty) in.set_requires_grad();
    const Tensor out = linear(sine(linear(in, w1, b1), 3.0), w2, b2);
    Tensor loss = mean(square(out - y));
    if (penalty) loss = loss + 0.01 * mean(square(grad(sum(out), {in}, true)[0]));
    for (Tensor* p : {&w1, &b1, &w2, &b2}) p->zero_grad();
    loss.backward();
    NoGrad off;
    for (Tensor* p : {&w1, &b1, &w2, &b2}) p->assign(p->detach() - 0.001 * p->grad());
    return loss.item();
  }
};

class Steps : public testing::TestWithParam<bool> {};

TEST_P(Steps, LeaveMemoryAsItWasAfterTheSecond) {
  Rng rng(1);
  PenalisedNet net(rng);
  const Tensor x = rand({64, 2}, rng, -1, 1), y = rand({64, 1}, rng);
  double first = 0, loss = 0;
  for (int i = 0; i < 2; ++i) first = net.step(x, y, GetParam());
  const PoolStats settled = pool({}).stats();
  for (int i = 0; i < 1000; ++i) loss = net.step(x, y, GetParam());
  const PoolStats after = pool({}).stats();
  EXPECT_EQ(after.bytes_in_use, settled.bytes_in_use);
  EXPECT_EQ(after.blocks_in_use, settled.blocks_in_use);
  EXPECT_EQ(after.system_allocations, settled.system_allocations)
      << "a steady step asked the system for memory";
  EXPECT_EQ(after.peak_bytes, settled.peak_bytes);
  EXPECT_LT(loss, first);
  EXPECT_TRUE(std::isfinite(loss));
}

INSTANTIATE_TEST_SUITE_P(Training, Steps, testing::Bool(),
                         [](const auto& p) { return p.param ? "WithAPenaltyOnTheGradient" : "Plain"; });

}  // namespace
}  // namespace veldt
