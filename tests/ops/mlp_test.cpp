// The fused stack of layers against its layers one by one in f64: values, gradients, losses, precisions.
#include "veldt/ops/mlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using ::testing::HasSubstr;
using Layers = std::vector<DenseLayer>;

Layers make_layers(const std::vector<std::int64_t>& sizes, MlpActivation f, double omega, bool bias = true,
                   std::uint64_t seed = 3) {
  Rng rng(seed);
  Layers layers;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const double bound = std::sqrt(6.0 / static_cast<double>(sizes[i])) / (i == 0 ? 1 : omega);
    DenseLayer layer{rand({sizes[i + 1], sizes[i]}, rng, -bound, bound), Tensor(),
                     i + 2 < sizes.size() ? f : MlpActivation::identity, omega};
    if (bias) layer.bias = rand({sizes[i + 1]}, rng, -0.5, 0.5);
    layers.push_back(layer);
  }
  return layers;
}

std::vector<Tensor> parameters_of(const Layers& layers) {
  std::vector<Tensor> out;
  for (const DenseLayer& l : layers) {
    out.push_back(l.weight);
    if (l.bias.defined()) out.push_back(l.bias);
  }
  return out;
}

void want_gradients(Layers& layers) {
  for (DenseLayer& l : layers) {
    l.weight.set_requires_grad(true);
    if (l.bias.defined()) l.bias.set_requires_grad(true);
  }
}

Layers in_f64(const Layers& layers) {
  Layers out;
  for (const DenseLayer& l : layers)
    out.push_back({to(l.weight.detach(), DType::f64),
                   l.bias.defined() ? to(l.bias.detach(), DType::f64) : Tensor(), l.activation, l.omega});
  return out;
}

// The largest difference, as a share of the largest number.
double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  if (a.numel() == 0) return 0;
  const Tensor exact = to(b.detach(), DType::f64);
  const double size = max(abs(exact)).item();
  return max(abs(to(a.detach(), DType::f64) - exact)).item() / std::max(size, 1e-30);
}

// The mean square of the difference against that of the numbers, rooted.
double spread(const Tensor& a, const Tensor& b) {
  return std::sqrt(mean(square(a - b)).item() / std::max(mean(square(b)).item(), 1e-30));
}

struct Net {
  std::vector<std::int64_t> sizes;
  MlpActivation activation;
  double omega = 1;
  bool bias = true;
  std::int64_t rows = 100;
};

std::vector<Net> nets() {
  return {{{2, 128, 128, 1}, MlpActivation::sine, 30, true, 400},
          {{2, 64, 3}, MlpActivation::tanh},
          {{3, 32, 32, 32, 4}, MlpActivation::finer, 5},
          {{1, 8, 8, 1}, MlpActivation::gauss, 2},
          {{2, 48, 48, 3}, MlpActivation::wire, 8},
          {{32, 64, 64, 3}, MlpActivation::relu, 1, false, 1000},
          {{9, 33, 70, 5}, MlpActivation::sigmoid, 1, true, 7},
          {{40, 256, 256, 10}, MlpActivation::sine, 10, true, 193},
          {{2, 100, 3}, MlpActivation::tanh, 1, false, 1},
          {{70, 20}, MlpActivation::tanh, 1, true, 50},
          {{2, 3}, MlpActivation::tanh, 1, true, 50},
          {{2, 16, 16, 16, 16, 16, 16, 16, 2}, MlpActivation::relu, 1, true, 97}};
}

std::string net_name(const Net& net) {
  std::string name = str("activation ", static_cast<int>(net.activation), ", sizes");
  for (const std::int64_t n : net.sizes) name += str(' ', n);
  return name;
}

TEST(MLP, AgreesWithItsLayersInDouble) {
  for (const Net& net : nets()) {
    Layers layers = make_layers(net.sizes, net.activation, net.omega, net.bias), exact = in_f64(layers);
    want_gradients(layers);
    want_gradients(exact);
    Rng rng(5);
    Tensor x = rand({net.rows, net.sizes[0]}, rng, -1, 1), x64 = to(x, DType::f64);
    x.set_requires_grad(true);
    x64.set_requires_grad(true);
    const Tensor y = mlp(x, layers), y64 = mlp(x64, exact);
    EXPECT_LT(distance(y, y64), 2e-5) << net_name(net);
    const Tensor seed = randn(y.shape(), rng);
    std::vector<Tensor> inputs = parameters_of(layers), inputs64 = parameters_of(exact);
    inputs.push_back(x);
    inputs64.push_back(x64);
    const Grads g = grad(y, inputs, false, seed), g64 = grad(y64, inputs64, false, to(seed, DType::f64));
    for (std::size_t i = 0; i < g.size(); ++i)
      EXPECT_LT(distance(g[i], g64[i]), 5e-5) << "gradient " << i << " of " << net_name(net);
  }
}

