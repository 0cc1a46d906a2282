// Known networks in recipes: built for the data, begun with a file's weights, frozen, taught at rates by
// group.
#include "veldt/recipe/known.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/safetensors.h"
#include "veldt/models/model_file.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/trainer.h"

namespace veldt::recipe {
namespace {

using test::error_of;
using test::TempDir;
using testing::AllOf;
using testing::HasSubstr;

Recipe known_recipe(const std::string& model, const std::string& more = "") {
  return parse("[data]\nkind = \"pictures\"\nheight = 32\nwidth = 32\n[model]\n" + model + '\n' + more +
               "\n[train]\nepochs = 1\n");
}

const ModelFacts kFacts{.input = {3, 32, 32}, .outputs = 3};
const std::string kSmall = "architecture = \"mobilenet_v3_small(width=0.25)\"\n";

// The file of a network with ten classes.
std::string save_weights(const TempDir& dir) {
  Rng rng(9);
  models::save(dir / "w.safetensors",
               models::make_model("mobilenet_v3_small", {{"width", 0.25}, {"classes", 10}}, rng));
  return dir / "w.safetensors";
}

TEST(Known, TheNetworkHasItsOwnNamesAndTheDatasClasses) {
  const nn::Graph net = build_model(known_recipe(kSmall), kFacts);
  EXPECT_EQ(net.named_parameters()[0].name, "features.0.0.weight");
  EXPECT_EQ(net(zeros({4, 3, 32, 32})).shape(), (Shape{4, 3}));
  const nn::Graph grey = build_model(known_recipe(kSmall), {.input = {1, 32, 32}, .outputs = 5});
  EXPECT_EQ(grey.named_parameters()[0].tensor.size(1), 1);
}

TEST(Known, BeginsWithAFilesWeightsButForTheHead) {
  const TempDir dir;
  const std::string path = save_weights(dir);
  const Recipe recipe = known_recipe(kSmall + "from = \"" + path + "\"");
  nn::Graph net = build_model(recipe, kFacts);
  const std::vector<float> head = net.trained_parameters("classifier.3")[0].tensor.values<float>();
  begin_known(recipe, net);
  const io::SafeTensors file = io::read_safetensors(path);
  for (const auto& [name, tensor] : net.named_parameters())
    if (!is_below(name, "classifier.3")) {
      EXPECT_EQ(tensor.values<float>(), file.find(name)->values<float>()) << name;
    }
  EXPECT_EQ(net.trained_parameters("classifier.3")[0].tensor.values<float>(), head);
}

TEST(Known, AHeadMayBeKept) {
  const TempDir dir;
  const std::string from = kSmall + "from = \"" + save_weights(dir) + "\"\nhead = \"kept\"";
  const Recipe recipe = known_recipe(from);
  nn::Graph net = build_model(recipe, {.input = {3, 32, 32}, .outputs = 10});
  begin_known(recipe, net);
  const io::SafeTensors file = io::read_safetensors(dir / "w.safetensors");
  EXPECT_EQ(net.trained_parameters("classifier.3")[0].tensor.values<float>(),
            file.find("classifier.3.weight")->values<float>());
  nn::Graph other = build_model(recipe, kFacts);
  EXPECT_THAT(error_of([&] { begin_known(recipe, other); }),
              AllOf(HasSubstr("does not fit mobilenet_v3_small"),
                    HasSubstr("classifier.3.weight: [3, 256] in the module, [10, 256]"),
                    HasSubstr("set model.head = \"new\"")));
}

TEST(Known, AFileThatWantsItsPicturesOtherwiseSaysSo) {
  const TempDir dir;
  models::Model model = models::make_model("mobilenet_v3_small", {{"width", 0.25}});
  model.preprocessing.mean = {0.5, 0.5, 0.25};
  models::save(dir / "w.safetensors", model);
  const std::string from = kSmall + "from = \"" + (dir / "w.safetensors") + "\"\n";
  nn::Graph net = build_model(known_recipe(from), kFacts);
  EXPECT_THAT(error_of([&] { begin_known(known_recipe(from), net); }),
              AllOf(HasSubstr("other means and deviations than mobilenet_v3_small's"),
                    HasSubstr("data.prepare = [\"normalise([0.5, 0.5, 0.25], [0.229, 0.224, 0.225])\"]")));
  begin_known(parse("[data]\nkind = \"pictures\"\nheight = 32\nwidth = 32\nprepare = [\"normalise([0.5, "
                    "0.5, 0.25], [0.229, 0.224, 0.225])\"]\n[model]\n" +
                    from + "[train]\nepochs = 1\n"),
              net);
}

TEST(Known, FreezesByName) {
  const auto left = [](const std::string& freeze) {
    const Recipe recipe = known_recipe(kSmall + "freeze = " + freeze);
    nn::Graph net = build_model(recipe, kFacts);
    begin_known(recipe, net);
    return net.trained_parameters();
  };
  EXPECT_EQ(left("\"body\"").size(), 2u);
  EXPECT_EQ(left("\"features\"").size(), 4u);
  EXPECT_EQ(left("[\"features\", \"classifier.0\"]").size(), 2u);
  // Of lists of numbers only biases are left: of nine blocks' two squeezing convolutions, and two Linear
  // layers.
  int lists = 0;
  for (const NamedTensor& p : left("\"norms\"")) lists += p.tensor.rank() == 1 ? 1 : 0;
  EXPECT_EQ(lists, 20);
  EXPECT_EQ(left("[\"body\"]")[0].name, "classifier.3.weight");
  EXPECT_THAT(error_of([&] { left("\"layer1\""); }),
              AllOf(HasSubstr("'model.freeze'"), HasSubstr("no parameter's name begins with layer1")));
  EXPECT_THAT(error_of([&] { left("\"bodi\""); }),
              AllOf(HasSubstr("\"body\", which is all but the head, \"norms\""),
                    HasSubstr("features, classifier"), HasSubstr("did you mean \"body\"?")));
  EXPECT_THAT(error_of([] {
                const Recipe none = known_recipe("architecture = \"vgg16\"\nfreeze = \"norms\"");
                nn::Graph small;
                begin_known(none, small);
              }),
              HasSubstr("has no batch norms"));
  EXPECT_THAT(error_of([&] { left("[\"features\", \"classifier\"]"); }),
              HasSubstr("leaves nothing to train"));
}

TEST(Known, RatesMayDifferByGroup) {
  const Recipe recipe =
      known_recipe(kSmall,
                   "[optimizer]\nkind = \"adamw\"\nlr = 1e-4\n[optimizer.groups]\nhead = 1e-2\n"
                   "\"features.0\" = 1e-5\n");
  nn::Graph net = build_model(recipe, kFacts);
  const auto optimizer = optimizer_of(recipe, net);
  ASSERT_EQ(optimizer->group_count(), 3u);
  EXPECT_EQ(optimizer->lr(), 1e-4);
  EXPECT_EQ(optimizer->group_lr(1), 1e-5);
  EXPECT_EQ(optimizer->group_lr(2), 1e-2);
  // Names without quotes are tables in tables.
  EXPECT_EQ(known_recipe(kSmall, "[optimizer.groups]\nfeatures.0 = 1e-5\n").groups.at("features.0").rate,
            1e-5);
  const Recipe wrong = known_recipe(kSmall, "[optimizer.groups]\nfeature = 1e-5\n");
  EXPECT_THAT(
      error_of([&] { optimizer_of(wrong, net); }),
      AllOf(HasSubstr(":9: 'optimizer.groups.feature': no trained parameter's name begins with feature"),
            HasSubstr("classifier, features")));
  EXPECT_THAT(error_of([&] { known_recipe(kSmall, "[optimizer.groups]\nhead = 0\n"); }),
              HasSubstr("optimizer.groups.head"));
  EXPECT_THAT(
      error_of([&] {
        check_training(known_recipe(kSmall, "[optimizer]\nkind = \"muon\"\n[optimizer.groups]\nhead = 1"));
      }),
      HasSubstr("'optimizer.groups.head': groups are not for muon"));
}

TEST(Known, AGroupHasOneRate) {
  const nn::Graph net = build_model(known_recipe(kSmall), kFacts);
  const Recipe twice = known_recipe(kSmall, "[optimizer.groups]\nhead = 1e-2\n\"classifier.3\" = 1e-3\n");
  EXPECT_THAT(error_of([&] { optimizer_of(twice, net); }),
              HasSubstr("'optimizer.groups.head': the group classifier.3 is there twice"));
}

// Groups are for layers too.
TEST(Known, LayersHaveGroupsByTheirNames) {
  const Recipe recipe = parse(
      "[data]\nkind = \"pictures\"\n[model]\nlayers = [\"Flatten\", \"first: Linear(4)\", "
      "\"Linear(outputs)\"]\n[optimizer.groups]\nfirst = 0.5\n[train]\nepochs = 1\n");
  const nn::Graph net = build_model(recipe, kFacts);
  EXPECT_EQ(optimizer_of(recipe, net)->group_lr(1), 0.5);
}

TEST(Known, PicturesArePreparedAsTheNetworkWantsThem) {
  Rng rng(1);
  const data::Example raw{full({3, 16, 24}, 0.5)};
  const Recipe unsized = parse("[data]\nkind = \"cifar10\"\n[model]\n" + kSmall + "[train]\nepochs = 1\n");
  const Tensor x = preparing(unsized)(raw, rng).at(0);
  EXPECT_EQ(x.shape(), (Shape{3, 224, 224}));
  EXPECT_NEAR(x.values<float>()[0], (0.5 - 0.485) / 0.229, 1e-5);
  // As models::prepare() does it, which cuts the sides off.
  Tensor ramp = zeros({16, 24, 3});
  for (std::int64_t column = 0; column < 24; ++column)
    select(ramp, 1, column).assign(full({16, 3}, static_cast<double>(column) / 24));
  EXPECT_EQ(preparing(unsized)({contiguous(permute(ramp, {2, 0, 1}))}, rng).at(0).values<float>(),
            models::prepare(models::about("mobilenet_v3_small").preprocessing, ramp).values<float>());
  EXPECT_EQ(preparing(known_recipe(kSmall))({full({1, 32, 32}, 0.5)}, rng).at(0).shape(), (Shape{1, 32, 32}));
  const Recipe own = parse("[data]\nkind = \"cifar10\"\nprepare = [\"resize(8, 4)\"]\n[model]\n" + kSmall +
                           "[train]\nepochs = 1\n");
  EXPECT_EQ(preparing(own)(raw, rng).at(0).shape(), (Shape{3, 4, 8}));
}

TEST(Known, RefusesWhatIsNotThere) {
  const auto refusal = [](const std::string& model) {
    return error_of([&] { check_model(known_recipe(model)); });
  };
  EXPECT_THAT(refusal("architecture = \"resnet19\""), HasSubstr("resnet18"));
  EXPECT_THAT(refusal("architecture = \"resnet18(width=2)\""), HasSubstr("width"));
  EXPECT_THAT(refusal("architecture = \"resnet18(classes=2)\""), HasSubstr("classes"));
  EXPECT_THAT(refusal("architecture = \"mobilenet_v2(width=-1)\""), HasSubstr("width"));
  EXPECT_THAT(refusal("architecture = \"resnet18\"\nlayers = [\"Linear(2)\"]"),
              HasSubstr("'model.layers' is not for known networks"));
  EXPECT_THAT(refusal("from = \"x.pth\"\nlayers = [\"Linear(2)\"]"), HasSubstr("for known networks alone"));
  EXPECT_THAT(refusal("architecture = \"resnet18\"\nhead = \"old\""), HasSubstr("model.head"));
  EXPECT_THAT(error_of([] {
                parse(
                    "[data]\nkind = \"table\"\npath = \"t\"\ntarget = \"a\"\n[model]\narchitecture = "
                    "\"resnet18\"\n[train]\nepochs = 1\n");
              }),
              HasSubstr("is not for data of the kind 'table'"));
  EXPECT_THAT(error_of([] { build_model(known_recipe("architecture = \"unet\""), kFacts); }),
              HasSubstr("ends in [1, 3, 32, 32]"));
  EXPECT_THAT(
      error_of([] {
        build_model(known_recipe("architecture = \"vit_b_16\""), {.input = {3, 32, 48}, .outputs = 3});
      }),
      HasSubstr("takes square pictures"));
  EXPECT_THAT(
      error_of([] {
        build_model(known_recipe("architecture = \"vit_b_16\""), {.input = {3, 40, 40}, .outputs = 3});
      }),
      HasSubstr("give a multiple of 16"));
  EXPECT_THAT(error_of([] { build_model(known_recipe("architecture = \"vgg16\""), kFacts, 1000); }),
              HasSubstr("the file holds fewer"));
}

}  // namespace
}  // namespace veldt::recipe
