// veldt export: every recipe of recipes/ and fields of each kind, checked by the onnx package and run by
// onnxruntime where a Python has them; what the command says and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/command.h"
#include "tests/app/small_model.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/field/image_field.h"
#include "veldt/io/file.h"
#include "veldt/io/npy.h"
#include "veldt/models/model_file.h"
#include "veldt/onnx/network.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/recipe/trained.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

#define NEEDS_ONNXRUNTIME()                    \
  if (!python_has("numpy, onnx, onnxruntime")) \
  GTEST_SKIP() << python() << " has no onnx and onnxruntime; set VELDT_PYTHON"

int run_peers(const TempDir& dir) {
  return run_python(str("-B ", VELDT_SOURCE, "/tests/onnx/peers.py ", dir.path()));
}

// Facts such as the recipe's data would have, but small.
recipe::Facts facts_for(const recipe::Recipe& r) {
  recipe::Facts facts;
  recipe::ModelFacts& model = facts.model;
  if (r.learns_tokens()) {
    facts.tokenizer = std::make_shared<data::CharTokenizer>("abcdefgh ");
    model = {.input = {r.kind == "text" ? r.context : 7}, .dtype = DType::i64, .outputs = 9};
    if (r.kind == "pairs") model.target = {5};
    return facts;
  }
  if (r.kind == "series") {
    model = {.input = {r.context, 1}, .outputs = r.horizon};
  } else if (r.kind == "table") {
    model = {.input = {4}, .outputs = 3};
    facts.inputs = {"a", "b", "c", "d"};
    facts.columns = {{1, 2}, {0, 1}, {-3, 0.5}, {10, 4}};
  } else if (r.denoises()) {
    model = {.input = {3, r.crop, r.crop}, .outputs = 3, .output = {3, r.crop, r.crop}};
  } else {
    model = {.input = r.kind == "mnist" ? Shape{1, 28, 28} : Shape{3, 32, 32}, .outputs = 10};
  }
  if (r.knows_classes())
    for (std::int64_t i = 0; i < model.outputs; ++i) facts.classes.push_back(str("class ", i));
  return facts;
}

// The arrays of peers.py, with what the model of the recipe gives for batches of 1 and 4.
void put_expected(const std::string& path, const recipe::Trained& trained) {
  const NoGrad off;
  const recipe::ModelFacts& facts = trained.facts.model;
  Rng rng(5);
  NamedTensors arrays;
  for (const std::int64_t batch : {1, 4}) {
    TensorList inputs;
    for (const Shape& shape : {facts.input, facts.target}) {
      if (shape.rank() == 0) continue;
      const Shape all = shape.with_inserted(0, batch);
      inputs.push_back(facts.dtype == DType::i64 ? randint(all, rng, 0, 9) : rand(all, rng));
      arrays.push_back({str('x', batch, '_', inputs.size() - 1), inputs.back()});
    }
    const Tensor y = trained.recipe.kind == "table"
                         ? trained.model(recipe::scaled_columns(inputs[0], trained.facts.columns))
                     : inputs.size() == 1 ? trained.model(inputs[0])
                                          : trained.model(inputs)[0];
    arrays.push_back({str('y', batch, "_0"), contiguous(y)});
  }
  io::write_npz(path, arrays);
}

TEST(SlowExport, EveryRecipeRunsInOnnxruntime) {
  NEEDS_ONNXRUNTIME();
  const TempDir dir;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(VELDT_SOURCE "/recipes")) {
    if (entry.path().extension() != ".toml") continue;
    const std::string name = entry.path().stem(), model = dir / (name + ".safetensors");
    std::vector<std::string> sets;
    if (name == "resnet18") sets = {"values.width=8"};
    const recipe::Recipe r = recipe::read(entry.path(), sets);
    if (r.acts()) continue;  // a policy is trained for its environment
    const recipe::Facts facts = facts_for(r);
    recipe::save(model, r, facts, recipe::build_model(r, facts.model), {});
    const Ran ran = run_veldt({"export", model, "-o", dir / (name + ".onnx"), "--threads", "1"});
    EXPECT_EQ(ran.exit_code, 0) << name << ": " << ran.err;
    put_expected(dir / (name + ".npz"), recipe::load(model));
    ++count;
  }
  EXPECT_GE(count, 11);
  EXPECT_EQ(run_peers(dir), 0);
}