TEST(MLP, TakesBf16ProductsWithinTheirRounding) {
  if (!has_products({}, Precision::bf16)) GTEST_SKIP() << "this processor has no bf16 products";
  for (const Net& net : nets()) {
    Layers layers = make_layers(net.sizes, net.activation, net.omega, net.bias);
    want_gradients(layers);
    Rng rng(5);
    Tensor x = rand({net.rows, net.sizes[0]}, rng, -1, 1);
    x.set_requires_grad(true);
    std::vector<Tensor> inputs = parameters_of(layers);
    inputs.push_back(x);
    const Tensor y = mlp(x, layers), half = mlp(x, layers, Precision::bf16), seed = randn(y.shape(), rng);
    EXPECT_LT(spread(half, y), 0.02) << net_name(net);
    const Grads g = grad(y, inputs, false, seed), g16 = grad(half, inputs, false, seed);
    for (std::size_t i = 0; i < g.size(); ++i)
      EXPECT_LT(spread(g16[i], g[i]), 0.2) << "gradient " << i << " of " << net_name(net);
  }
}

TEST(MLP, IsTwiceDifferentiable) {
  Layers layers = make_layers({2, 16, 16, 1}, MlpActivation::sine, 3), exact = in_f64(layers);
  want_gradients(layers);
  want_gradients(exact);
  Rng rng(9);
  const Tensor x = rand({20, 2}, rng, -1, 1);
  const auto curvature = [](Tensor at, const Layers& net) {
    at = at.detach();
    at.set_requires_grad(true);
    const Grads slope = grad(sum(mlp(at, net)), {at}, true);
    return grad(sum(square(slope[0])), parameters_of(net));
  };
  const Grads g = curvature(x, layers), g64 = curvature(to(x, DType::f64), exact);
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_LT(distance(g[i], g64[i]), 1e-4) << i;
}

TEST(MlpLoss, GivesTheLossAndTheGradientsOfItsOps) {
  struct Case {
    MlpError error;
    MlpSquash squash;
    std::int64_t group, pooled;
    bool weighted;
  };
  for (const Case& c : {Case{MlpError::squared, MlpSquash::none, 1, 0, false},
                        Case{MlpError::squared, MlpSquash::clamp, 4, 400, false},
                        Case{MlpError::squared, MlpSquash::clamp, 4, 240, true},
                        Case{MlpError::squared, MlpSquash::sigmoid, 9, 225, false},
                        Case{MlpError::hinge, MlpSquash::none, 1, 0, true},
                        Case{MlpError::bce, MlpSquash::none, 1, 0, false}}) {
    Layers layers = make_layers({2, 64, 64, 3}, MlpActivation::sine, 10), exact = in_f64(layers);
    layers.back().weight = layers.back().weight * 20;  // outputs beyond the bounds too
    exact.back().weight = exact.back().weight * 20;
    want_gradients(layers);
    want_gradients(exact);
    Rng rng(5);
    const Tensor x = rand({450, 2}, rng, -1, 1);
    const std::int64_t targets = c.pooled / c.group + 450 - c.pooled;
    Tensor target = rand({targets, 3}, rng, 0, 1);
    if (c.error == MlpError::hinge)
      target = affine(to(less(full({targets, 3}, 0.5), target), DType::f32), 2, -1);
    MlpLossOptions options{c.error, c.squash, c.group, c.pooled}, options64 = options;
    if (c.weighted) {
      options.weight = rand({targets}, rng, 0, 2);
      options64.weight = to(options.weight, DType::f64);
    }
    const MlpLossResult a = mlp_loss(x, layers, target, options),
                        b = mlp_loss(to(x, DType::f64), exact, to(target, DType::f64), options64);
    EXPECT_NEAR(a.loss.item(), b.loss.item(), 2e-5 * std::abs(b.loss.item()));
    EXPECT_LT(distance(a.output, b.output), 2e-5);
    EXPECT_FALSE(a.output.requires_grad());
    const Grads g = grad(a.loss, parameters_of(layers)), g64 = grad(b.loss, parameters_of(exact));
    for (std::size_t i = 0; i < g.size(); ++i)
      EXPECT_LT(distance(g[i], g64[i]), 1e-4) << "gradient " << i << ", error " << static_cast<int>(c.error);
  }
}

