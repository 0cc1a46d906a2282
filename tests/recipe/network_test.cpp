// Networks of recipes that are no chain: blocks, repetitions, shortcuts, saved values; their names and sizes,
// and what is refused before it takes memory.
#include "veldt/recipe/network.h"

#include <gmock/gmock.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/nn/convolution.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/trained.h"
#include "veldt/tensor/backends.h"

namespace veldt::recipe {
namespace {

using test::error_of;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const ModelFacts kPicture{.input = {3, 8, 8}, .outputs = 5};
const ModelFacts kRow{.input = {4}, .outputs = 4};

std::vector<std::string> names_of(const nn::Module& model) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.named_parameters()) names.push_back(name);
  return names;
}

std::string refusal(const std::string& toml, const ModelFacts& facts = kRow) {
  const std::string built = error_of<UsageError>([&] { build_model(toml, facts); });
  EXPECT_EQ(error_of<UsageError>([&] { check_model(parse_model(toml)); }).empty(), false)
      << "not refused before there are data: " << toml;
  return built;
}

const std::string kResidual = R"toml(
[block.residual]
parameters = ["channels", "stride=1"]
layers = ["conv: Conv2d(channels, 3, stride=stride, padding=1)", "ReLU", "Conv2d(channels, 3, padding=1)"]
shortcut = ["Conv2d(channels, 1, stride=stride)"]
then = ["PReLU"]
[model]
layers = ["2 x residual(4)", "wide: residual(2*4, stride=2)", "AdaptiveAvgPool2d(1)", "Flatten",
  "Linear(outputs)"]
)toml";

TEST(RecipeNetwork, BlocksHaveParametersAndAShortcutWhereShapesDiffer) {
  const nn::Graph model = build_model(kResidual, kPicture);
  EXPECT_EQ(model(zeros({2, 3, 8, 8})).shape(), (Shape{2, 5}));
  EXPECT_THAT(
      names_of(model),
      ElementsAre("0.0.conv.weight", "0.0.conv.bias", "0.0.2.weight", "0.0.2.bias", "0.0.shortcut.0.weight",
                  "0.0.shortcut.0.bias", "0.0.then.0.weight", "0.1.conv.weight", "0.1.conv.bias",
                  "0.1.2.weight", "0.1.2.bias", "0.1.then.0.weight", "wide.conv.weight", "wide.conv.bias",
                  "wide.2.weight", "wide.2.bias", "wide.shortcut.0.weight", "wide.shortcut.0.bias",
                  "wide.then.0.weight", "4.weight", "4.bias"));
  EXPECT_THAT(model.description(), AllOf(HasSubstr("2 x residual(4)"), HasSubstr("residual(8, 2)")));
  // An empty shortcut is the input itself.
  const std::string plain = "[block.r]\nlayers = [\"Linear(4)\"]\nshortcut = []\n[model]\nlayers = [\"r\"]\n";
  nn::Graph sum = build_model(plain, kRow);
  const NoGrad off;
  for (Tensor p : sum.parameters()) p.assign(zeros(p.shape()));
  EXPECT_THAT(sum(Tensor::of({1, 4}, {1, 2, 3, 4})).values<float>(), ElementsAre(1, 2, 3, 4));
  const std::string wider = "[block.r]\nlayers = [\"Linear(8)\"]\nshortcut = []\n[model]\nlayers = [\"r\"]\n";
  EXPECT_THAT(error_of<UsageError>([&] { build_model(wider, kRow); }),
              AllOf(HasSubstr("recipe:5"), HasSubstr("'r'"), HasSubstr("[1, 8] and [1, 4]")));
}

TEST(RecipeNetwork, ValuesAreSavedAndReadAgain) {
  const nn::Graph model = build_model(R"toml(
[block.double]
parameters = ["channels"]
layers = ["Conv2d(channels, 3, padding=1)", "ReLU", "Save(a)", "Conv2d(channels, 3, padding=1)", "Add(a)"]
[model]
layers = ["double(4)", "Save(a)", "MaxPool2d(2)", "double(8)", "Upsample(2)", "Cat(a)", "double(4)",
  "Save(b)", "AdaptiveAvgPool2d(1)", "Conv2d(4, 1)", "Sigmoid", "Mul(b)", "Save(c)", "Load(input)",
  "Conv2d(4, 1)", "Add(a, c)", "AdaptiveMaxPool2d(1)", "Flatten", "Linear(outputs)"]
)toml",
                                      kPicture);
  EXPECT_EQ(model(zeros({2, 3, 8, 8})).shape(), (Shape{2, 5}));
  // After Cat there are 12 channels.
  for (const auto& [name, tensor] : model.named_parameters())
    EXPECT_TRUE(name != "6.0.weight" || tensor.shape() == (Shape{4, 12, 3, 3}));
  // A block reads what was saved around it, through repetitions too.
  const nn::Graph inner = build_model(R"toml(
[block.twice]
parameters = ["which"]
layers = ["Linear(4)", "Add(which)", "Add(input)"]
[model]
layers = ["Save(x)", "3 x twice(x)", "Add(x)"]
)toml",
                                      kRow);
  const NoGrad off;
  for (Tensor p : nn::Graph(inner).parameters()) p.assign(zeros(p.shape()));
  EXPECT_THAT(inner(Tensor::of({1, 4}, {1, 2, 3, 4})).values<float>(), ElementsAre(5, 10, 15, 20));
}