// What veldt import --as makes of a file of torchvision's, and models::save() writes.
TEST(ExportKnown, ANetworkTakesPicturesOfItsSize) {
  const TempDir dir;
  Rng rng(1);
  models::Model model = models::make_model("mobilenet_v3_small", {{"classes", 7}, {"width", 0.25}}, rng);
  model.preprocessing.height = model.preprocessing.width = 48;
  models::save(dir / "net.safetensors", model);
  const Ran ran = run_veldt({"export", dir / "net.safetensors", "-o", dir / "net.onnx"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const onnx::Network exported = onnx::load(dir / "net.onnx");
  EXPECT_EQ(exported.inputs()[0].type.description(), "float[batch,3,48,48]");
  EXPECT_EQ(exported.outputs()[0].type.description(), "float[batch,7]");
  EXPECT_EQ(exported.model().metadata.at("architecture"), "mobilenet_v3_small");
  model.network->eval();
  const Tensor x = rand({1, 3, 48, 48}, rng);
  EXPECT_LT(max(abs(exported(x) - (*model.network)(x))).item(), 1e-4);
}

// The places of all pixels, [height * width, 2], as a file takes them.
Tensor grid_of_places(std::int64_t width, std::int64_t height) {
  std::vector<float> places;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      places.push_back((static_cast<float>(x) + 0.5f) / static_cast<float>(width));
      places.push_back((static_cast<float>(y) + 0.5f) / static_cast<float>(height));
    }
  return Tensor::from<float>({height * width, 2}, places);
}

TEST(SlowExport, FieldsDrawTheSamePictureInOnnxruntime) {
  NEEDS_ONNXRUNTIME();
  const TempDir dir;
  put_bytes(dir / "rings.png", rings_png());
  for (const std::string kind : {"siren", "finer", "tanh", "relu", "gauss", "wire", "fourier", "hashgrid"}) {
    const std::string model = dir / (kind + ".safetensors");
    ASSERT_EQ(run_veldt({"fit", dir / "rings.png", "-o", model, "--steps", "20", "--batch", "128",
                         "--threads", "1", "--model", kind})
                  .exit_code,
              0)
        << kind;
    const Ran ran = run_veldt({"export", model, "-o", dir / (kind + ".onnx")});
    ASSERT_EQ(ran.exit_code, 0) << kind << ": " << ran.err;
    const field::ImageField field = field::ImageField::load(model);
    const Tensor picture = field.open_levels(1, [](double) {});
    const std::int64_t channels = picture.size(2);
    const Tensor one = slice(slice(picture, 0, 0, 1), 1, 0, 1);
    io::write_npz(dir / (kind + ".npz"), {{"x768_0", grid_of_places(32, 24)},
                                          {"y768_0", reshape(picture, {768, channels})},
                                          {"x1_0", slice(grid_of_places(32, 24), 0, 0, 1)},
                                          {"y1_0", contiguous(reshape(one, {1, channels}))}});
  }
  EXPECT_EQ(run_peers(dir), 0);
}

class ExportVerb : public testing::Test {
 protected:
  ExportVerb() {
    recipe::Recipe r = recipe::read(VELDT_SOURCE "/recipes/flowers.toml");
    const recipe::Facts facts = facts_for(r);
    recipe::save(dir_ / "m.safetensors", r, facts, recipe::build_model(r, facts.model), {});
  }
  TempDir dir_;
};

TEST_F(ExportVerb, SaysWhatItWrote) {
  const Ran ran = run_veldt({"export", dir_ / "m.safetensors", "-o", dir_ / "x.onnx", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json said = json::parse(ran.out);
  EXPECT_EQ(said.at("opset"), 18);
  EXPECT_EQ(said.at("parameters"), 15);
  EXPECT_EQ(said.at("bytes"), io::read_file(dir_ / "x.onnx").size());
  EXPECT_TRUE(said.at("batch").is_null());
  EXPECT_THAT(io::read_file(dir_ / "x.onnx"), HasSubstr("class 2"));  // among the facts
  const Ran fixed = run_veldt({"export", dir_ / "m.safetensors", "-o", dir_ / "y.onnx", "--batch", "3"});
  EXPECT_THAT(fixed.out, HasSubstr("batches of 3"));
}

TEST_F(ExportVerb, RefusesWhatIsNoModel) {
  put_bytes(dir_ / "rings.png", rings_png());
  const Ran ran = run_veldt({"export", dir_ / "rings.png", "-o", dir_ / "x.onnx"});
  EXPECT_EQ(ran.exit_code, 4) << ran.err;
  EXPECT_TRUE(has_three_lines(ran.err));
  const Ran onto = run_veldt({"export", dir_ / "m.safetensors", "-o", dir_ / "m.safetensors"});
  EXPECT_EQ(onto.exit_code, 2);
  const Ran other = run_veldt({"export", dir_ / "m.safetensors", "-o", dir_ / "x.txt"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("networks are written as .onnx"));
}

}  // namespace
}  // namespace veldt::test
