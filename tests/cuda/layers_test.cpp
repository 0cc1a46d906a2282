// Layers on the device: the numbers that the CPU gives, as they stand and in a recorded step.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/recurrent.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::test {
namespace {

// Words of sequences through all kinds of layers, to one number.
struct Reader : nn::Module {
  explicit Reader(Rng rng)
      : table(7, 4, {.padding_idx = 0}, rng),
        recurrent(4, 3, {.num_layers = 2, .dropout = 0.25, .bidirectional = true}, rng),
        channels(0.25, rng) {}
  Tensor loss(const Tensor& words, const Tensor& lengths) const {  // [time, n], [n]
    const nn::RecurrentResult r = recurrent.run(layer(table(words)), {}, lengths);
    const Tensor y = batch(permute(r.output, {1, 2, 0}));  // [n, 6, time]
    return mean(square(rms(transpose(groups(channels(y))) - 0.5))) + sum(square(r.state.c));
  }
  void fields(nn::Fields& f) override {
    f("table", table)("layer", layer)("recurrent", recurrent)("batch", batch)("channels", channels);
    f("groups", groups)("rms", rms);
  }
  nn::Embedding table;
  nn::LayerNorm layer{4};
  nn::LSTM recurrent;
  nn::BatchNorm1d batch{6};
  nn::Dropout1d channels;
  nn::GroupNorm groups{2, 6};
  nn::RMSNorm rms{6};
};

void expect_near(const Tensor& device, const Tensor& host, const std::string& what) {
  ASSERT_TRUE(device.defined() && host.defined()) << what;
  const Tensor a = to(to(device.detach(), Device{}), DType::f64), b = to(host.detach(), DType::f64);
  EXPECT_LE(max(abs(a - b)).item(), 1e-5) << what;
}

TEST(CudaLayers, TrainAsOnTheCpu) {
  use_emulated_device();
  const std::int64_t ids[] = {1, 2, 3, 4, 5, 6, 2, 0, 0, 4, 0, 0}, counts[] = {4, 2, 1};
  const Tensor words = Tensor::from<std::int64_t>({4, 3}, ids);
  const Tensor lengths = Tensor::from<std::int64_t>({3}, counts);
  Reader host(Rng(3)), device(Rng(3)), planned(Rng(3));
  device.to(kEmulated);
  planned.to(kEmulated);
  const Tensor there = to(words, kEmulated), counts_there = to(lengths, kEmulated);
  const auto step = [](const Reader& net, const Tensor& x, const Tensor& n) {
    for (Tensor p : net.parameters()) p.zero_grad();
    const Tensor loss = net.loss(x, n);
    loss.backward();
    return loss;
  };
  Plan plan([&] { return step(planned, there, counts_there); });
  for (int i = 0; i < 3; ++i) {
    const Tensor expected = step(host, words, lengths), eager = step(device, there, counts_there);
    plan.replay();
    expect_near(eager, expected, "loss");
    EXPECT_EQ(to(plan.output(), Device{}).item(), to(eager.detach(), Device{}).item()) << "step " << i;
  }
  for (std::size_t i = 0; i < host.state_dict().size(); ++i) {
    expect_near(device.state_dict()[i].tensor, host.state_dict()[i].tensor, host.state_dict()[i].name);
    expect_near(planned.state_dict()[i].tensor, host.state_dict()[i].tensor, host.state_dict()[i].name);
  }
  for (std::size_t i = 0; i < host.parameters().size(); ++i) {
    expect_near(device.parameters()[i].grad(), host.parameters()[i].grad(), host.named_parameters()[i].name);
    expect_near(planned.parameters()[i].grad(), host.parameters()[i].grad(), host.named_parameters()[i].name);
  }
  note_result(to(device.parameters()[0].grad(), Device{}));
}

TEST(CudaLayers, PoolsWindowsOfAnyLength) {
  use_emulated_device();
  Rng rng(4);
  for (const std::int64_t length : {9, 100, 1003, 20'000}) {
    const Tensor x = randn({2, 3, length}, rng), seed = randn({2, 3, 7}, rng);
    const auto pooled = [&](Device device) {
      Tensor on = to(x, device).detach().set_requires_grad();
      const Tensor y = adaptive_avg_pool1d(on, 7), wide = avg_pool1d(on, length, {.stride = 1});
      return TensorList{y, wide, grad(y, {on}, false, to(seed, device))[0]};
    };
    const TensorList host = pooled({}), device = pooled(kEmulated);
    for (std::size_t i = 0; i < host.size(); ++i) expect_near(device[i], host[i], str(length, ", ", i));
  }
}

TEST(CudaLayers, AttentionBeginsWithKeysThatNobodyMayReach) {
  use_emulated_device();
  // Of 64 keys the scores of the first 32 are -inf.
  const Tensor q = ones({1, 1, 3, 4}), v = reshape(arange(256, DType::f32), {1, 1, 64, 4}) / 256;
  Tensor k = ones({1, 1, 64, 4});
  slice(k, 2, 0, 32).assign(full({1, 1, 32, 4}, -std::numeric_limits<double>::infinity()));
  const auto there = [](const Tensor& t) { return to(t, kEmulated); };
  expect_near(scaled_dot_product_attention(there(q), there(k), there(v)),
              scaled_dot_product_attention(q, k, v), "y");
}

TEST(CudaLayers, AttentionOfAQueryWhoseScoresAreAllMinusInfinityIsZero) {
  use_emulated_device();
  const float never = -std::numeric_limits<float>::infinity();
  const Tensor mask = Tensor::of({3, 3}, {never, never, never, 0, never, 1, never, 2, never});
  const auto results = [&](const Device& device) {
    Rng rng(3);
    const auto given = [&] { return to(randn({1, 2, 3, 4}, rng), device).set_requires_grad(); };
    const Tensor q = given(), k = given(), v = given();
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = to(mask, device)});
    Grads all = grad(sum(square(y)), {q, k, v});
    all.push_back(y);
    return all;
  };
  const Grads host = results(Device{}), device = results(kEmulated);
  for (std::size_t i = 0; i < host.size(); ++i) expect_near(device[i], host[i], std::to_string(i));
}

}  // namespace
}  // namespace veldt::test
