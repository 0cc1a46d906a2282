// Networks saved with what they need, and read again; heads that are replaced; files that lie.
#include "veldt/models/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/safetensors.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/lora.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::models {
namespace {

using test::error_of;
using test::TempDir;
using ::testing::HasSubstr;

Model small_model() {
  Rng rng(3);
  return make_model("mobilenet_v3_small", {{"width", 0.25}, {"classes", 5}, {"in_channels", 1}}, rng);
}

Tensor grey_pictures() {
  Rng rng(4);
  return randn({2, 1, 64, 64}, rng);
}

TEST(ModelFile, ASavedNetworkIsMadeAgain) {
  const TempDir dir;
  Model model = small_model();
  model.preprocessing.mean = {0.25};
  save(dir / "m.safetensors", model);
  const Model again = load(dir / "m.safetensors");
  EXPECT_EQ(again.architecture, "mobilenet_v3_small");
  EXPECT_EQ(again.options, model.options);
  EXPECT_EQ(again.preprocessing.mean, std::vector<double>{0.25});
  EXPECT_EQ(again.preprocessing.deviation.size(), 1u);
  EXPECT_FALSE(again.network->training());
  model.network->eval();
  const NoGrad off;
  EXPECT_EQ(max(abs((*again.network)(grey_pictures()) - (*model.network)(grey_pictures()))).item(), 0);
}

TEST(ModelFile, AnotherHeadHasItsOwnOutputsAndIsTrained) {
  Model model = small_model();
  model.network->freeze();
  const Tensor body = model.network->state_dict()[0].tensor;
  const std::vector<float> before = body.values<float>();
  replace_head(model, 3);
  EXPECT_EQ(model.options.at("classes"), 3);
  EXPECT_EQ((*model.network)(grey_pictures()).shape(), (Shape{2, 3}));
  EXPECT_EQ(body.values<float>(), before);
  EXPECT_EQ(model.network->trained_parameters().size(), 2u);
  const TempDir dir;
  save(dir / "m.safetensors", model);
  EXPECT_EQ(load(dir / "m.safetensors").options.at("classes"), 3);
}

TEST(ModelFile, AHeadMayBeAConvolution) {
  Rng rng(3);
  Model model = make_model("unet", {{"width", 0.0625}}, rng);
  replace_head(model, 5, rng);
  EXPECT_EQ((*model.network)(randn({1, 3, 32, 48}, rng)).shape(), (Shape{1, 5, 32, 48}));
}

TEST(ModelFile, RefusesToSaveWhatItCouldNotLoad) {
  const TempDir dir;
  Model model = small_model();
  replace_head(*model.network, "classifier.3", 3);  // behind the options' back
  const auto refused = [&] { return error_of([&] { save(dir / "m.safetensors", model); }); };
  EXPECT_THAT(refused(), HasSubstr("and [5] by its options"));
  EXPECT_THAT(refused(), HasSubstr("replace_head(model, outputs)"));
  replace_head(model, 3);
  nn::add_lora(*model.network, {"classifier.0"}, {.rank = 2});
  EXPECT_THAT(refused(), HasSubstr("it has an adapter, classifier.0.lora_A"));
  EXPECT_FALSE(std::filesystem::exists(dir / "m.safetensors"));
  nn::merge_lora(*model.network);
  save(dir / "m.safetensors", model);
  EXPECT_EQ(load(dir / "m.safetensors").options.at("classes"), 3);
}

TEST(ModelFile, RefusesHeadsThatAreNone) {
  Model model = small_model();
  EXPECT_THAT(error_of([&] { replace_head(*model.network, "fc", 3); }),
              HasSubstr("its Linear layers are classifier.0, classifier.3"));
  EXPECT_THAT(error_of([&] { replace_head(*model.network, "features", 3); }),
              HasSubstr("it is a Sequential"));
  EXPECT_THAT(error_of([&] { replace_head(model, 0); }), HasSubstr("cannot have 0 outputs"));
}

std::string refused(const Model& model, const std::string& key, const std::string& value) {
  const TempDir dir;
  save(dir / "m.safetensors", model);
  io::SafeTensors file = io::read_safetensors(dir / "m.safetensors");
  file.metadata.erase("veldt.xxh3");
  file.metadata[key] = value;
  io::write_safetensors(dir / "m.safetensors", file.tensors, file.metadata);
  return error_of([&] { load(dir / "m.safetensors"); });
}

TEST(ModelFile, RefusesFilesThatLie) {
  const Model model = small_model();
  EXPECT_THAT(refused(model, "kind", "veldt.recipe"), HasSubstr("its kind is 'veldt.recipe'"));
  EXPECT_THAT(refused(model, "format_version", "9"), HasSubstr("use a newer veldt"));
  EXPECT_THAT(refused(model, "architecture", "resnet99"), HasSubstr("there is no architecture 'resnet99'"));
  EXPECT_THAT(refused(model, "architecture", "vgg16"), HasSubstr("holds no known network"));
  EXPECT_THAT(refused(model, "options", R"({"classes": 1048576, "width": 8})"),
              HasSubstr("the file holds fewer"));
  EXPECT_THAT(refused(model, "options", R"({"classes": "5"})"), HasSubstr("in place of a number"));
  EXPECT_THAT(refused(model, "options", R"({"classes": 4})"), HasSubstr("holds no known network"));
  EXPECT_THAT(refused(model, "options", "["), HasSubstr("JSON"));
  EXPECT_THAT(refused(model, "preprocessing", "{}"), HasSubstr("holds no known network"));
  EXPECT_THAT(
      refused(model, "preprocessing", R"({"shorter_side":0,"height":1,"width":1,"mean":[],"deviation":[]})"),
      HasSubstr("shorter_side of its preprocessing makes no sense"));
  EXPECT_THAT(refused(model, "preprocessing",
                      R"({"shorter_side":4,"height":1,"width":1,"mean":[0],"deviation":[0]})"),
              HasSubstr("not above 0"));
}

}  // namespace
}  // namespace veldt::models