TEST(RecipeNetwork, WordsMayBeSetFromOutside) {
  const std::string toml = R"toml(
[data]
kind = "mnist"
[values]
width = 8
depth = 2
act = "LeakyReLU(0.2)"
[block.layer]
parameters = ["size", "norm=LayerNorm"]
layers = ["Linear(size)", "norm", "act"]
[model]
layers = ["Flatten", "depth x layer(width)", "layer(width/2, norm=RMSNorm)", "Linear(outputs)"]
[train]
epochs = 1
)toml";
  const ModelFacts facts{.input = {1, 2, 2}, .outputs = 3};
  const auto parameters = [&](const std::vector<std::string>& sets) {
    return build_model(parse(toml, sets), facts).parameter_count();
  };
  EXPECT_EQ(parameters({}), (4 * 8 + 8 + 16) + (64 + 8 + 16) + (8 * 4 + 4 + 4) + (4 * 3 + 3));
  EXPECT_EQ(parameters({"values.width=2", "values.depth=1"}), (8 + 2 + 4) + (2 + 1 + 1) + (3 + 3));
  EXPECT_THAT(build_model(parse(toml), facts).description(), HasSubstr("LeakyReLU(0.2)"));
  EXPECT_EQ(parameters({"block.layer.layers=[\"Linear(size)\"]"}), (4 * 8 + 8) + 72 + 36 + 15);
}

// A value that nothing reads is a name that was mistyped.
TEST(RecipeNetwork, ValuesHaveToBeRead) {
  const std::string toml = R"toml(
[data]
kind = "mnist"
[values]
width = 8
depth = 2
act = "Scaled(slope)"
slope = 3
rest = 5
[block.layer]
parameters = ["size", "extra=rest", "hidden"]
layers = ["Linear(size)", "Linear(hidden)", "Linear(out=width)"]
[model]
layers = ["depth x layer(4, hidden=2)", "act", "Linear(outputs)"]
[train]
epochs = 1
)toml";
  const auto refusal = [&](const std::vector<std::string>& sets) -> std::string {
    try {
      check_values_are_read(parse(toml, sets));
    } catch (const UsageError& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_EQ(refusal({}), "nothing");
  EXPECT_EQ(refusal({"width=16"}), "nothing");
  EXPECT_THAT(refusal({"values.widht=16"}), HasSubstr("did you mean 'values.width'?"));
  // The parameter of a block, and the name of an argument, are other things.
  for (const char* name : {"size", "hidden", "out"})
    EXPECT_THAT(refusal({std::string("values.") + name + "=1"}), HasSubstr("would change nothing")) << name;
  EXPECT_THAT(refusal({"model.layers=Linear(outputs)", "block.layer.layers=Linear(size)"}),
              HasSubstr("layers read rest, slope"));
  EXPECT_THAT(refusal({"values.width_2=1"}), HasSubstr("values.width_2"));
}

// "2 * wide" of a sum is twice the sum.
TEST(RecipeNetwork, WordsAreNumbersBeforeTheyAreUsed) {
  const std::string toml = R"toml(
[values]
wide = "4+2"
[block.layer]
parameters = ["size", "hidden=2*size"]
layers = ["Linear(2*hidden)", "Linear(size)"]
[model]
layers = ["Linear(2*wide)", "layer(wide)", "Linear(outputs)"]
)toml";
  EXPECT_EQ(build_model(toml, kRow).parameter_count(),
            (4 * 12 + 12) + (12 * 24 + 24) + (24 * 6 + 6) + (6 * 4 + 4));
}