TEST(MlpLoss, ScalesItsGradientsByWhatComesFromAbove) {
  Layers layers = make_layers({2, 32, 1}, MlpActivation::tanh, 1);
  want_gradients(layers);
  Rng rng(5);
  const Tensor x = rand({64, 2}, rng), target = rand({64, 1}, rng);
  const Grads once = grad(mlp_loss(x, layers, target).loss, parameters_of(layers)),
              thrice = grad(mlp_loss(x, layers, target).loss * 3, parameters_of(layers));
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_LT(distance(thrice[i], once[i] * 3), 1e-6);
}

TEST(MlpLoss, IsTwiceDifferentiable) {
  Layers layers = make_layers({2, 16, 1}, MlpActivation::sine, 3), exact = in_f64(layers);
  want_gradients(layers);
  want_gradients(exact);
  Rng rng(5);
  const Tensor x = rand({30, 2}, rng), target = rand({30, 1}, rng);
  const auto second = [](const Tensor& loss, const std::vector<Tensor>& p) {
    const Grads first = grad(loss, p, true);
    return grad(sum(square(first[0])) + sum(square(first[2])), p);
  };
  const Grads g = second(mlp_loss(x, layers, target).loss, parameters_of(layers)),
              g64 = second(mlp_loss(to(x, DType::f64), exact, to(target, DType::f64)).loss,
                           parameters_of(exact));
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_LT(distance(g[i], g64[i]), 1e-4) << i;
}

// A gradient that can be differentiated again is the same gradient, whatever the inputs have to do with each
// other.
TEST(MLP, CountsAnInputOnceHoweverItIsUsed) {
  Rng rng(9);
  Tensor w = rand({8, 8}, rng, -0.5, 0.5);
  w.set_requires_grad(true);
  const Tensor x = rand({20, 8}, rng, -1, 1), target = rand({20, 8}, rng);
  const Layers tied = {{w, {}, MlpActivation::tanh}, {w, {}}}, once = {{w, {}, MlpActivation::tanh}};
  const std::pair<const char*, std::function<Tensor()>> cases[] = {
      {"two layers share a weight", [&] { return sum(mlp(x, tied)); }},
      {"one after the other", [&] { return sum(mlp(mlp(x, once), once)); }},
      {"a loss after a net", [&] { return mlp_loss(mlp(x, once), once, target).loss; }},
      {"the input is made of the weight", [&] { return sum(mlp(w * 2, once)); }}};
  for (const auto& [label, value] : cases)
    EXPECT_LT(distance(grad(value(), {w}, true)[0], grad(value(), {w})[0]), 1e-5) << label;
}

TEST(MlpLoss, CanBeTakenWhileAnotherGradientIsComputed) {
  Layers layers = make_layers({2, 16, 1}, MlpActivation::tanh, 1);
  want_gradients(layers);
  Rng rng(9);
  Tensor x = rand({20, 2}, rng);
  x.set_requires_grad(true);
  const Tensor target = rand({20, 1}, rng);
  // An op that computes again, in its backward pass, what it differentiates.
  const Tensor y = record("again", sum(x).detach(), {x}, [&](const Tensor&) -> Grads {
    const EnableGrad on;
    Tensor inner = x.detach();
    inner.set_requires_grad(true);
    return {grad(mlp_loss(inner, layers, target).loss, {inner})[0]};
  });
  EXPECT_EQ(grad(y, {x})[0].shape(), x.shape());
}

TEST(MlpLoss, PoolsGroupsThatNoTileHolds) {
  Layers layers = make_layers({2, 16, 1}, MlpActivation::tanh, 1);
  want_gradients(layers);
  Rng rng(9);
  const Tensor x = rand({243, 2}, rng), target = rand({3, 1}, rng);
  const MlpLossResult r = mlp_loss(x, layers, target, {.group = 81, .pooled = 243});
  EXPECT_NEAR(r.loss.item(), mean(square(mean(reshape(mlp(x, layers), {3, 81, 1}), {1}) - target)).item(),
              1e-6);
}

