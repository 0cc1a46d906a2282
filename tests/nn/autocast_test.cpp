// Layers in mixed precision: each takes what the one before gives, and gradients arrive at f32 parameters.
#include "veldt/tensor/autocast.h"

#include <gtest/gtest.h>

#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/mlp.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/resize.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {
namespace {

// Within a few roundings to 8 bits of what f32 gives.
void expect_close(const Tensor& rounded, const Tensor& exact, double share, const std::string& what) {
  const double distance = norm(to(rounded.detach(), DType::f32) - exact.detach()).item();
  EXPECT_LT(distance, share * norm(exact.detach()).item()) << what;
  EXPECT_GT(distance, 0) << what;
}

// From pictures to classes by way of nearly every kind of layer.
struct Reader : Module {
  explicit Reader(Rng& rng)
      : pictures{Pad({1, 1, 1, 1}, PadMode::reflect),
                 Conv2d(1, 8, 3, rng),
                 BatchNorm2d(8),
                 GELU(),
                 MaxPool2d(2),
                 ConvTranspose2d(8, 4, 2, {.stride = 2}, rng),
                 GroupNorm(2, 4),
                 SiLU(),
                 AdaptiveAvgPool2d({8, 2}),
                 Upsample({.size = {{8, 4}}, .mode = Interpolation::linear})},
        lstm(16, 12, {.batch_first = true, .bidirectional = true}, rng),
        gru(24, 16, {.batch_first = true}, rng),
        words(5, 16, rng),
        encoder(2, 16, 4,
                {.layer = {.dim_feedforward = 32, .dropout = 0, .norm_first = true, .batch_first = true}},
                rng),
        head({std::int64_t{16}, 12, 6}, {}, rng),
        out(6, 3, rng) {}

  Tensor forward(const Tensor& x) const override {
    const Tensor rows = flatten(permute(pictures(x), {0, 2, 1, 3}), 2);  // [n, 8, 16]
    const Tensor steps = encoder(gru(lstm(rows)) + select(words.weight(), 0, 1));
    return out(head(mean(steps, {1})));
  }
  void fields(Fields& f) override {
    f("pictures", pictures)("lstm", lstm)("gru", gru)("words", words)("encoder", encoder)("head", head)("out",
                                                                                                        out);
  }

  Sequential pictures;
  LSTM lstm;
  GRU gru;
  Embedding words;
  TransformerEncoder encoder;
  MLP head;
  Linear out;
};

TEST(AutocastLayers, GiveNearlyWhatF32Gives) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Rng rng(4);
    Reader exact(rng);
    Reader rounded = clone(exact);
    const Tensor x = randn({6, 1, 8, 8}, rng);
    const Tensor target = Tensor::from<std::int64_t>({6}, std::vector<std::int64_t>{0, 1, 2, 2, 1, 0});
    const double share = dtype == DType::bf16 ? 0.1 : 0.02;
    const Tensor exact_loss = cross_entropy(exact(x), target);
    Tensor logits, loss;
    {
      const Autocast now(dtype);
      logits = rounded(x);
      loss = cross_entropy(logits, target);
    }
    EXPECT_EQ(logits.dtype(), dtype);
    EXPECT_EQ(loss.dtype(), DType::f32);
    expect_close(loss, exact_loss, 0.01, "loss");
    exact_loss.backward();
    loss.backward();
    const NamedTensors expected = exact.named_parameters(), got = rounded.named_parameters();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(got[i].tensor.grad().defined()) << got[i].name;
      EXPECT_EQ(got[i].tensor.grad().dtype(), DType::f32) << got[i].name;
      if (norm(expected[i].tensor.grad()).item() < 1e-4) continue;  // what a norm takes away
      expect_close(got[i].tensor.grad(), expected[i].tensor.grad(), share, got[i].name);
    }
  }
}

using LossOf = Tensor (*)(const Tensor&, const Tensor&);

TEST(AutocastLayers, LossesOfHalvesAreThoseOfTheirValues) {
  Rng rng(4);
  const Tensor p = to(rand({4, 5}, rng, 0.1, 0.9), DType::bf16), t = rand({4, 5}, rng, 0.1, 0.9);
  constexpr LossOf kAll[] = {
      [](const Tensor& a, const Tensor& b) { return mse_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return l1_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return huber_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return smooth_l1_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return hinge_mse(a, b); },
      [](const Tensor& a, const Tensor& b) { return hinge_embedding_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return cosine_embedding_loss(a, b, ones({4})); },
      [](const Tensor& a, const Tensor& b) {
        return margin_ranking_loss(a, b, ones({4, 5}), {.margin = 1});
      },
      [](const Tensor& a, const Tensor& b) { return triplet_margin_loss(a, b, -b); },
      [](const Tensor& a, const Tensor& b) { return binary_cross_entropy(a, b); },
      [](const Tensor& a, const Tensor& b) { return binary_cross_entropy_with_logits(a, b); },
      [](const Tensor& a, const Tensor& b) { return sigmoid_focal_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); },
      [](const Tensor& a, const Tensor&) { return nll_loss(a, ones({4}, DType::i64)); },
      [](const Tensor& a, const Tensor& b) { return kl_div(a, b); },
      [](const Tensor& a, const Tensor& b) { return poisson_nll_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return gaussian_nll_loss(a, b, b); },
  };
  for (std::size_t i = 0; i < std::size(kAll); ++i) {
    const Tensor expected = kAll[i](to(p, DType::f32), t);
    const Tensor of_both = kAll[i](to(p, DType::f32), to(to(t, DType::bf16), DType::f32));
    const Autocast now(DType::bf16);
    const Tensor loss = kAll[i](p, t), both = kAll[i](p, to(t, DType::bf16));
    EXPECT_EQ(loss.dtype(), DType::f32) << i;
    EXPECT_EQ(loss.values<float>(), expected.values<float>()) << i;
    EXPECT_EQ(both.dtype(), DType::f32) << i;
    EXPECT_EQ(both.values<float>(), of_both.values<float>()) << i;
  }
}

}  // namespace
}  // namespace veldt::nn
