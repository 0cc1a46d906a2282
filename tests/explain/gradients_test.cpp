// What gradients' explanations must fulfil: slopes that are known, completeness, and a network left as it
// was.
#include "veldt/explain/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/explain/networks.h"
#include "veldt/core/error.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/embedding.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::explain {
namespace {

using testing::HasSubstr;

double largest_of(const Tensor& t) { return max(abs(t)).item(); }

TEST(ExplainGradients, OfALinearLayerAreItsWeights) {
  Rng rng(1);
  const nn::Linear layer(3, 2, rng);
  const Tensor x = randn({4, 3}, rng), row = layer.weight().detach()[1];
  EXPECT_LT(largest_of(saliency(layer, x, {1}, {.absolute = false}) - row), 1e-7);
  EXPECT_LT(largest_of(saliency(layer, x, {1}) - abs(row)), 1e-7);
  EXPECT_LT(largest_of(input_x_gradient(layer, x, {1}) - x * row), 1e-6);
  // One target for each example; without any, the largest.
  const Tensor mixed = saliency(layer, x, {0, 1, 1, 0}, {.absolute = false});
  EXPECT_LT(largest_of(mixed[3] - layer.weight().detach()[0]), 1e-7);
  EXPECT_LT(largest_of(saliency(layer, x) - saliency(layer, x, largest_outputs(layer, x))), 1e-7);
}

TEST(ExplainGradients, IntegratedOnesAddUpToWhatTheOutputGained) {
  Rng rng(2);
  nn::Sequential net{nn::Linear(6, 12, rng), nn::Tanh(), nn::Linear(12, 3, rng)};
  const Tensor x = randn({5, 6}, rng, 0, 2), baseline = randn({1, 6}, rng);
  const Tensor found = integrated_gradients(net, x, {2}, {.baseline = baseline});
  EXPECT_LT(largest_of(completeness_gap(net, x, found, {2}, baseline)), 1e-5);
  // The order of batches changes nothing but rounding; few steps leave a gap.
  const Tensor one_by_one = integrated_gradients(net, x, {2}, {.baseline = baseline, .at_once = 1});
  EXPECT_LT(largest_of(found - one_by_one), 1e-6);
  const Tensor rough = integrated_gradients(net, x, {2}, {.steps = 1, .baseline = baseline});
  EXPECT_GT(largest_of(completeness_gap(net, x, rough, {2}, baseline)), 1e-3);
}

TEST(ExplainGradients, SmoothedWithoutNoiseAreTheGradient) {
  Rng rng(3);
  nn::Sequential net{nn::Linear(4, 8, rng), nn::Tanh(), nn::Linear(8, 2, rng)};
  const Tensor x = randn({3, 4}, rng), plain = saliency(net, x, {0}, {.absolute = false});
  EXPECT_LT(largest_of(smooth_grad(net, x, {0}, {.deviation = 0}) - plain), 1e-6);
  const Tensor smooth = smooth_grad(net, x, {0}, {.seed = 4});
  EXPECT_GT(largest_of(smooth - plain), 1e-4);
  EXPECT_EQ(smooth.values<float>(), smooth_grad(net, x, {0}, {.seed = 4}).values<float>());
  // An example whose numbers are all the same has no noise, however far the others reach.
  const Tensor flat = cat({full({1, 4}, 0.5), x * 100.0}, 0);
  EXPECT_LT(largest_of(smooth_grad(net, flat, {0})[0] - saliency(net, flat, {0}, {.absolute = false})[0]),
            1e-6);
}

TEST(ExplainGradients, LeaveTheNetworkAsItWas) {
  Rng rng(4);
  nn::Sequential net{nn::Linear(4, 4, rng), nn::Dropout(0.5, rng), nn::Linear(4, 2, rng)};
  net.freeze("0");
  const Tensor x = randn({2, 4}, rng);
  const auto first = saliency(net, x, {0}).values<float>();
  EXPECT_EQ(first, saliency(net, x, {0}).values<float>());  // without dropout
  EXPECT_TRUE(net.training());
  EXPECT_FALSE(net.parameters()[0].requires_grad());
  EXPECT_TRUE(net.parameters()[2].requires_grad());
  for (const Tensor& parameter : net.parameters()) EXPECT_FALSE(parameter.grad().defined());
  EXPECT_FALSE(x.requires_grad());
  // An exception on the way changes nothing either.
  EXPECT_THROW(saliency(net, x, {2}), ConfigError);
  EXPECT_TRUE(net.parameters()[2].requires_grad());
}

TEST(ExplainGradients, GoFromAnEmbeddingOn) {
  Rng rng(5);
  nn::Sequential net{nn::Embedding(7, 4, rng), nn::Flatten(), nn::Linear(12, 2, rng)};
  const Tensor ids = Tensor::from<std::int64_t>({1, 3}, std::vector<std::int64_t>{1, 5, 2});
  const FromLayer from(net, net[0], ids);
  EXPECT_EQ(from.layer_output().shape(), (Shape{1, 3, 4}));
  const Tensor heat = integrated_gradients(from, from.layer_output(), {1});
  EXPECT_LT(largest_of(completeness_gap(from, from.layer_output(), heat, {1})), 1e-5);
  EXPECT_THROW(saliency(net, ids, {1}), ShapeError);
  nn::Identity stranger;
  EXPECT_THROW(FromLayer(net, stranger, ids), ConfigError);
  EXPECT_EQ(net(ids).values<float>(), from(from.layer_output()).values<float>());
}

TEST(ExplainGradients, RefuseWhatCannotBe) {
  const nn::Linear layer(3, 2);
  const Tensor x = ones({2, 3});
  try {
    saliency(layer, x, {2});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the network has 2 outputs"));
  }
  EXPECT_THROW(saliency(layer, x, {-1}), ConfigError);
  EXPECT_THROW(saliency(layer, x, {0, 1, 0}), ConfigError);
  EXPECT_THROW(integrated_gradients(layer, x, {0}, {.steps = 0}), ConfigError);
  EXPECT_THROW(integrated_gradients(layer, x, {0}, {.baseline = ones({2, 4})}), ShapeError);
  EXPECT_THROW(smooth_grad(layer, x, {0}, {.samples = 0}), ConfigError);
  EXPECT_THROW(smooth_grad(layer, x, {0}, {.deviation = -1}), ConfigError);
  EXPECT_THROW(saliency(nn::Identity(), ones({1, 2, 3}), {0}), ShapeError);
}

}  // namespace
}  // namespace veldt::explain
