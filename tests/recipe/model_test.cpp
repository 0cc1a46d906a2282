// The layers that a recipe may name: each is built where it fits, and sizes are checked before they take
// memory.
#include "veldt/recipe/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

Words operator+(Words all, const Words& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(RecipeModel, PaddingIsANumberAListOrAWord) {
  recipe::Recipe recipe;
  const auto built = [&](const std::string& padding) {
    recipe.layers = {{"Conv2d(3, 3, padding=" + padding + ")", "Flatten", "Linear(outputs)"},
                     "r.toml:4: 'l'"};
    return recipe::build_model(recipe, {{1, 6, 6}, DType::f32, 2}).parameter_count();
  };
  const auto parameters = [](std::int64_t rows, std::int64_t columns) {
    return 3 * 9 + 3 + 3 * rows * columns * 2 + 2;
  };
  EXPECT_EQ(built("0"), parameters(4, 4));
  EXPECT_EQ(built("[1, 2]"), parameters(6, 8));
  EXPECT_EQ(built("same"), parameters(6, 6));
  EXPECT_EQ(built("same, dilation=2"), parameters(6, 6));
  EXPECT_EQ(built("valid"), parameters(4, 4));
  EXPECT_EQ(built("valid, dilation=2"), parameters(2, 2));
  for (const char* stride : {"2", "[1, 2]"})
    EXPECT_THAT(error_of<UsageError>([&] { built(std::string("same, stride=") + stride); }),
                HasSubstr("r.toml:4: 'l', number 1"));
  EXPECT_THAT(error_of<UsageError>([&] { built("some"); }), HasSubstr("r.toml:4"));
}

// As sweeps want it: kernels of any size by a value.
TEST(RecipeModel, PaddingThatKeepsTheSizeFitsEveryKernel) {
  recipe::Recipe recipe;
  for (int kernel = 1; kernel <= 8; ++kernel)
    for (const char* dilation : {"1", "2", "3"}) {
      recipe.values = {{"kernel", std::to_string(kernel)}};
      recipe.layers = {
          {std::string("Conv2d(1, [kernel, 1], bias=off, padding=same, dilation=") + dilation + ")"},
          "r.toml:4: 'l'"};
      recipe::ModelFacts facts{{1, 6, 5}, DType::f32, 1};
      facts.output = {1, 6, 5};
      nn::Graph net = recipe::build_model(recipe, facts);
      EXPECT_EQ(net(ones({1, 1, 6, 5})).shape(), (Shape{1, 1, 6, 5})) << kernel << " " << dilation;
    }
}

// A file may ask for anything: what it holds too few weights for takes no memory.
TEST(RecipeModel, AFilesSizesAreLookedAtBeforeTheyTakeMemory) {
  recipe::Recipe recipe;
  const auto refused = [&](const Words& layers, const Shape& input, DType dtype, std::int64_t outputs) {
    recipe.layers = {layers, "f.safetensors: 'l'"};
    pool(Device{}).reset_peak();
    const std::size_t before = pool(Device{}).stats().peak_bytes;
    EXPECT_THROW(recipe::build_model(recipe, {input, dtype, outputs}, 1000), UsageError) << layers[0];
    EXPECT_LT(pool(Device{}).stats().peak_bytes, before + (std::size_t{1} << 20)) << layers[0];
  };
  refused({"Linear(1M)", "Linear(outputs)"}, {100}, DType::f32, 2);
  refused({"Embedding(1M)", "Linear(outputs)"}, {4}, DType::i64, 1 << 20);
  refused({"LSTM(100k)", "LastStep", "Linear(outputs)"}, {4, 1}, DType::f32, 1);
  refused({"TransformerEncoderLayer(1, dim_feedforward=1M)"}, {4, 64}, DType::f32, 1);
  refused({"Conv2d(1M, 99)", "Flatten", "Linear(outputs)"}, {1, 100, 100}, DType::f32, 1);
  refused({"Conv2d(1, 1, padding=1M)", "Flatten", "Linear(outputs)"}, {1, 9, 9}, DType::f32, 1);
  refused({"AdaptiveAvgPool2d(1M)", "Flatten", "Linear(outputs)"}, {1, 9, 9}, DType::f32, 1);
}

// Each kind, with what it may be given: its sizes are found without computing.
TEST(RecipeModel, EveryLayerIsBuiltWhereItFits) {
  recipe::Recipe recipe;
  std::string covered;
  const auto built = [&](const Words& layers, const Shape& input, DType dtype = DType::f32) {
    recipe.layers = {layers, "r.toml:4: 'l'"};
    for (const std::string& layer : layers) covered += layer.substr(0, layer.find('(')) + ' ';
    EXPECT_NO_THROW(recipe::build_model(recipe, {input, dtype, 5})) << layers[0];
  };
  const Words head{"Flatten", "Linear(outputs)"};
  built(Words{"Conv1d(4, 3)", "BatchNorm1d", "InstanceNorm1d", "MaxPool1d(2)", "AvgPool1d(2)",
              "ConvTranspose1d(4, 3)", "AdaptiveAvgPool1d(3)", "AdaptiveMaxPool1d(2)"} +
            head,
        {2, 24});
  built(Words{"WhiteningConv2d(2)",
              "Conv2d(4, 3)",
              "BatchNorm2d",
              "InstanceNorm2d",
              "GroupNorm(2)",
              "Dropout2d",
              "MaxPool2d(2)",
              "AvgPool2d(2)",
              "ConvTranspose2d(4, 3)",
              "AdaptiveAvgPool2d(4)",
              "PReLU(each_channel=on)",
              "Save(a)",
              "PixelShuffle(2)",
              "PixelUnshuffle(2)",
              "Add(a)",
              "Mul(a)",
              "Cat(a, a, dim=1)",
              "Upsample(2, mode=linear)",
              "Pad(1)",
              "Pad([1, 0, 2, 0], mode=reflect)",
              "AdaptiveMaxPool2d(2)"} +
            head,
        {2, 24, 24});
  built(Words{"Conv3d(4, 3)", "BatchNorm3d", "InstanceNorm3d", "Upsample", "MaxPool3d(2)",
              "ConvTranspose3d(2, 2)", "AvgPool3d(2)", "AdaptiveAvgPool3d(2)", "AdaptiveMaxPool3d(1)"} +
            head,
        {2, 6, 6, 6});
  built(
      {"Embedding(8)", "PositionEmbedding", "Save(memory)", "TransformerEncoderLayer(2)",
       "TransformerDecoderLayer(2, memory)", "MultiheadAttention(2)", "MultiheadAttention(2, memory=memory)",
       "Load(input)", "Embedding(8)", "RNN(4)", "LSTM(4, num_layers=2, dropout=0.1)",
       "GRU(4, bidirectional=on)", "LayerNorm", "RMSNorm", "SwiGLU(6)", "GLU", "Linear(outputs)"},
      {6}, DType::i64);
  built({"LSTM(4)",  "LastStep", "Dropout",    "AlphaDropout", "ReLU",     "ReLU6",      "LeakyReLU",
         "ELU",      "CELU",     "SELU",       "GELU",         "SiLU",     "Mish",       "Hardswish",
         "Tanh",     "Sigmoid",  "Softplus",   "Sine",         "PReLU",    "GELUTanh",   "Hardsigmoid",
         "Hardtanh", "Softsign", "LogSigmoid", "Softmax",      "Identity", "LogSoftmax", "Linear(outputs)"},
        {6, 1});
  for (const std::string& name : recipe::layer_names()) EXPECT_THAT(covered, HasSubstr(name + ' '));
}

TEST(RecipeModel, ThePageOfRecipesNamesEveryKeyAndLayer) {
  const std::string page = bytes_of(VELDT_SOURCE "/docs/recipes.md");
  for (const std::string& key : recipe::key_names()) EXPECT_THAT(page, HasSubstr("`" + key + "`"));
  for (const std::string& layer : recipe::layer_names()) EXPECT_THAT(page, HasSubstr(layer));
}

}  // namespace
}  // namespace veldt::test
