// Trained networks made smaller: their files open again, compute the same, and begin again as they did.
#include "veldt/recipe/pruned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/close.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/recipe/model.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const kConvolutions = R"toml(
[data]
kind = "mnist"
[values]
width = 8
[block.unit]
parameters = ["channels"]
layers = ["Conv2d(channels, 3, padding=1, bias=false)", "BatchNorm2d", "ReLU",
          "Conv2d(channels, 3, padding=1)"]
shortcut = ["Conv2d(channels, 1)"]
[model]
layers = ["2 x unit(width)", "AdaptiveAvgPool2d(2)", "Flatten", "Linear(12)", "ReLU",
          "head: Linear(outputs)"]
[train]
epochs = 1
)toml";

const char* const kWriter = R"toml(
[data]
kind = "text"
path = "t.txt"
context = 6
[model]
layers = ["Embedding(8)", "2 x TransformerEncoderLayer(4, dropout=0)", "Linear(outputs)"]
[train]
epochs = 1
)toml";

Trained network_of(const std::string& toml, Facts facts) {
  Trained network;
  network.recipe = parse(toml);
  network.facts = std::move(facts);
  network.model = build_model(network.recipe, network.facts.model);
  network.model.eval();
  return network;
}

Trained digits() {
  Facts facts;
  facts.model = {.input = {1, 8, 8}, .outputs = 3};
  facts.classes = {"a", "b", "c"};
  return network_of(kConvolutions, facts);
}

Trained writer() {
  Facts facts;
  facts.model = {.input = {6}, .dtype = DType::i64, .outputs = 5};
  facts.tokenizer = std::make_shared<data::CharTokenizer>("abcde");
  return network_of(kWriter, facts);
}

// As its file gives it.
Trained opened(const Trained& network) {
  const test::TempDir dir;
  save(dir / "m.safetensors", network.recipe, network.facts, network.model, {});
  return load(dir / "m.safetensors");
}

TEST(Pruned, ANetworkWithFewerChannelsIsAFileLikeAnyOther) {
  const NoGrad off;
  const Pruned half = pruned(digits(), {.cut = {.share = 0.5}});
  EXPECT_LT(half.network.model.parameter_count(), half.parameters_before / 2);
  EXPECT_EQ(half.zeros, 0);
  const Trained again = opened(half.network);
  Rng rng(1);
  const Tensor x = randn({2, 1, 8, 8}, rng);
  EXPECT_TRUE(array_equal(again.model(x), half.network.model(x)));
  EXPECT_THAT(again.model.description(), HasSubstr("Conv2d(4, 4, 3"));
  // The second cut goes on from the first.
  const Pruned quarter = pruned(again, {.cut = {.share = 0.5}});
  EXPECT_THAT(quarter.network.model.description(), HasSubstr("Conv2d(2, 2, 3"));
  // A sum's channels are those of all its branches.
  ASSERT_FALSE(half.rows.empty());
  EXPECT_EQ(half.rows[0].name, "0.0.0");
  EXPECT_EQ(half.rows[0].kept, 4);
  EXPECT_EQ(half.rows[1].name, "0.0.3, 0.0.shortcut.0, 0.1.3");
  EXPECT_THAT(half.rows.back().fixed, HasSubstr("output"));
}

TEST(Pruned, DepthwiseConvolutionsAndNormsWithoutTensorsFollow) {
  const NoGrad off;
  Facts facts;
  facts.model = {.input = {3, 8, 8}, .outputs = 2};
  facts.classes = {"a", "b"};
  const Trained network = network_of(
      "[data]\nkind = \"cifar10\"\n[model]\nlayers = [\"Conv2d(8, 1)\", \"InstanceNorm2d\", \"Conv2d(8, 3, "
      "groups=8)\", "
      "\"ReLU\", \"Conv2d(out=6, kernel=1)\", \"AdaptiveAvgPool2d(1)\", \"Flatten\", \"Linear(outputs)\"]\n"
      "[train]\nepochs = 1\n",
      facts);
  const Trained again = opened(pruned(network, {.cut = {.share = 0.5}}).network);
  EXPECT_THAT(again.recipe.layers.texts,
              ElementsAre("Conv2d(4, 1)", "InstanceNorm2d", "Conv2d(4, 3, groups=4)", "ReLU",
                          "Conv2d(out=3, kernel=1)", "AdaptiveAvgPool2d(1)", "Flatten", "Linear(outputs)"));
  again.model(zeros({1, 3, 8, 8}));
}

TEST(Pruned, HeadsGoOutOfATransformersFile) {
  const NoGrad off;
  const Pruned half = pruned(writer(), {.cut = {.share = 0.25, .heads = 0.5}});
  const Trained again = opened(half.network);
  const Tensor x = zeros({1, 6}, DType::i64);
  EXPECT_TRUE(array_equal(again.model(x), half.network.model(x)));
  EXPECT_THAT(again.model.description(), HasSubstr("MultiheadAttention(8, 2 of 2)"));
  EXPECT_THAT(in_toml(again.recipe),
              HasSubstr("TransformerEncoderLayer(2, dropout=0, dim_feedforward=24, head_dim=2)"));
}

