// A recipe that is written out builds the same network, with the same names and numbers.
#include "veldt/recipe/unrolled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/close.h"
#include "veldt/ops/random.h"
#include "veldt/recipe/model.h"

namespace veldt::recipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kUnits = R"toml(
[data]
kind = "mnist"
[values]
width = 8
norm = "BatchNorm2d"
[block.unit]
parameters = ["channels", "stride=1"]
layers = ["conv: Conv2d(channels, 3, stride=stride, padding=1, bias=false)", "norm", "ReLU",
          "Conv2d(channels, 3, padding=1)"]
shortcut = ["Conv2d(channels, 1, stride=stride)"]
then = ["ReLU", "Save(kept)", "Conv2d(channels, 1)", "Add(kept)"]
[model]
layers = ["stem: Conv2d(width, 3, padding=1)", "2 x unit(width)", "unit(2*width, stride=2)",
          "AdaptiveAvgPool2d(1)", "Flatten", "head: Linear(outputs)"]
[train]
epochs = 1
)toml";

const ModelFacts kDigits{.input = {1, 8, 8}, .outputs = 10};

TEST(Unrolled, BuildsTheSameNetworkUnderTheSameNames) {
  const Recipe recipe = parse(kUnits);
  nn::Graph net = build_model(recipe, kDigits);
  const Recipe out = unrolled(recipe, net, 10);
  EXPECT_TRUE(out.values.empty());
  nn::Graph again = build_model(out, kDigits);
  const NamedTensors a = net.state_dict(), b = again.state_dict();
  ASSERT_EQ(a.size(), b.size());
  again.load_state_dict(a);
  net.eval(), again.eval();
  Rng rng(2);
  const Tensor x = randn({2, 1, 8, 8}, rng);
  EXPECT_TRUE(array_equal(net(x), again(x)));
  // And as a text, which is read again.
  EXPECT_EQ(build_model(parse(in_toml(out)), kDigits).parameter_count(), net.parameter_count());
  EXPECT_THAT(in_toml(out), HasSubstr("head: Linear(outputs)"));
  EXPECT_THAT(in_toml(out), HasSubstr("conv: Conv2d(16, 3, stride=2, padding=1, bias=false)"));
}

TEST(Unrolled, ChangesOneOfSeveralLayersThatHadOneText) {
  const Recipe recipe = parse(kUnits);
  const nn::Graph net = build_model(recipe, kDigits);
  const Recipe out = unrolled(recipe, net, 10, {{"1.0.conv", {{"out", "5"}}}});
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : build_model(out, kDigits).state_dict()) shapes[name] = tensor.shape();
  EXPECT_EQ(shapes.at("1.0.conv.weight"), Shape({5, 8, 3, 3}));
  EXPECT_EQ(shapes.at("1.0.3.weight"), Shape({8, 5, 3, 3}));
  EXPECT_EQ(shapes.at("1.1.conv.weight"), Shape({8, 8, 3, 3}));
}

TEST(Unrolled, KeepsTextsWithoutWordsAndNames) {
  const Recipe recipe = parse(
      "[data]\nkind = \"mnist\"\n[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]\n[train]\nepochs = "
      "1\n");
  const Recipe out = unrolled(recipe, build_model(recipe, kDigits), 10);
  EXPECT_THAT(out.layers.texts, ElementsAre("Flatten", "Linear(outputs)"));
  EXPECT_EQ(out.epochs, 1);
}

TEST(Unrolled, MoreBlocksThanARecipeHasAreRefused) {
  const Recipe recipe = parse(
      "[data]\nkind = \"mnist\"\n[block.one]\nlayers = [\"Linear(4)\"]\n[model]\nlayers = [\"Flatten\", "
      "\"300 x "
      "one\", \"Linear(outputs)\"]\n[train]\nepochs = 1\n");
  EXPECT_THAT(test::error_of<UsageError>([&] { unrolled(recipe, build_model(recipe, kDigits), 10); }),
              HasSubstr("256 blocks"));
}

}  // namespace
}  // namespace veldt::recipe
