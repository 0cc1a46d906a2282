// What recipes say of pictures at test time, and layers that are computed from the data before the first
// step.
#include "veldt/recipe/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/data/pictures.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/whitening.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/layers.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/trainer.h"
#include "veldt/recipe/whitening.h"

namespace veldt::recipe {
namespace {

using testing::HasSubstr;

Recipe recipe_with(const std::string& lines) { return parse("[data]\nkind = \"pictures\"\n" + lines); }
std::string layers_of(const std::string& layers) {
  return "[model]\nlayers = [" + layers + "]\n[train]\nsteps = 1\n";
}

// Two outputs, neither the same for the mirror image.
nn::Graph lopsided_network(const Recipe& recipe) { return build_model(recipe, {{3, 6, 6}, DType::f32, 2}); }
const std::string kLopsided = layers_of(R"-("Conv2d(4, 3)", "Tanh", "Flatten", "Linear(outputs)")-");

void expect_same(const Tensor& a, const Tensor& b) {
  const std::vector<float> left = a.values<float>(), right = b.values<float>();
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_NEAR(left[i], right[i], 1e-5f) << i;
}

TEST(RecipeViews, AreOneWithoutAugmentationAndInTraining) {
  const Recipe plain = recipe_with(kLopsided),
               mirrored = recipe_with("test_time_augment = \"horizontal_flip\"\n" + kLopsided);
  nn::Graph net = lopsided_network(plain);
  Rng rng(3);
  const Tensor x = randn({5, 3, 6, 6}, rng);
  net.train();
  expect_same(outputs_of(mirrored, net, x), net(x));
  net.eval();
  expect_same(outputs_of(plain, net, x), net(x));
}

TEST(RecipeViews, OfAPictureAndItsMirrorImageAreTheSame) {
  for (const char* const kind : {"horizontal_flip", "multi_crop"}) {
    const Recipe recipe = recipe_with(std::string("test_time_augment = \"") + kind + "\"\n" + kLopsided);
    nn::Graph net = lopsided_network(recipe);
    net.eval();
    Rng rng(3);
    const Tensor x = randn({5, 3, 6, 6}, rng), y = outputs_of(recipe, net, x);
    if (std::string(kind) == "horizontal_flip") {
      expect_same(y, (net(x) + net(flip(x, {3}))) / 2);
      expect_same(y, outputs_of(recipe, net, flip(x, {3})));
    }
    // What is the same everywhere looks the same however it is moved.
    const Tensor flat = full({1, 3, 6, 6}, 0.7);
    expect_same(outputs_of(recipe, net, flat), net(flat));
  }
}

TEST(RecipeViews, OfSixCropsAreMovedByAPixel) {
  const Recipe recipe = recipe_with("test_time_augment = \"multi_crop\"\n" + kLopsided);
  nn::Graph net = lopsided_network(recipe);
  net.eval();
  Rng rng(3);
  const Tensor x = randn({2, 3, 6, 6}, rng), padded = pad(x, {1, 1, 1, 1}, PadMode::reflect);
  Tensor sum = zeros({2, 2});
  for (const std::int64_t begin : {0, 1, 2}) {
    const Tensor view = slice(slice(padded, 2, begin, begin + 6), 3, begin, begin + 6);
    sum = sum + (net(view) + net(flip(view, {3}))) * (begin == 1 ? 0.25 : 0.125);
  }
  expect_same(outputs_of(recipe, net, x), sum);
}

TEST(RecipeViews, AreOfAKnownKind) {
  EXPECT_THAT(test::error_of<UsageError>([] { recipe_with("test_time_augment = \"vertical\"\n"); }),
              HasSubstr("test_time_augment"));
}

TEST(RecipeTraining, NesterovIsForDescentWithAMomentum) {
  EXPECT_THROW(check_set({}, "optimizer.nesterov=7"), UsageError);
  const auto with = [](const std::string& lines) {
    check_training(recipe_with("[optimizer]\nnesterov = true\n" + lines + kLopsided));
  };
  with("kind = \"sgd\"\nmomentum = 0.9\n");
  EXPECT_THAT(test::error_of<UsageError>([&] { with("kind = \"sgd\"\n"); }), HasSubstr("without a momentum"));
  EXPECT_THAT(test::error_of<UsageError>([&] { with("kind = \"adam\"\n"); }), HasSubstr("not for adam"));
}

// A set of the pictures' own: as many colours as a whitening needs.
Data pictures_data(const Recipe& recipe) {
  Rng rng(7);
  Data data;
  data.train =
      data::pictures(randint({40, 3, 8, 8}, rng, 0, 255, DType::u8), zeros({40}, DType::i64), {"a", "b"});
  data.prepare = preparing(recipe);
  data.facts.model = {{3, 8, 8}, DType::f32, 2};
  return data;
}

TEST(RecipeWhitening, FitsTheLayerToThePicturesThatComeInThere) {
  const Recipe recipe = recipe_with(
      "prepare = [\"normalise([0.5, 0.5, 0.5], [0.25, 0.25, 0.25])\"]\n" +
      layers_of(R"-("AvgPool2d(2)", "WhiteningConv2d(2)", "GELU", "Flatten", "Linear(outputs)")-"));
  const Data data = pictures_data(recipe);
  nn::Graph net = build_model(recipe, data.facts.model), again = build_model(recipe, data.facts.model);
  begin_whitening(recipe, data, net);
  begin_whitening(recipe, data, again);
  const Tensor weight = dynamic_cast<nn::WhiteningConv2d&>(net["1"]).weight();
  EXPECT_EQ(weight.values<float>(), dynamic_cast<nn::WhiteningConv2d&>(again["1"]).weight().values<float>());
  // What the layer reads is white behind it: the first direction has a mean square of 1.
  std::vector<Tensor> all;
  Rng rng(0);
  for (std::int64_t i = 0; i < data.train->size(); ++i)
    all.push_back(unsqueeze(data.prepare(data.train->get(i), rng).at(0), 0));
  const Tensor y = net["1"](net["0"](cat(all, 0)));
  ASSERT_EQ(y.shape(), (Shape{40, 24, 3, 3}));
  double sum = 0;
  for (const float v : contiguous(select(y, 1, 0)).values<float>())
    sum += static_cast<double>(v) * static_cast<double>(v);
  EXPECT_NEAR(sum / (40 * 9), 1, 2e-3);
  net(cat(all, 0));  // the hooks are gone
  EXPECT_EQ(weight.values<float>(), dynamic_cast<nn::WhiteningConv2d&>(net["1"]).weight().values<float>());
}

TEST(RecipeWhitening, LeavesOtherNetworksAlone) {
  const Recipe recipe = recipe_with(kLopsided);
  nn::Graph net = lopsided_network(recipe);
  begin_whitening(recipe, Data{}, net);  // it has no data
}

TEST(RecipeLayers, ABatchNormsScaleCanStayOne) {
  const std::string rest = R"-("Flatten", "Linear(outputs, bias=false)")-";
  const auto trained = [&](const std::string& norm) {
    std::vector<std::string> names;
    const nn::Graph net =
        build_model(recipe_with(layers_of("\"" + norm + "\", " + rest)), {{3, 6, 6}, DType::f32, 2});
    for (const NamedTensor& p : net.trained_parameters()) names.push_back(p.name);
    return names;
  };
  EXPECT_EQ(trained("BatchNorm2d"), (std::vector<std::string>{"0.weight", "0.bias", "2.weight"}));
  EXPECT_EQ(trained("BatchNorm2d(scale=off)"), (std::vector<std::string>{"0.bias", "2.weight"}));
}

TEST(RecipeLayers, DiracFiltersPassChannelsOn) {
  const Recipe recipe = recipe_with(
      layers_of(R"-("Conv2d(5, 3, padding=1, bias=false, init=dirac)", "Flatten", "Linear(outputs)")-"));
  const nn::Graph net = build_model(recipe, {{3, 6, 6}, DType::f32, 2});
  Rng rng(3);
  const Tensor x = randn({2, 3, 6, 6}, rng), y = net["0"](x);
  expect_same(slice(y, 1, 0, 3), x);
  double other = 0;
  for (const float v : contiguous(slice(y, 1, 3, 5)).values<float>())
    other += std::abs(static_cast<double>(v));
  EXPECT_GT(other, 1);  // these are random
  EXPECT_THAT(
      test::error_of<UsageError>([] { check_model(recipe_with(layers_of("\"Conv2d(5, 3, init=delta)\""))); }),
      HasSubstr("init=dirac"));
}

}  // namespace
}  // namespace veldt::recipe
