// checkpoint(): the gradient, the numbers drawn and the statistics are those of a pass that keeps everything,
// and the memory is not.
#include "veldt/tensor/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/core/pool.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Sequential block_of(std::int64_t wide, Rng& rng) {
  return Sequential{Linear(16, wide, rng), Dropout(0.3, rng), GELU(), Linear(wide, 16, rng),
                    Dropout(0.2, rng)};
}

struct Blocks {
  explicit Blocks(std::int64_t wide = 64, int count = 6) {
    Rng rng(5);
    for (int i = 0; i < count; ++i) all.add(block_of(wide, rng));
  }
  Tensor loss(const Tensor& x, bool recomputed) const {
    Tensor y = x;
    for (std::size_t i = 0; i < all.size(); ++i)
      y = recomputed ? checkpoint([this, i](const TensorList& in) { return in[0] + all[i](in[0]); }, {y})
                     : y + all[i](y);
    return mean(square(y));
  }
  std::vector<std::vector<float>> gradients() const {
    std::vector<std::vector<float>> out;
    for (const Tensor& p : all.parameters()) out.push_back(p.grad().values<float>());
    return out;
  }
  std::vector<std::vector<std::int64_t>> streams() const {
    std::vector<std::vector<std::int64_t>> out;
    for (const auto& [name, t] : all.named_buffers()) out.push_back(t.values<std::int64_t>());
    return out;
  }
  Sequential all;
};

TEST(Checkpoint, GivesTheSameBitsAndDrawsTheSameNumbers) {
  Rng rng(1);
  Tensor x = randn({32, 16}, rng).set_requires_grad(), same = to(x.detach(), DType::f32).set_requires_grad();
  const Blocks kept, again;
  for (int step = 0; step < 3; ++step) {
    const Tensor a = kept.loss(x, false), b = again.loss(same, true);
    EXPECT_EQ(a.item(), b.item());
    x.zero_grad();
    same.zero_grad();
    a.backward();
    b.backward();
    EXPECT_EQ(kept.gradients(), again.gradients());
    EXPECT_EQ(x.grad().values<float>(), same.grad().values<float>());
    EXPECT_EQ(kept.streams(), again.streams());
  }
}

TEST(Checkpoint, TakesLessMemory) {
  Rng rng(1);
  const Tensor x = randn({256, 16}, rng);
  const auto peak = [&](bool recomputed) {
    const Blocks blocks(512, 8);
    pool(Device{}).reset_peak();
    const std::size_t before = pool(Device{}).stats().bytes_in_use;
    blocks.loss(x, recomputed).backward();
    return pool(Device{}).stats().peak_bytes - before;
  };
  const std::size_t kept = peak(false), again = peak(true);
  EXPECT_LT(again, kept / 3) << again << " of " << kept;
}

// No input wants a gradient: the parameters do.
TEST(Checkpoint, ReachesWhatTheFunctionUsesBesides) {
  Rng rng(2);
  const Linear layer(3, 2, rng), same = clone(layer);
  const Tensor x = randn({4, 3}, rng);
  Tensor scale = full({}, 2).set_requires_grad(), same_scale = full({}, 2).set_requires_grad();
  const Tensor shared = square(scale), same_shared = square(same_scale);  // neither leaf nor input
  sum(checkpoint([&](const TensorList& in) { return tanh(layer(in[0]) * shared); }, {x})).backward();
  sum(tanh(same(x) * same_shared)).backward();
  EXPECT_EQ(layer.weight().grad().values<float>(), same.weight().grad().values<float>());
  EXPECT_EQ(layer.bias().grad().values<float>(), same.bias().grad().values<float>());
  EXPECT_EQ(scale.grad().item(), same_scale.grad().item());
}

TEST(Checkpoint, LeavesAloneWhatTheFunctionShutsOff) {
  Tensor x = ones({2}).set_requires_grad(), frozen = ones({2}).set_requires_grad();
  const auto f = [&](const TensorList& in) {
    Tensor constant;
    {
      const NoGrad off;
      constant = frozen * 3;
    }
    return in[0] * constant;
  };
  sum(checkpoint(f, {x})).backward();
  EXPECT_EQ(x.grad().values<float>(), (std::vector<float>{3, 3}));
  EXPECT_FALSE(frozen.grad().defined());
}