TEST(RecipeNetwork, AFileHoldsItAndGivesItBack) {
  const test::TempDir dir = test::TempDir::in_memory();
  const Recipe recipe =
      parse("[data]\nkind = \"pictures\"\n[train]\nepochs = 1\n[values]\nw = 4\n" + kResidual,
            {"model.layers=[\"residual(w)\", \"Flatten\", \"head: Linear(outputs)\"]"});
  Facts facts;
  facts.model = kPicture;
  facts.classes = {"a", "b", "c", "d", "e"};
  nn::Graph model = build_model(recipe, facts.model);
  model.eval();
  save(dir / "model.safetensors", recipe, facts, model, {});
  const Trained opened = load(dir / "model.safetensors");
  EXPECT_EQ(opened.recipe.given, recipe.given);
  EXPECT_EQ(names_of(opened.model), names_of(model));
  Rng rng(3);
  const Tensor x = randn({2, 3, 8, 8}, rng);
  EXPECT_EQ(opened.model(x).values<float>(), model(x).values<float>());
}

TEST(RecipeNetwork, WhatIsWrongIsToldWithItsLine) {
  const auto block = [](const std::string& layers, const std::string& used) {
    return "[block.b]\nparameters = [\"n\"]\nlayers = [" + layers + "]\n[model]\nlayers = [\"ReLU\", " +
           used + "]\n";
  };
  EXPECT_THAT(refusal(block("\"ReLU\", \"Linear(n, bais=off)\"", "\"b(4)\"")),
              AllOf(HasSubstr("recipe:3"), HasSubstr("number 2"), HasSubstr("'b(4)'"), HasSubstr("recipe:5"),
                    HasSubstr("did you mean 'bias'?")));
  EXPECT_THAT(refusal(block("\"Linear(n)\"", "\"b\"")),
              AllOf(HasSubstr("recipe:5"), HasSubstr("'n' is missing")));
  EXPECT_THAT(refusal(block("\"Linear(n)\"", "\"b(4, 5)\"")), HasSubstr("one value more"));
  EXPECT_THAT(refusal(block("\"Linear(n)\"", "\"blob(4)\"")), HasSubstr("there is no layer 'blob'"));
  EXPECT_THAT(refusal(block("\"Linear(n)\"", "\"c: ReLU\", \"c: ReLU\"")), HasSubstr("a layer 'c' already"));
  EXPECT_THAT(refusal(block("\"Linear(n/3)\"", "\"b(4)\"")), HasSubstr("4 / 3"));
  EXPECT_THAT(refusal(block("\"Linear(n)\"", "\"0 x b(4)\"")), HasSubstr("how often"));
  EXPECT_THAT(refusal(block("\"Add(y)\"", "\"b(4)\"")), AllOf(HasSubstr("no value 'y'"), HasSubstr("input")));
  EXPECT_THAT(refusal(block("\"Save(y)\"", "\"b(4)\"")),
              AllOf(HasSubstr("recipe:3"), HasSubstr("nothing reads this value")));
  EXPECT_THAT(refusal(block("\"Save(y)\", \"Add(y)\"", "\"b(4)\", \"Add(y)\"")), HasSubstr("no value 'y'"));
  EXPECT_THAT(refusal(block("\"Save(y)\", \"Save(y)\", \"Add(y)\"", "\"b(4)\"")), HasSubstr("'y' already"));
  EXPECT_THAT(refusal("[block.relu]\nlayers = [\"Tanh\"]\n[model]\nlayers = [\"relu\"]\n"),
              AllOf(HasSubstr("recipe:2"), HasSubstr("means something else")));
  EXPECT_THAT(refusal("[block.b]\nshortcut = [\"Tanh\"]\n[model]\nlayers = [\"b\"]\n"),
              HasSubstr("no layers"));
  EXPECT_THAT(
      refusal("[block.b]\nparameters = [\"outputs\"]\nlayers = [\"Tanh\"]\n[model]\nlayers = [\"b\"]\n"),
      HasSubstr("'outputs' cannot be a parameter"));
  EXPECT_THAT(refusal("[values]\noutputs = 3\n[model]\nlayers = [\"Tanh\"]\n"), HasSubstr("values.outputs"));
  EXPECT_THAT(refusal("[values]\nw = \"\"\n[model]\nlayers = [\"Linear(w)\"]\n"), HasSubstr("values.w"));
  const auto unread = [](const std::string& toml) {
    return error_of<UsageError>([&] { parse_model(toml); });
  };
  EXPECT_THAT(unread("[block.b]\nlayer = [\"Tanh\"]\n"), HasSubstr("did you mean"));
  EXPECT_THAT(unread("[block.b.c]\nlayers = [\"Tanh\"]\n"), HasSubstr("recipe:1"));
  EXPECT_THAT(unread("[blocks]\na = 1\n"), HasSubstr("did you mean [block]?"));
  EXPECT_THAT(unread("[values]\nw = [1]\n"), AllOf(HasSubstr("recipe:2"), HasSubstr("wrong type")));
}

