// The gradient graph: what flows where, what accumulates, and what is left alone.
#include "veldt/tensor/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/tensor/leaf.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/tensor.h"

namespace veldt {
namespace {

using test::leaf;
using testing::ElementsAre;

std::vector<double> grad_of(const Tensor& t) { return t.grad().values<double>(); }

TEST(Backward, GivesEachLeafItsGradient) {
  const Tensor x = leaf({2}, {1, 2}), y = leaf({2}, {5, 7});
  sum(x * y).backward();
  EXPECT_THAT(grad_of(x), ElementsAre(5, 7));
  EXPECT_THAT(grad_of(y), ElementsAre(1, 2));
}

TEST(Backward, LeavesTensorsWithoutRequiresGradAlone) {
  const Tensor x = leaf({2}, {1, 2}), data = Tensor::of({2}, {5, 7}, DType::f64);
  sum(x * data).backward();
  EXPECT_FALSE(data.grad().defined());
}

TEST(Backward, AddsUpOverCalls) {
  const Tensor x = leaf({2}, {1, 2});
  sum(square(x)).backward();
  sum(3.0 * x).backward();
  EXPECT_THAT(grad_of(x), ElementsAre(5, 7));
}

TEST(Backward, RunsTwiceOverOneGraph) {
  const Tensor x = leaf({2}, {1, 2});
  const Tensor loss = sum(square(x));
  loss.backward();
  loss.backward();
  EXPECT_THAT(grad_of(x), ElementsAre(4, 8));
}

TEST(Backward, CountsATensorThatIsUsedTwice) {
  const Tensor x = leaf({}, {3});
  (x * x).backward();
  EXPECT_THAT(grad_of(x), ElementsAre(6));
  const Tensor y = leaf({}, {3});
  (y + y).backward();
  EXPECT_THAT(grad_of(y), ElementsAre(2));
}

TEST(Backward, MeetsInADiamond) {
  const Tensor x = leaf({}, {2});
  const Tensor a = x * 3.0, b = square(x);
  (a * b + a).backward();  // 3 x^3 + 3 x
  EXPECT_THAT(grad_of(x), ElementsAre(9 * 4 + 3));
}

TEST(Backward, MeetsInManyDiamondsWithoutVisitingAnyTwice) {
  const Tensor x = leaf({}, {1});
  Tensor y = x;
  for (int i = 0; i < 40; ++i) y = (y + y) * 0.5;  // 2^40 paths
  y.backward();
  EXPECT_THAT(grad_of(x), ElementsAre(1));
}

TEST(Backward, OfALeafIsOne) {
  const Tensor x = leaf({1}, {3});
  x.backward();
  EXPECT_THAT(grad_of(x), ElementsAre(1));
}

TEST(Backward, ReachesTheLeafBehindViewsOfIt) {
  const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor turned = transpose(x), row = select(turned, 0, 1),
               part = slice(reshape(turned, {6}), 0, 0, 6, 2);
  (sum(row * 10.0) + sum(part)).backward();
  EXPECT_THAT(grad_of(x), ElementsAre(1, 11, 1, 0, 10, 0));
}

TEST(Backward, DoesNotWriteIntoAGradientThatTwoInputsShare) {
  const Tensor a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4});
  const Tensor s = a + b;
  (sum(s) + sum(a * 5.0)).backward();
  EXPECT_THAT(grad_of(a), ElementsAre(6, 6));
  EXPECT_THAT(grad_of(b), ElementsAre(1, 1));
}

TEST(Backward, KeepsGradientsApartAfterCreateGraph) {
  const Tensor a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4});
  const Tensor loss = sum(a + b);
  loss.backward(true);  // both gradients are one expanded number
  loss.backward();
  EXPECT_THAT(grad_of(a), ElementsAre(2, 2));
  EXPECT_THAT(grad_of(b), ElementsAre(2, 2));
  Tensor(a).zero_grad();
  sum(a * Tensor::of({2}, {3, 7}, DType::f64)).backward();
  EXPECT_THAT(grad_of(a), ElementsAre(3, 7));
  EXPECT_THAT(grad_of(b), ElementsAre(2, 2));
}

TEST(Backward, LeavesAGradientThatSomeoneHoldsFromCreateGraphAsItWas) {
  const Tensor x = leaf({}, {3});
  (x * x).backward(true);
  const Tensor first = x.grad();
  (x * x).backward();
  EXPECT_EQ(first.item(), 6);
  EXPECT_EQ(x.grad().item(), 12);
}

TEST(Backward, WithCreateGraphGivesGradientsThatCanBeDifferentiated) {
  Tensor x = leaf({}, {2});
  (x * x * x).backward(true);
  EXPECT_EQ(x.grad().item(), 12);
  const Tensor second = grad(x.grad(), {x})[0];
  EXPECT_EQ(second.item(), 12);  // 6 x
  x.zero_grad();                 // its graph holds x itself
}