TEST(Checkpoint, CanBeDifferentiatedTwice) {
  Rng rng(3);
  Tensor x = randn({5}, rng).set_requires_grad(), w = randn({5}, rng).set_requires_grad();
  const Tensor between = square(x) + w;  // captured besides what it is made from
  const auto f = [&](const TensorList& in) { return sum(tanh(in[0] * w) * in[0] * x * between); };
  const auto second = [&](const Tensor& y) {
    const Grads first = grad(y, {x, w}, true);
    return grad(sum(first[0] * first[1]) + sum(square(first[1])), {x, w});
  };
  const Grads kept = second(f({square(x)})), again = second(checkpoint(f, {square(x)}));
  const Grads kept_self = second(f({x})), self = second(checkpoint(f, {x}));
  const Grads kept_first = grad(f({square(x)}), {x, w}), first = grad(checkpoint(f, {square(x)}), {x, w});
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_NEAR(first[i].values<float>()[k], kept_first[i].values<float>()[k], 1e-4);
      EXPECT_NEAR(again[i].values<float>()[k], kept[i].values<float>()[k], 1e-4);
      EXPECT_NEAR(self[i].values<float>()[k], kept_self[i].values<float>()[k], 1e-4);
    }
  }
}

TEST(Checkpoint, WithinAnotherGivesTheSameBits) {
  Rng rng(1);
  const Tensor x = randn({8, 16}, rng);
  const Blocks kept, again;
  const Tensor a = kept.loss(x, false);
  const Tensor b = checkpoint([&](const TensorList& in) { return again.loss(in[0], true); }, {x});
  EXPECT_EQ(a.item(), b.item());
  a.backward();
  b.backward();
  EXPECT_EQ(kept.gradients(), again.gradients());
  EXPECT_EQ(kept.streams(), again.streams());
}

TEST(Checkpoint, IsRecordedAndDrawsOnAtEachReplay) {
  Rng rng(1), first(9), second(9);
  const Tensor x = randn({8, 16}, rng);
  const Blocks kept, again;
  const auto step = [&](const Blocks& blocks, Rng& draws, bool recomputed) {
    for (Tensor p : blocks.all.parameters()) p.zero_grad();
    const auto noisy = [&](const TensorList& in) { return in[0] + randn({8, 16}, draws) * in[0]; };
    const Tensor loss = blocks.loss(recomputed ? checkpoint(noisy, {x}) : noisy({x}), recomputed);
    loss.backward();
    return loss;
  };
  Plan plan([&] { return step(again, second, true); });
  for (int i = 0; i < 3; ++i) {
    const double eager = step(kept, first, false).item();
    plan.replay();
    EXPECT_EQ(plan.output().item(), eager);
    EXPECT_EQ(kept.gradients(), again.gradients());
    EXPECT_EQ(kept.streams(), again.streams());
    EXPECT_EQ(first.position(), second.position());
  }
}

TEST(Checkpoint, CountsABatchOnceInRunningStatistics) {
  Rng rng(1);
  Tensor x = randn({8, 3}, rng).set_requires_grad();
  const BatchNorm1d kept(3), again(3);
  sum(square(kept(x))).backward();
  sum(square(checkpoint([&](const TensorList& in) { return again(in[0]); }, {x}))).backward();
  EXPECT_EQ(kept.running_mean().values<float>(), again.running_mean().values<float>());
  EXPECT_EQ(kept.running_var().values<float>(), again.running_var().values<float>());
  EXPECT_FALSE(recomputing());
}

TEST(Checkpoint, ComputesInTheDtypesOfTheFirstCall) {
  Rng rng(1);
  const Linear layer(16, 8, rng), same = clone(layer);
  Tensor x = randn({4, 16}, rng);
  const auto loss = [&](const Linear& l, bool recomputed) {
    const Autocast now(DType::bf16);
    const auto f = [&](const TensorList& in) { return l(in[0]); };
    return sum(square(recomputed ? checkpoint(f, {x}) : f({x})));
  };
  loss(layer, false).backward();
  loss(same, true).backward();
  EXPECT_EQ(layer.weight().grad().values<float>(), same.weight().grad().values<float>());
}

