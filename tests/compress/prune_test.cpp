// Masks of single weights: which go, over the network, by layer and by pattern.
#include "veldt/compress/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/sequential.h"

namespace veldt::compress {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> mask_values(const NamedTensors& masks, std::size_t i) {
  return masks.at(i).tensor.values<float>();
}

const NamedTensors& two_layers() {
  static const NamedTensors all{{"a.weight", Tensor::of({2, 4}, {1, -2, 3, -4, 5, -6, 7, -8})},
                                {"b.weight", Tensor::of({1, 4}, {0.1, 0.2, -0.3, 10})}};
  return all;
}

TEST(Prune, TakesTheSmallestWeightsOfAllLayersTogether) {
  const NamedTensors masks = masks_of(magnitudes(two_layers()), {.share = 0.5});
  EXPECT_THAT(mask_values(masks, 0), ElementsAre(0, 0, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(mask_values(masks, 1), ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(masks[1].name, "b.weight");
  EXPECT_EQ(masks[1].tensor.shape(), Shape({1, 4}));
  EXPECT_DOUBLE_EQ(pruned_share(masks), 0.5);
}

TEST(Prune, TakesTheSmallestWeightsOfEachLayer) {
  const NamedTensors masks = masks_of(magnitudes(two_layers()), {.share = 0.25, .scope = PruneScope::layer});
  EXPECT_THAT(mask_values(masks, 0), ElementsAre(0, 0, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(mask_values(masks, 1), ElementsAre(0, 1, 1, 1));
}

TEST(Prune, OfEqualWeightsTheFirstGo) {
  const NamedTensors same{{"w", Tensor::of({1, 4}, {2, -2, 2, -2})}};
  EXPECT_THAT(mask_values(masks_of(magnitudes(same), {.share = 0.5}), 0), ElementsAre(0, 0, 1, 1));
}

TEST(Prune, ASharePastAHalfIsRoundedAsTorchDoes) {
  const NamedTensors odd{{"w", Tensor::of({1, 3}, {1, 2, 3})}};
  EXPECT_THAT(mask_values(masks_of(magnitudes(odd), {.share = 0.49}), 0), ElementsAre(0, 1, 1));
  EXPECT_THAT(mask_values(masks_of(magnitudes(odd), {.share = 0.51}), 0), ElementsAre(0, 0, 1));
  EXPECT_THAT(mask_values(masks_of(magnitudes(odd), {.share = 0}), 0), ElementsAre(1, 1, 1));
  EXPECT_THAT(mask_values(masks_of(magnitudes(odd), {.share = 1}), 0), ElementsAre(0, 0, 0));
}

TEST(Prune, APatternKeepsTwoOfFourInputs) {
  const NamedTensors masks = masks_of(magnitudes(two_layers()), {.keep = 2, .of = 4});
  EXPECT_THAT(mask_values(masks, 0), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_THAT(mask_values(masks, 1), ElementsAre(0, 0, 1, 1));
  // Of a convolution [out, in, kernel] along the inputs, at each place of the kernel.
  const NamedTensors conv{{"w", Tensor::of({1, 4, 2}, {1, 8, 2, 7, 3, 6, 4, 5})}};
  EXPECT_THAT(mask_values(masks_of(magnitudes(conv), {.keep = 2, .of = 4}), 0),
              ElementsAre(0, 1, 0, 1, 1, 0, 1, 0));
  // Three inputs are no fours.
  const NamedTensors three{{"w", Tensor::of({1, 3}, {1, 2, 3})}};
  EXPECT_THAT(mask_values(masks_of(magnitudes(three), {.keep = 2, .of = 4}), 0), ElementsAre(1, 1, 1));
}

TEST(Prune, TheTableCountsWhatIsKept) {
  const NamedTensors scores = magnitudes(two_layers());
  const std::vector<PrunedLayer> rows = pruned_layers(masks_of(scores, {.share = 0.5}), scores);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "a.weight");
  EXPECT_EQ(rows[0].size, 8);
  EXPECT_EQ(rows[0].kept, 5);
  EXPECT_NEAR(rows[0].magnitude, 30. / 36, 1e-9);
}

TEST(Prune, MasksMakeWeightsZeroAndAreFoundAgain) {
  Rng rng(3);
  nn::Sequential net{nn::Conv2d(1, 4, 3, rng), nn::ReLU(), nn::Linear(6, 5, rng)};
  const NamedTensors weights = prunable(net);
  ASSERT_EQ(weights.size(), 2U);
  const NamedTensors masks = masks_of(magnitudes(weights), {.share = 0.7});
  apply_masks(net, masks);
  const NamedTensors again = masks_of_zeros(prunable(net));
  for (std::size_t i = 0; i < masks.size(); ++i) EXPECT_EQ(mask_values(masks, i), mask_values(again, i));
  EXPECT_NEAR(pruned_share(again), 0.7, 0.02);
}

TEST(Prune, EmbeddingsNormsAndWhatIsExceptedStay) {
  nn::Sequential net{nn::Embedding(5, 4), nn::LayerNorm(4), nn::Linear(4, 3), nn::Linear(3, 2)};
  const NamedTensors weights = prunable(net, {"3"});
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights[0].name, "2.weight");
  EXPECT_THAT(error_of<ConfigError>([&] { prunable(net, {"7"}); }), HasSubstr("2.weight"));
}

TEST(Prune, WhatCannotBeIsRefused) {
  const NamedTensors scores = magnitudes(two_layers());
  EXPECT_THAT(error_of<ConfigError>([&] { masks_of(scores, {.share = 1.5}); }), HasSubstr("1.5"));
  EXPECT_THAT(error_of<ConfigError>([&] { masks_of(scores, {.share = NAN}); }), HasSubstr("share"));
  EXPECT_THAT(error_of<ConfigError>([&] { masks_of(scores, {.keep = 4, .of = 4}); }), HasSubstr("4 of 4"));
  EXPECT_THAT(error_of<ConfigError>([&] { masks_of(scores, {.keep = 0, .of = 4}); }), HasSubstr("0 of 4"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                masks_of(magnitudes({{"bad", Tensor::of({1, 2}, {1, NAN})}}), {.share = 0.5});
              }),
              HasSubstr("bad"));
  nn::Sequential net{nn::Linear(4, 3)};
  EXPECT_THAT(error_of<ConfigError>([&] {
                apply_masks(net, {{"1.weight", Tensor::of({1}, {1})}});
              }),
              HasSubstr("1.weight"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                apply_masks(net, {{"0.weight", Tensor::of({1}, {1})}});
              }),
              HasSubstr("0.weight"));
}

}  // namespace
}  // namespace veldt::compress