TEST(Pruned, HiddenUnitsGoOutOfARecurrentFile) {
  const NoGrad off;
  Trained network = writer();
  network = network_of(
      "[data]\nkind = \"text\"\npath = \"t.txt\"\ncontext = 6\n[model]\nlayers = "
      "[\"Embedding(8)\", \"GRU(12, num_layers=2)\", \"LSTM(hidden=10)\", \"Linear(outputs)\"]\n"
      "[train]\nepochs = 1\n",
      network.facts);
  const Pruned half = pruned(network, {.cut = {.share = 0.5}});
  const Trained again = opened(half.network);
  EXPECT_THAT(again.recipe.layers.texts,
              ElementsAre("Embedding(8)", "GRU(6, num_layers=2)", "LSTM(hidden=5)", "Linear(outputs)"));
  const Tensor x = zeros({1, 6}, DType::i64);
  EXPECT_TRUE(array_equal(again.model(x), half.network.model(x)));
}

TEST(Pruned, WeightsThatAreZeroStaySoInTheRecipe) {
  const Pruned sparse =
      pruned(digits(), {.weights = compress::PruneOptions{.share = 0.75}, .except = {"head"}});
  const Trained again = opened(sparse.network);
  EXPECT_TRUE(again.recipe.pruning.keep_zeros);
  EXPECT_NEAR(compress::pruned_share(compress::masks_of_zeros(compress::prunable(again.model, {"head"}))),
              0.75, 0.01);
  EXPECT_EQ(compress::pruned_share(compress::masks_of_zeros({compress::prunable(again.model).back()})), 0);
  // Those that are gone stay gone when channels go afterwards.
  const Pruned both = pruned(again, {.cut = {.share = 0.5}});
  EXPECT_TRUE(both.network.recipe.pruning.keep_zeros);
  EXPECT_GT(both.zeros, 0);
}

TEST(Pruned, ATicketBeginsAgainWithItsFirstWeights) {
  Trained network = digits();
  const NamedTensors first = first_weights(network);
  NamedTensors state = network.model.state_dict();
  Rng rng(4);
  for (NamedTensor& tensor : state)
    if (is_float(tensor.tensor.dtype())) tensor.tensor.assign(randn(tensor.tensor.shape(), rng));
  const NamedTensors masks =
      compress::masks_of(compress::magnitudes(compress::prunable(network.model)), {.share = 0.5});
  const Pruned ticket = pruned(network, {.weights = compress::PruneOptions{.share = 0.5}, .rewind = first});
  NamedTensors wanted = compress::prunable(ticket.network.model);
  for (std::size_t i = 0; i < masks.size(); ++i)
    for (const NamedTensor& own : first) {
      if (own.name != masks[i].name) continue;
      EXPECT_TRUE(array_equal(wanted[i].tensor.detach(), own.tensor * masks[i].tensor)) << own.name;
    }
}

TEST(Pruned, WhatCannotBeIsRefused) {
  Facts facts;
  facts.model = {.input = {3, 32, 32}, .outputs = 2};
  facts.classes = {"a", "b"};
  const Trained known = network_of(
      "[data]\nkind = \"cifar10\"\n[model]\narchitecture = \"mobilenet_v2(width=0.1)\"\n[train]\nepochs = "
      "1\n",
      facts);
  EXPECT_THAT(error_of<UsageError>([&] { pruned(known, {.cut = {.share = 0.5}}); }),
              HasSubstr("mobilenet_v2"));
  EXPECT_GT(pruned(known, {.weights = compress::PruneOptions{.share = 0.5}}).zeros, 1000);
  facts.model = {.input = {1, 4, 4}, .outputs = 2};
  const Trained one = network_of(
      "[data]\nkind = \"mnist\"\n[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]\n[train]\nepochs = 1\n",
      facts);
  EXPECT_THAT(error_of<UsageError>([&] { pruned(one, {.cut = {.share = 0.5}}); }), HasSubstr("no channel"));
  EXPECT_THAT(error_of<UsageError>([&] { pruned(digits(), {.cut = {.share = 0.5, .heads = 0.5}}); }),
              HasSubstr("no head"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                pruned(one,
                       {.weights = compress::PruneOptions{.share = 0.5}, .rewind = first_weights(digits())});
              }),
              HasSubstr("rewound"));
  const Trained whitened = network_of(
      "[data]\nkind = \"mnist\"\n[model]\nlayers = [\"WhiteningConv2d(2)\", \"Flatten\", "
      "\"Linear(outputs)\"]\n[train]\nepochs = 1\n",
      facts);
  EXPECT_THAT(error_of<UsageError>([&] { first_weights(whitened); }), HasSubstr("training pictures"));
}

// What a file says of its network is only believed as far as it holds the numbers.
TEST(Pruned, AFileWhoseRecipeClaimsOtherChannelsIsRefused) {
  const test::TempDir dir;
  const Pruned half = pruned(digits(), {.cut = {.share = 0.5}});
  NamedTensors state = half.network.model.state_dict();
  for (const char* claimed :
       {"Conv2d(16777216, 3, padding=1, bias=false)", "Conv2d(3, 3, padding=1, bias=false)"}) {
    Recipe recipe = half.network.recipe;
    for (auto& [key, texts] : recipe.given)
      for (std::string& text : texts)
        if (text == "Conv2d(4, 3, padding=1, bias=false)") text = claimed;
    io::write_safetensors(dir / "m.safetensors", state, metadata_of(recipe, half.network.facts));
    EXPECT_THROW(load(dir / "m.safetensors"), IoError);
  }
  state.pop_back();
  io::write_safetensors(dir / "m.safetensors", state, metadata_of(half.network.recipe, half.network.facts));
  EXPECT_THROW(load(dir / "m.safetensors"), IoError);
}

}  // namespace
}  // namespace veldt::recipe
