// An explanation that does not look at the network is told from one that does.
#include "veldt/explain/sanity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/explain/networks.h"
#include "veldt/core/error.h"
#include "veldt/explain/gradients.h"
#include "veldt/nn/containers.h"
#include "veldt/ops/create.h"

namespace veldt::explain {
namespace {

TEST(ExplainSanity, RanksAreCorrelated) {
  const Tensor a = Tensor::of({4}, {1, 2, 3, 4});
  EXPECT_NEAR(rank_correlation(a, Tensor::of({4}, {10, 20, 300, 4000})), 1, 1e-12);
  EXPECT_NEAR(rank_correlation(a, Tensor::of({4}, {4, 3, 2, 1})), -1, 1e-12);
  // scipy.stats.spearmanr([1, 2, 3, 4], [1, 1, 2, 0])
  EXPECT_NEAR(rank_correlation(a, Tensor::of({4}, {1, 1, 2, 0})), -0.316227766, 1e-9);
  EXPECT_EQ(rank_correlation(a, ones({4})), 0);
  EXPECT_EQ(rank_correlation(zeros({4}), ones({4})), 1);
  EXPECT_THROW(rank_correlation(a, ones({3})), ShapeError);
  EXPECT_THROW(rank_correlation(a, full({4}, NAN)), ConfigError);
}

TEST(ExplainSanity, TellsAnEdgeDetectorFromAGradient) {
  Rng rng(1);
  const nn::Sequential net = picture_network(rng);
  const Tensor x = randn({1, 3, 12, 12}, rng);
  std::vector<float> before;
  for (const Tensor& parameter : net.parameters())
    for (const float v : parameter.values<float>()) before.push_back(v);
  const SanityReport gradient =
      randomisation_check(net, [&](const nn::Module& m) { return saliency(m, x, {2}); }, {.stages = 4});
  ASSERT_EQ(gradient.stages.size(), 4U);
  EXPECT_EQ(gradient.stages.back().layer, "0");  // the first layer comes last
  EXPECT_TRUE(gradient.looks_at_the_network()) << gradient.last();
  const SanityReport picture = randomisation_check(net, [&](const nn::Module&) { return x; });
  EXPECT_FALSE(picture.looks_at_the_network());
  EXPECT_FALSE(picture.looks_at_the_upper_layers());
  // One that looks at the first layer alone.
  const auto first = [&](const nn::Module& m) { return m.parameters()[0].detach(); };
  const SanityReport edges = randomisation_check(net, first);
  EXPECT_TRUE(edges.looks_at_the_network());
  EXPECT_FALSE(edges.looks_at_the_upper_layers());
  EXPECT_NEAR(edges.half(), 1, 1e-9);
  EXPECT_EQ(picture.stages.size(), 5U);  // one for each layer with weights
  EXPECT_NEAR(picture.last(), 1, 1e-9);
  std::vector<float> after;
  for (const Tensor& parameter : net.parameters())
    for (const float v : parameter.values<float>()) after.push_back(v);
  EXPECT_EQ(before, after);
}

TEST(ExplainSanity, PutsWeightsBackAfterAnException) {
  Rng rng(2);
  const nn::Linear layer(2, 2, rng);
  const std::vector<float> before = layer.weight().values<float>();
  int calls = 0;
  const auto fails = [&](const nn::Module&) -> Tensor {
    if (++calls > 1) throw Error("no", "no", "no");
    return Tensor::of({2}, {1, 2});
  };
  EXPECT_THROW(randomisation_check(layer, fails), Error);
  EXPECT_EQ(layer.weight().values<float>(), before);
  // The same everywhere, which no random weights can change: it would pass by ranking nothing.
  for (const double v : {0.0, 1.0, -1.0})
    EXPECT_THROW(randomisation_check(layer, [v](auto&) { return full({3}, v); }), ConfigError);
  EXPECT_THROW(randomisation_check(nn::Identity(), [](auto&) { return ones({1}); }), ConfigError);
}

}  // namespace
}  // namespace veldt::explain