// Between the two calls the generators are others: a new seed, a new stream, a loaded state.
TEST(Checkpoint, DrawsTheFirstNumbersAlthoughTheGeneratorWasReplaced) {
  Tensor x = ones({64}).set_requires_grad();
  for (const Rng& later : {Rng(2), Rng(1, 7)}) {
    Rng rng(1), same(1);
    rng.seek(3);
    same.seek(3);
    const Tensor y = checkpoint([&](const TensorList& in) { return in[0] * rand({64}, rng); }, {x});
    rng = later;
    EXPECT_EQ(grad(sum(y), {x})[0].values<float>(), rand({64}, same).values<float>());
    EXPECT_EQ(rng.position(), later.position());
  }
  Rng rng(1);
  const Dropout dropout(0.5, rng);
  const Tensor y = checkpoint([&](const TensorList& in) { return dropout(in[0]); }, {x});
  const std::vector<std::int64_t> loaded = {77, 1000};
  Tensor stream = dropout.named_buffers()[0].tensor;
  stream.assign(Tensor::from<std::int64_t>({2}, loaded));
  EXPECT_EQ(grad(sum(y), {x})[0].values<float>(), y.values<float>());
  EXPECT_EQ(stream.values<std::int64_t>(), loaded);
}

TEST(Checkpoint, NamesAFunctionThatDrawsAnotherNumberOfTimes) {
  Rng rng(1);
  Tensor x = ones({2}).set_requires_grad();
  int calls = 0;
  const Tensor y = checkpoint(
      [&](const TensorList& in) { return calls++ == 0 ? in[0] * rand({2}, rng) : in[0] * 2; }, {x});
  EXPECT_THAT(test::error_of([&] { sum(y).backward(); }), HasSubstr("drew 1 times at first and then 0"));
}

TEST(Checkpoint, NoticesValuesThatWereChangedSince) {
  Tensor x = ones({2}).set_requires_grad(), data = ones({2});
  const Tensor y = sum(checkpoint([](const TensorList& in) { return in[0] * in[1]; }, {x, data}));
  data.assign(zeros({2}));
  EXPECT_THAT(test::error_of([&] { y.backward(); }), HasSubstr("input 1 of checkpoint"));
}

TEST(Checkpoint, OfOneTensorTwiceHasItsGradientOnce) {
  for (const bool twice : {false, true}) {
    Tensor x = parameter(full({}, 3.0));
    const auto cube = [](const TensorList& in) { return in[0] * in[1] * in[2]; };
    const auto takes_more = [&](const TensorList& in) { return in[0] * in[1] * x; };
    EXPECT_EQ(grad(checkpoint(cube, {x, x, x}), {x}, twice)[0].item(), 27);
    EXPECT_EQ(grad(checkpoint(takes_more, {x, x}), {x}, twice)[0].item(), 27);
  }
}

// The loss comes after the checkpoint, so that the gradient which arrives there has a graph.
TEST(Checkpoint, OfOneTensorTwiceCanBeDifferentiatedAgain) {
  Tensor x = parameter(full({}, 3.0));
  const auto cube = [](const TensorList& in) { return in[0] * in[1] * in[2]; };
  const Grads first = grad(square(checkpoint(cube, {x, x, x})), {x}, true);
  EXPECT_EQ(first[0].item(), 6 * 243);  // of x^6
  EXPECT_EQ(grad(first[0], {x})[0].item(), 30 * 81);
}