TEST(MLP, RefusesBf16ForWhatItRunsLayerByLayer) {
  if (!has_products({}, Precision::bf16)) GTEST_SKIP() << "this processor has no bf16 products";
  Rng rng(5);
  const Layers wide = make_layers({2, 300, 1}, MlpActivation::tanh, 1);
  EXPECT_THAT(test::error_of<ConfigError>([&] {
                mlp(rand({4, 2}, rng), wide, Precision::bf16);
              }),
              HasSubstr("no bf16 products for these layers"));
}

TEST(MlpLoss, GivesTheSameBitsEachTimeAndInAPlan) {
  Layers layers = make_layers({2, 64, 64, 3}, MlpActivation::sine, 10);
  want_gradients(layers);
  Rng rng(5);
  const Tensor x = rand({5000, 2}, rng, -1, 1), target = rand({5000, 3}, rng);
  const auto step = [&] {
    const Tensor loss = mlp_loss(x, layers, target).loss;
    for (Tensor& p : parameters_of(layers)) p.zero_grad();
    loss.backward();
    return loss;
  };
  step();
  const std::vector<float> first = layers[1].weight.grad().values<float>();
  step();
  EXPECT_EQ(layers[1].weight.grad().values<float>(), first);
  Plan plan([&] { return step(); });
  plan.replay();
  EXPECT_EQ(layers[1].weight.grad().values<float>(), first);
}

TEST(MlpLoss, KeepsANotANumber) {
  for (const MlpActivation f :
       {MlpActivation::relu, MlpActivation::tanh, MlpActivation::sine, MlpActivation::sigmoid,
        MlpActivation::gauss, MlpActivation::finer, MlpActivation::wire}) {
    Layers layers = make_layers({2, 32, 1}, f, 1);
    want_gradients(layers);
    Rng rng(5);
    const Tensor x = rand({40, 2}, rng), target = rand({40, 1}, rng);
    slice(slice(x, 0, 7, 8), 1, 0, 1).assign(full({1, 1}, NAN));
    EXPECT_TRUE(std::isnan(mlp_loss(x, layers, target).loss.item())) << static_cast<int>(f);
    EXPECT_TRUE(std::isnan(mlp(x, layers).values<float>()[7])) << static_cast<int>(f);
    EXPECT_FALSE(std::isnan(mlp(x, layers).values<float>()[8])) << static_cast<int>(f);
  }
}

TEST(MLP, RunsWhatIsTooWideLayerByLayer) {
  const Layers wide = make_layers({2, 300, 1}, MlpActivation::tanh, 1);
  Rng rng(5);
  const Tensor x = rand({10, 2}, rng);
  const Tensor by_hand = linear(tanh(linear(x, wide[0].weight, wide[0].bias)), wide[1].weight, wide[1].bias);
  EXPECT_EQ(mlp(x, wide).values<float>(), by_hand.values<float>());
}

TEST(MLP, NamesTheSizesThatDoNotFit) {
  Rng rng(5);
  const Layers layers = make_layers({2, 16, 1}, MlpActivation::tanh, 1);
  EXPECT_THAT(test::error_of<ShapeError>([&] {
                mlp(rand({4, 3}, rng), layers);
              }),
              HasSubstr("mlp cannot apply a weight of [16, 2] to 3 features"));
  EXPECT_THAT(test::error_of<ShapeError>([&] {
                mlp_loss(rand({4, 2}, rng), layers, rand({4, 2}, rng));
              }),
              HasSubstr("mlp_loss cannot compare with targets f32 [4, 2]"));
  EXPECT_THAT(test::error_of<ConfigError>([&] {
                mlp_loss(rand({4, 2}, rng), layers, rand({2, 1}, rng), {.group = 3, .pooled = 4});
              }),
              HasSubstr("mlp_loss cannot pool 4 of 4 rows by 3"));
  EXPECT_THAT(test::error_of<ConfigError>([&] {
                mlp(rand({4, 3}, rng), Layers{});
              }),
              HasSubstr("mlp has no layers"));
}

}  // namespace
}  // namespace veldt
