// A fused stack of layers has the names, first values and results of its layers one by one, and learns XOR.
#include "veldt/nn/mlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

TEST(MLP, HasTheNamesAndTheStartOfItsLayers) {
  Rng rng(4), again(4);
  const MLP mlp({2, 16, 3}, {}, rng);
  const Linear first(2, 16, again), second(16, 3, again);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : mlp.named_parameters()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"));
  EXPECT_EQ(mlp.layers()[0].weight().values<float>(), first.weight().values<float>());
  EXPECT_EQ(mlp.layers()[1].bias().values<float>(), second.bias().values<float>());
}

TEST(MLP, ComputesWhatItsLayersCompute) {
  Rng rng(4);
  const MLP mlp({2, 32, 32, 1}, {.activation = MlpActivation::sine, .first_omega = 10, .omega = 5}, rng);
  Tensor h = rand({50, 2}, rng);
  const Tensor y = mlp(h);
  h = sine(mlp.layers()[0](h), 10);
  h = mlp.layers()[2](sine(mlp.layers()[1](h), 5));
  EXPECT_THAT(y.values<float>(), Pointwise(FloatNear(1e-5f), h.values<float>()));
}

TEST(MLP, LearnsExclusiveOr) {
  Rng rng(4);
  MLP mlp({2, 8, 1}, {.activation = MlpActivation::tanh}, rng);
  const Tensor x = Tensor::of({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), y = Tensor::of({4, 1}, {0, 1, 1, 0});
  for (int step = 0; step < 2000; ++step) {
    const Tensor loss = mlp.loss(x, y).loss;
    for (auto& [name, p] : mlp.named_parameters()) p.zero_grad();
    loss.backward();
    NoGrad off;
    for (auto& [name, p] : mlp.named_parameters()) p.assign(p - p.grad() * 0.5);
  }
  EXPECT_LT(mse_loss(mlp(x), y).item(), 1e-3);
}

TEST(MLP, SaysWhatItIs) {
  Rng rng(4);
  EXPECT_EQ(MLP({2, 8, 1}, {}, rng).title(), "MLP(2, 8, 1)");
  EXPECT_EQ(MLP({2, 8, 1}, {.bias = false}, rng).title(), "MLP(2, 8, 1, no bias)");
  EXPECT_EQ(MLP({2, 8, 1}, {}, rng).flops({10, 2}, {10, 1}), 2 * 10 * (16 + 8));
  EXPECT_THAT(test::error_of<ConfigError>([&] { MLP({2}, {}, rng); }), HasSubstr("an MLP of 1 sizes"));
  EXPECT_THAT(test::error_of<ConfigError>([&] { MLP({2, 0, 1}, {}, rng); }), HasSubstr("Linear(2, 0)"));
}

}  // namespace
}  // namespace veldt::nn