TEST(RecipeNetwork, HostileOnesAreRefusedBeforeTheyTakeMemoryOrTime) {
  const auto began = std::chrono::steady_clock::now();
  pool(Device{}).reset_peak();
  const std::size_t before = pool(Device{}).stats().peak_bytes;
  EXPECT_THAT(
      refusal("[block.a]\nlayers = [\"b\"]\n[block.b]\nlayers = [\"a\"]\n[model]\nlayers = [\"a\"]\n"),
      AllOf(HasSubstr("recipe:4"), HasSubstr("a > b > a")));
  EXPECT_THAT(refusal("[block.a]\nlayers = [\"Tanh\"]\nshortcut = [\"a\"]\n[model]\nlayers = [\"a\"]\n"),
              HasSubstr("a > a"));
  EXPECT_THAT(refusal("[model]\nlayers = [\"1M x Tanh\"]\n"), HasSubstr("how often"));
  EXPECT_THAT(refusal("[model]\nlayers = [\"4000 x Tanh\", \"97 x Tanh\"]\n"),
              HasSubstr("more than 4096 layers"));
  // Each of ten blocks is a hundred of the next: 1e20 layers, in little text.
  std::string many, deep = "[values]\nt = \"Tanh\"\n", growing;
  for (int i = 0; i < 10; ++i)
    many +=
        fmt::format("[block.b{}]\nlayers = [\"100 x {}\"]\n", i, i == 9 ? "Tanh" : fmt::format("b{}", i + 1));
  EXPECT_THAT(refusal(many + "[model]\nlayers = [\"b0\"]\n"), HasSubstr("more than 4096 layers"));
  for (int i = 0; i < 40; ++i)
    deep += fmt::format("[block.b{}]\nlayers = [\"{}\"]\n", i, i == 39 ? "t" : fmt::format("b{}", i + 1));
  EXPECT_THAT(refusal(deep + "[model]\nlayers = [\"b0\"]\n"), HasSubstr("too deep"));
  for (int i = 0; i < 12; ++i)
    growing += fmt::format("[block.b{}]\nparameters = [\"p\"]\nlayers = [\"{}([p, p, p, p, p, p, p, p])\"]\n",
                           i, i == 11 ? "Linear" : fmt::format("b{}", i + 1));
  EXPECT_THAT(refusal(growing + "[model]\nlayers = [\"b0(12345678)\"]\n"), HasSubstr("longer than"));
  std::string blocks, parameters;
  for (int i = 0; i < 40000; ++i) {
    blocks += fmt::format("[block.c{}]\nlayers = [\"Tanh\"]\n", i);
    if (i < 100) parameters += fmt::format("\"p{}\",", i);
  }
  EXPECT_THAT(error_of<UsageError>([&] { parse_model(blocks + "[model]\nlayers = [\"c0\"]\n"); }),
              HasSubstr("at most 256 blocks"));
  EXPECT_THAT(
      refusal(fmt::format("[block.c]\nlayers = [\"Tanh\"]\nparameters = [{}]\n[model]\nlayers = [\"c\"]\n",
                          parameters)),
      HasSubstr("may have 64"));
  // As many parameters as a file holds, and no more.
  const Recipe large = parse_model("[block.b]\nlayers = [\"Linear(1M)\"]\n[model]\nlayers = [\"9 x b\"]\n");
  EXPECT_THAT(error_of<UsageError>([&] { build_model(large, kRow, 1000); }),
              HasSubstr("the file holds fewer"));
  EXPECT_LT(pool(Device{}).stats().peak_bytes, before + (std::size_t{1} << 20));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(RecipeNetwork, TheRecipesOfTheHouseHaveTheirSizes) {
  const Recipe resnet = read(VELDT_SOURCE "/recipes/resnet18.toml");
  EXPECT_EQ(build_model(resnet, {.input = {3, 32, 32}, .outputs = 10}).parameter_count(), 11'173'962);
  const ModelFacts small{.input = {3, 32, 32}, .outputs = 10};
  EXPECT_EQ(build_model(read(VELDT_SOURCE "/recipes/cifar10_small.toml"), small).parameter_count(), 188'810);
  EXPECT_EQ(build_model(read(VELDT_SOURCE "/recipes/cifar10_fast.toml"), small).parameter_count(), 1'972'504);
  const ModelFacts picture{.input = {3, 64, 64}, .outputs = 3, .output = {3, 64, 64}};
  EXPECT_EQ(build_model(read(VELDT_SOURCE "/recipes/unet.toml"), picture).parameter_count(), 263'355);
  const ModelFacts dates{.input = {81}, .dtype = DType::i64, .outputs = 37, .target = {11}};
  EXPECT_GT(build_model(read(VELDT_SOURCE "/recipes/dates.toml"), dates).parameter_count(), 200'000);
}

}  // namespace
}  // namespace veldt::recipe
