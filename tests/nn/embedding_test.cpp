// Embedding against PyTorch (tests/golden/embedding.json), its initial values, and what it refuses.
#include "veldt/nn/embedding.h"

#include <gmock/gmock.h>

#include "tests/golden/nn_and_optim.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"

namespace veldt::nn {
namespace {

using nlohmann::json;
using test::error_of;
using testing::Each;
using testing::HasSubstr;

TEST(GoldenEmbedding, OutputAndGradientAreTorchs) {
  const json cases = test::read_golden("embedding.json").at("cases");
  ASSERT_GE(cases.size(), 4u);
  for (const json& g : cases) {
    EmbeddingOptions options;
    if (!g.at("padding_idx").is_null()) options.padding_idx = g.at("padding_idx").get<std::int64_t>();
    Embedding layer(g.at("sizes")[0], g.at("sizes")[1], options);
    layer.load_state_dict({{"weight", test::tensor_of(g.at("weight"))}});
    const Tensor y = layer(test::tensor_of(g.at("index"), DType::i64));
    EXPECT_TRUE(test::near(y, g.at("output"), 1e-7)) << layer.title();
    std::vector<float> weights(static_cast<std::size_t>(y.numel()));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.5f + 0.1f * static_cast<float>(i % 7);
    sum(y * Tensor::from<float>(y.shape(), weights)).backward();
    EXPECT_TRUE(test::near(layer.weight().grad(), g.at("gradient"), 1e-6)) << layer.title();
  }
}

TEST(Embedding, StartsAsANormalWithItsPaddingAtZero) {
  Rng rng(3);
  const Embedding layer(400, 50, {.padding_idx = -2}, rng);
  EXPECT_NEAR(mean(layer.weight()).item(), 0, 0.03);
  EXPECT_NEAR(stddev(layer.weight()).item(), 1, 0.03);
  EXPECT_THAT(select(layer.weight(), 0, 398).values<float>(), Each(0));
  EXPECT_NE(select(layer.weight(), 0, 399).values<float>()[0], 0);
  EXPECT_EQ(layer.title(), "Embedding(400, 50, padding 398)");
  EXPECT_EQ(Embedding(4, 5).title(), "Embedding(4, 5)");
}

TEST(Embedding, OfNoIndicesGivesNothing) {
  EXPECT_EQ(Embedding(4, 5)(zeros({2, 0}, DType::i64)).shape(), (Shape{2, 0, 5}));
}

TEST(Embedding, RefusesRowsItDoesNotHave) {
  EXPECT_THAT(error_of<ShapeError>([] { Embedding(4, 5)(full({2}, 4, DType::i64)); }),
              HasSubstr("in Embedding(4, 5)"));
  EXPECT_THROW(Embedding(4, 5)(full({2}, -1, DType::i64)), ShapeError);
  EXPECT_THAT(error_of<ShapeError>([] { Embedding(4, 5)(ones({2})); }), HasSubstr("f32"));
  EXPECT_THROW(Embedding(0, 5), ConfigError);
  EXPECT_THAT(error_of<ConfigError>([] { Embedding(4, 5, {.padding_idx = 4}); }), HasSubstr("0 to 3"));
}

TEST(PositionEmbedding, AddsTheSameRowToEachSequence) {
  const PositionEmbedding layer(5, 2);
  const Tensor x = ones({3, 4, 2}), rows = layer.parameters().at(0);
  const Tensor added = layer(x) - x;
  for (int i = 0; i < 3; ++i)
    EXPECT_LT(max(abs(select(added, 0, i) - slice(rows, 0, 0, 4))).item(), 1e-6) << i;
  EXPECT_NEAR(stddev(PositionEmbedding(100, 50).parameters().at(0)).item(), 0.02, 1e-3);
  EXPECT_THAT(error_of<ShapeError>([&] { layer(ones({3, 6, 2})); }), HasSubstr("[3, 6, 2]"));
  EXPECT_THROW(layer(ones({3, 4, 1})), ShapeError);
  EXPECT_THROW(PositionEmbedding(0, 2), ConfigError);
}

}  // namespace
}  // namespace veldt::nn