TEST(Checkpoint, OfATensorWithoutAPartCanBeDifferentiatedAgain) {
  Tensor x = parameter(full({}, 3.0)), z = parameter(full({}, 2.0));
  const auto f = [](const TensorList& in) { return in[0] * in[0]; };
  square(checkpoint(f, {x, z})).backward(true);
  EXPECT_EQ(x.grad().item(), 4 * 27);  // of x^4
  EXPECT_EQ(z.grad().item(), 0);
  x.zero_grad(), z.zero_grad();  // which hold the graph, and are held by it
  // To the third order, each time through the zeros.
  const Grads first = grad(square(checkpoint(f, {x, z})), {x, z}, true);
  const Grads second = grad(first[0] + square(first[1] + 1) + square(first[1]), {x, z}, true);
  EXPECT_EQ(second[0].item(), 12 * 9);
  EXPECT_EQ(grad(second[0] + square(second[1]), {x})[0].item(), 24 * 3);
}

TEST(Checkpoint, OfAConstantCanBeDifferentiatedAgain) {
  Tensor x = parameter(full({}, 3.0));
  const auto constant = [](const TensorList& in) { return square(in[0].detach()); };
  const Grads first = grad(square(checkpoint(constant, {x})) * x, {x}, true);
  EXPECT_EQ(first[0].item(), 81);
  EXPECT_EQ(grad(first[0], {x})[0].item(), 0);
}

TEST(Checkpoint, GivesNumbersWithoutAGradientAsTheyAre) {
  const float values[] = {1, 4, 3, 2};
  Tensor x = parameter(Tensor::from<float>({2, 2}, values));
  const Tensor largest = checkpoint([](const TensorList& in) { return argmax(in[0], 1, true); }, {square(x)});
  const Tensor positive = checkpoint([](const TensorList& in) { return greater(in[0], 2); }, {x});
  EXPECT_FALSE(largest.requires_grad());
  EXPECT_FALSE(positive.requires_grad());
  const Tensor gathered = gather(x, 1, largest);
  EXPECT_THAT(cuts_of(gathered), ElementsAre("checkpoint, read by gather"));
  (sum(gathered) + sum(where(positive, x, x * 3))).backward();
  EXPECT_EQ(x.grad().values<float>(), (std::vector<float>{3, 2, 2, 3}));
}

TEST(Checkpoint, RefusesAFunctionThatGivesNoTensor) {
  Tensor x = parameter(full({}, 3.0));
  const auto nothing = [](const TensorList&) { return Tensor(); };
  EXPECT_THAT(test::error_of([&] { checkpoint(nothing, {x}); }), HasSubstr("returned no tensor"));
  {
    const NoGrad off;
    EXPECT_THAT(test::error_of([&] { checkpoint(nothing, {x}); }), HasSubstr("returned no tensor"));
  }
  int calls = 0;
  const Tensor y = checkpoint([&](const TensorList& in) { return calls++ == 0 ? in[0] * 2 : Tensor(); }, {x});
  EXPECT_THAT(test::error_of([&] { y.backward(); }), HasSubstr("returned no tensor"));
}

TEST(Checkpoint, RefusesAGraphOfItsOwn) {
  Tensor x = parameter(full({}, 3.0)), w = parameter(full({}, 2.0));
  EXPECT_THROW(checkpoint([&](const TensorList&) { return w; }, {x}), Error);
  EXPECT_THROW(checkpoint(
                   [&](const TensorList& in) {
                     const EnableGrad on;
                     return in[0] * w;
                   },
                   {x}),
               Error);
}

// It would be another tensor in the second call, which no gradient reaches.
TEST(Checkpoint, RefusesATensorWithAGraphThatTheFunctionMakes) {
  Tensor x = parameter(full({}, 3.0)), w = parameter(full({}, 2.0));
  const auto f = [&](const TensorList& in) {
    Tensor h;
    {
      const EnableGrad on;
      h = square(w);
    }
    return in[0] * h;
  };
  EXPECT_THAT(test::error_of([&] { checkpoint(f, {x}); }), HasSubstr("has a graph of its own"));
  {
    const NoGrad off;
    EXPECT_EQ(checkpoint(f, {x}).item(), 12);
  }
  const Tensor made_before = square(w);
  checkpoint([&](const TensorList& in) { return in[0] * made_before; }, {x}).backward();
  EXPECT_EQ(w.grad().item(), 12);
}

}  // namespace
}  // namespace veldt::nn