TEST(Backward, WritesIntoTheSlabThatAGradientLivesIn) {
  Tensor x = leaf({2}, {1, 2});
  const Tensor slab = zeros({4}, DType::f64);
  keep_grad_in(x, slab.alias({2}, {1}, 1));
  for (int step = 0; step < 2; ++step) {
    x.zero_grad();
    sum(square(x)).backward();
  }
  EXPECT_THAT(slab.values<double>(), ElementsAre(0, 2, 4, 0));
}

TEST(ZeroGrad, ForgetsAndTheNextBackwardOverwrites) {
  Tensor x = leaf({2}, {1, 2});
  sum(square(x)).backward();
  const double* memory = x.grad().data<double>();
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
  sum(3.0 * x).backward();
  EXPECT_THAT(grad_of(x), ElementsAre(3, 3));
  EXPECT_EQ(x.grad().data<double>(), memory);
  x.zero_grad();
  x.zero_grad();
  sum(x).backward();
  sum(x).backward();
  EXPECT_THAT(grad_of(x), ElementsAre(2, 2));
}

TEST(ZeroGrad, IsNothingBeforeTheFirstBackward) {
  Tensor x = leaf({2}, {1, 2});
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(NoGrad, RecordsNothingWhileItLives) {
  const Tensor x = leaf({2}, {1, 2});
  {
    NoGrad off;
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE((x * 2.0).requires_grad());
    { NoGrad again; }
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE((x * 2.0).requires_grad());
}

TEST(NoGrad, IsForItsOwnThread) {
  const Tensor x = leaf({2}, {1, 2});
  NoGrad off;
  bool recorded = false;
  std::thread other([&] { recorded = grad_enabled() && (x * 2.0).requires_grad(); });
  other.join();
  EXPECT_TRUE(recorded);
  EXPECT_FALSE((x * 2.0).requires_grad());
}

TEST(NoGrad, StillLetsAnEarlierGraphRunBackward) {
  const Tensor x = leaf({}, {3});
  const Tensor y = x * x;
  NoGrad off;
  y.backward();
  EXPECT_EQ(x.grad().item(), 6);
  EXPECT_EQ(grad(y, {x}, true)[0].requires_grad(), true);
  EXPECT_FALSE(grad_enabled());
}

TEST(Threads, EachRunTheirOwnGraphs) {
  std::vector<std::thread> threads;
  std::vector<double> results(4);
  for (std::size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([i, &results] {
      const Tensor x = leaf({}, {static_cast<double>(i)});
      for (int step = 0; step < 200; ++step) {
        Tensor(x).zero_grad();
        (x * x * 0.5).backward();
      }
      results[i] = x.grad().item();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(results, ElementsAre(0, 1, 2, 3));
}

TEST(Detach, CutsTheGraphAndSharesTheMemory) {
  const Tensor x = leaf({2}, {1, 2});
  const Tensor y = square(x), cut = y.detach();
  EXPECT_FALSE(cut.requires_grad());
  EXPECT_EQ(cut.data<double>(), y.data<double>());
  sum(y * cut).backward();
  EXPECT_THAT(grad_of(x), ElementsAre(2 * 1, 4 * 4));  // x^2 as a constant times 2 x
}

TEST(Record, MakesAnOpOfOnesOwn) {
  const auto twice = [](const Tensor& x) {
    Tensor y;
    {
      NoGrad off;
      y = x + x;
    }
    return record("twice", y, {x}, [](const Tensor& g) -> Grads { return {g * 2.0}; });
  };
  const Tensor x = leaf({2}, {1, 2});
  sum(square(twice(x))).backward();
  EXPECT_THAT(grad_of(x), ElementsAre(8, 16));
  EXPECT_FALSE(twice(Tensor::of({1}, {1})).requires_grad());
}

TEST(Record, AcceptsAnOptionalInputThatIsNotGiven) {
  const Tensor x = leaf({1}, {2});
  const Tensor y = record("f", (x * 2.0).detach(), {x, Tensor()}, [](const Tensor& g) -> Grads {
    return {g * 2.0, Tensor()};
  });
  y.backward();
  EXPECT_THAT(grad_of(x), ElementsAre(2));
}

TEST(Grad, LeavesTheLeavesAlone) {
  const Tensor x = leaf({2}, {1, 2}), y = leaf({2}, {5, 7});
  const Grads g = grad(sum(x * y), {y, x});
  EXPECT_THAT(g[0].values<double>(), ElementsAre(1, 2));
  EXPECT_THAT(g[1].values<double>(), ElementsAre(5, 7));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(y.grad().defined());
}

TEST(Grad, ReachesIntermediates) {
  const Tensor x = leaf({2}, {1, 2});
  const Tensor h = square(x), loss = sum(3.0 * h);
  const Grads g = grad(loss, {h, x, loss});
  EXPECT_THAT(g[0].values<double>(), ElementsAre(3, 3));
  EXPECT_THAT(g[1].values<double>(), ElementsAre(6, 12));
  EXPECT_THAT(g[2].values<double>(), ElementsAre(1));
}

TEST(Grad, GivesZerosForAnInputThatTheOutputDoesNotDependOn) {
  const Tensor x = leaf({2}, {1, 2}), other = leaf({3}, {1, 2, 3});
  const Grads g = grad(sum(x), {other, x * 2.0});
  EXPECT_THAT(g[0].values<double>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(g[1].values<double>(), ElementsAre(0, 0));
}

TEST(Grad, OfAnOutputThatIsConstantIsZeros) {
  const Tensor x = leaf({3}, {-1, 0, 2});
  const Tensor slope = grad(sum(relu(x)), {x}, true)[0];  // 0 0 1, a number beside x
  EXPECT_THAT(grad(sum(slope), {x})[0].values<double>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(grad(sum(slope), {x}, true)[0].values<double>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(grad(norm(x, 0), {x})[0].values<double>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(grad(ones({}), {x})[0].values<double>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(grad(max(grad(max(x), {x}, true)[0]), {x})[0].values<double>(), ElementsAre(0, 0, 0));
}

TEST(Grad, WeightsTheOutputByItsSeed) {
  const Tensor x = leaf({2}, {1, 2});
  const Tensor g = grad(square(x), {x}, false, Tensor::of({2}, {10, 100}, DType::f64))[0];
  EXPECT_THAT(g.values<double>(), ElementsAre(20, 400));
}

TEST(Grad, SkipsTheGradientsNobodyAskedFor) {
  const Tensor x = leaf({}, {2}), w = leaf({}, {5});
  int asked_x = 0, asked_w = 0, calls = 0;
  const auto product = [&](const Tensor& a, const Tensor& b) {
    return record("product", (a * b).detach(), {a, b}, [&, a, b](const Tensor& g) -> Grads {
      ++calls;
      asked_x += needs_grad(a) ? 1 : 0;
      asked_w += needs_grad(b) ? 1 : 0;
      return {needs_grad(a) ? g * b : Tensor(), needs_grad(b) ? g * a : Tensor()};
    });
  };
  EXPECT_EQ(grad(product(x, w), {w})[0].item(), 2);
  EXPECT_EQ(asked_x, 0);
  EXPECT_EQ(asked_w, 1);
  const Tensor side = product(leaf({}, {1}), leaf({}, {1}));
  calls = 0;
  EXPECT_EQ(grad(x * 2.0 + side, {x})[0].item(), 2);
  EXPECT_EQ(calls, 0);
}

TEST(Grad, GoesToAnyOrder) {
  const Tensor x = leaf({}, {2});
  Tensor y = pow(x, 5);
  double expected = 5 * 16;
  for (int order = 1; order <= 5; ++order) {
    y = grad(y, {x}, true)[0];
    EXPECT_DOUBLE_EQ(y.item(), expected) << "order " << order;
    expected *= (5 - order) / 2.0;
  }
}

TEST(Grad, OfAGradientTrainsThroughIt) {
  // d/dw of |d(w x^2)/dx|^2 = (2 w x)^2: 8 w x^2
  const Tensor x = leaf({}, {3}), w = leaf({}, {0.5});
  const Tensor slope = grad(w * square(x), {x}, true)[0];
  square(slope).backward();
  EXPECT_DOUBLE_EQ(w.grad().item(), 8 * 0.5 * 9);
}

// A Laplacian by two sweeps, as fields train on it.
TEST(Grad, GivesTheLaplacianOfASineLayer) {
  const Tensor x = leaf({3, 2}, {0.1, 0.2, -0.3, 0.4, 0.5, -0.6});
  const Tensor w = Tensor::of({1, 2}, {1.5, -0.5}, DType::f64);
  const Tensor y = sine(linear(x, w), 3.0);
  const Tensor first = grad(sum(y), {x}, true)[0];
  Tensor laplacian;
  for (int d = 0; d < 2; ++d) {
    const Tensor second = select(grad(sum(select(first, 1, d)), {x}, true)[0], 1, d);
    laplacian = laplacian.defined() ? laplacian + second : second;
  }
  const Tensor expected = reshape(y, {3}) * (-9.0 * (1.5 * 1.5 + 0.5 * 0.5));
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(select(laplacian, 0, i).item(), select(expected, 0, i).item(), 1e-12);
}

// What it is told, and that what it gives back is walked; only while it exists, and not for what nobody
// records.
TEST(RecordListeners, GiveOpsOtherGradients) {
  struct Tripled : RecordListener {
    BackwardFn on_record(const char* name, const Tensor& out, const TensorList& inputs,
                         BackwardFn backward) override {
      heard += std::string(name) + (out.defined() && inputs[0].numel() == 2 ? " " : "? ");
      return [backward](const Tensor& g) -> Grads {
        Grads grads = backward(g);
        grads[0] = grads[0] * 3.0;
        return grads;
      };
    }
    std::string heard;
  };
  const Tensor x = leaf({2}, {1, 2});
  Tensor y;
  {
    Tripled tripled;
    y = square(x);
    square(Tensor::of({2}, {1, 2}));
    EXPECT_EQ(tripled.heard, "square ");
  }
  EXPECT_EQ(grad(y, {x}, false, ones({2}, DType::f64))[0].values<double>(), (std::vector<double>{6, 12}));
  EXPECT_EQ(grad(sum(square(x)), {x})[0].values<double>(), (std::vector<double>{2, 4}));
}

}  // namespace
}  // namespace veldt
