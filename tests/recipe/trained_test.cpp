// What veldt train writes, opened in one call and used; what is refused, with the call that fits.
#include "veldt/recipe/trained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/create.h"
#include "veldt/recipe/measure.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {
namespace {

using test::bytes_of;
using test::error_of;
using test::put_bytes;
using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string kEnd = "\n[model]\nlayers = [\"LAYERS\"]\n[train]\nepochs = 1\n";
const std::string kPictures = "[data]\nkind = \"pictures\"\nprepare = [\"normalise(0.5, 0.5)\"]" + kEnd;
const std::string kNumbers =
    "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"weight\"\ntest = 0.5" + kEnd;
const std::string kKinds =
    "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"kind\"\nclasses = true" + kEnd;
const std::string kSeries =
    "[data]\nkind = \"series\"\npath = \"s.csv\"\ncolumn = \"sold\"\ncontext = 2\nhorizon = 2" + kEnd;
const std::string kText = "[data]\nkind = \"text\"\npath = \"t.txt\"\ncontext = 3" + kEnd;

// A network with weights of the test's own, which is saved and opened again.
class TrainedTest : public testing::Test {
 protected:
  Trained opened(std::string toml, const std::string& layers, const Facts& facts,
                 const std::vector<std::vector<float>>& weights, const train::Scores& scores = {}) const {
    toml.replace(toml.find("LAYERS"), 6, layers);
    const Recipe recipe = parse(toml);
    nn::Graph model = build_model(recipe, facts.model);
    const NoGrad off;
    std::size_t i = 0;
    for (const auto& [name, parameter] : model.named_parameters()) {
      Tensor into = parameter;
      into.assign(Tensor::from<float>(parameter.shape(), weights.at(i++)));
    }
    save(file_, recipe, facts, model, scores);
    return load(file_);
  }
  // Dark or light, by the sum of a picture of 2 x 2.
  Trained pictures(const train::Scores& scores = {}) const {
    Facts facts;
    facts.model = {{1, 2, 2}, DType::f32, 2};
    facts.classes = {"dark", "light"};
    return opened(kPictures, "Flatten\", \"Linear(outputs)", facts, {{-1, -1, -1, -1, 1, 1, 1, 1}, {0, 0}},
                  scores);
  }
  // weight = 100 (length + 2 height) + 5000, learned from standard scores.
  Trained numbers() const {
    Facts facts;
    facts.model = {{2}, DType::f32, 1};
    facts.inputs = {"length", "height"};
    facts.columns = {{10, 2}, {20, 4}};
    facts.scaling = {10'000, 100};
    return opened(kNumbers, "Linear(outputs)", facts, {{2, 8}, {0}});
  }
  Trained kinds() const {
    Facts facts;
    facts.model = {{1}, DType::f32, 3};
    facts.classes = {"a", "b", "c"};
    facts.inputs = {"length"};
    facts.columns = {{0, 1}};
    return opened(kKinds, "Linear(outputs)", facts, {{0, 1, -1}, {0.5F, 0, 0}});
  }
  // Both next values are the last one and 1, as they are scaled.
  Trained series() const {
    Facts facts;
    facts.model = {{2, 1}, DType::f32, 2};
    facts.scaling = {100, 10};
    return opened(kSeries, "Flatten\", \"Linear(outputs)", facts, {{0, 1, 0, 1}, {1, 1}});
  }
  // After each letter of "abc" the next one.
  Trained text() const {
    Facts facts;
    facts.tokenizer = std::make_shared<data::CharTokenizer>("abc");
    facts.model = {{3}, DType::i64, 3};
    return opened(kText, "Embedding(3)\", \"Linear(outputs)", facts,
                  {{0, 99, 0, 0, 0, 99, 99, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}});
  }

  const test::TempDir dir_ = test::TempDir::in_memory();
  const std::string file_ = dir_ / "model.safetensors";
};

TEST_F(TrainedTest, ClassifiesAPictureOfAnySizeFormAndFile) {
  const Trained model = pictures();
  EXPECT_FALSE(model.model.training());
  const std::vector<Guess> light = model.classify(full({2, 2, 1}, 0.75));
  ASSERT_THAT(light, SizeIs(2));
  EXPECT_EQ(light[0].name, "light");
  EXPECT_NEAR(light[0].probability, 1 / (1 + std::exp(-4.0)), 1e-6);  // 4 x (0.75 - 0.5) / 0.5, twice
  EXPECT_NEAR(light[0].probability + light[1].probability, 1, 1e-6);
  EXPECT_EQ(model.classify(full({8, 5, 4}, 0.2))[0].name, "dark");
  EXPECT_EQ(model.classify(full({2, 2, 3}, 200, DType::u8))[0].name, "light");
  io::write_image(dir_ / "p.png", full({6, 6, 3}, 0.75));
  EXPECT_NEAR(model.classify(dir_ / "p.png")[0].probability, light[0].probability, 0.01);
  EXPECT_EQ(model.prepare(full({9, 9, 3}, 0.75)).shape(), (Shape{1, 1, 2, 2}));
  EXPECT_THROW(model.classify(full({2, 2}, 0.5)), ShapeError);
  EXPECT_THROW(model.classify(full({1, 2, 2, 1}, 0.5)), ShapeError);
  EXPECT_THROW(model.classify(dir_ / "none.png"), IoError);
}

TEST_F(TrainedTest, PredictsNumbersAndClassesOfRows) {
  const Trained of_numbers = numbers();
  const Tensor rows = Tensor::of({2, 2}, {10, 20, 12, 24});
  EXPECT_THAT(of_numbers.predict(rows), ElementsAre(DoubleNear(10'000, 1e-2), DoubleNear(11'000, 1e-2)));
  put_bytes(dir_ / "rows.csv", "height,name,length\n20,x,10\n24,y,12\n");
  EXPECT_THAT(of_numbers.predict(of_numbers.read_rows(dir_ / "rows.csv")),
              ElementsAre(DoubleNear(10'000, 1e-2), DoubleNear(11'000, 1e-2)));
  EXPECT_THAT(error_of<ShapeError>([&] { of_numbers.predict(zeros({3})); }), HasSubstr("length, height"));
  EXPECT_THROW(of_numbers.predict(zeros({1, 3})), ShapeError);
  const std::vector<std::vector<Guess>> classes = kinds().classify_rows(Tensor::of({3, 1}, {4, -4, 0}));
  ASSERT_THAT(classes, SizeIs(3));
  EXPECT_EQ(classes[0][0].name, "b");
  EXPECT_EQ(classes[1][0].name, "c");
  EXPECT_EQ(classes[2][0].name, "a");
  EXPECT_EQ(classes[2][1].name, "b");  // as likely as c, and before it
}

TEST_F(TrainedTest, ContinuesASeriesInItsUnits) {
  const Trained model = series();
  EXPECT_THAT(model.forecast({100, 120}), ElementsAre(DoubleNear(130, 1e-3), DoubleNear(130, 1e-3)));
  EXPECT_THAT(model.forecast({100, 120}, 3),
              ElementsAre(DoubleNear(130, 1e-3), DoubleNear(130, 1e-3), DoubleNear(140, 1e-3)));
  put_bytes(dir_ / "s.csv", "month,sold\n1,100\n2,120\n");
  EXPECT_THAT(model.read_series(dir_ / "s.csv"), ElementsAre(100, 120));
  EXPECT_THROW(model.forecast({100}), UsageError);
  EXPECT_THROW(model.forecast({100, 120}, -1), ConfigError);
}

TEST_F(TrainedTest, WritesOn) {
  const Trained model = text();
  EXPECT_EQ(model.write({.prompt = "ab", .count = 4}), "abcabc");
  EXPECT_THROW(model.write({.prompt = "z"}), ConfigError);
  EXPECT_THROW(model.write({.count = -1}), ConfigError);
  EXPECT_THROW(model.write({.temperature = -1}), ConfigError);
  EXPECT_EQ(model.write({.prompt = "ab", .count = 4, .temperature = 0}), "abcabc");
  int left = 2;
  EXPECT_EQ(model.write({.prompt = "ab", .count = 4, .should_stop = [&] { return left-- == 0; }}), "abca");
}

TEST_F(TrainedTest, OpensTheFolderOfARunAndWhatIsBestSoFar) {
  pictures({{"test_accuracy", 0.75}, {"val_loss", NAN}});
  const Trained whole = load(dir_.path());
  EXPECT_EQ(train::score(whole.scores, "test_accuracy"), 0.75);
  EXPECT_THAT(whole.scores, SizeIs(1));
  EXPECT_EQ(whole.recipe.kind, "pictures");
  EXPECT_THAT(whole.facts.classes, ElementsAre("dark", "light"));
  // A run that has not ended.
  std::filesystem::rename(file_, dir_ / "best.safetensors");
  EXPECT_EQ(model_file(dir_.path()), dir_ / "best.safetensors");
  EXPECT_EQ(load(dir_.path()).classify(full({2, 2, 1}, 0.75))[0].name, "light");
  std::filesystem::remove(dir_ / "best.safetensors");
  EXPECT_THAT(error_of<IoError>([&] { load(dir_.path()); }), HasSubstr("best.safetensors"));
  EXPECT_THROW(load(dir_ / "none.safetensors"), IoError);
}

TEST_F(TrainedTest, AnotherKindOfUseIsToldTheRightCall) {
  const auto refusal = [](const auto& call) { return error_of<UsageError>(call); };
  const Tensor any = zeros({2, 2, 1});
  const Trained of_series = series();
  EXPECT_THAT(refusal([&] { of_series.classify(any); }),
              AllOf(HasSubstr("classify()"), HasSubstr("a series"), HasSubstr("forecast(values)")));
  EXPECT_THAT(refusal([&] { of_series.classify("no.png"); }), HasSubstr("a series"));
  EXPECT_THAT(refusal([&] { of_series.prepare(any); }), HasSubstr("prepare()"));
  EXPECT_THAT(refusal([&] { pictures().forecast({1, 2}); }), HasSubstr("classify(picture)"));
  EXPECT_THAT(refusal([&] { numbers().classify_rows(any); }), HasSubstr("predict(rows)"));
  EXPECT_THAT(refusal([&] { kinds().predict(any); }), HasSubstr("classify_rows(rows)"));
  EXPECT_THAT(refusal([&] { kinds().write(); }), HasSubstr("write()"));
  EXPECT_THAT(refusal([&] { text().read_rows("t.csv"); }), HasSubstr("a text"));
  EXPECT_THAT(refusal([&] { text().read_series("t.csv"); }), HasSubstr("a text"));
}

TEST_F(TrainedTest, AnotherKindOfFileIsRefused) {
  const Trained model = pictures();
  const io::SafeTensors file = io::read_safetensors(file_);
  const auto refusal = [&](const std::string& key, const std::string& value) {
    auto metadata = file.metadata;
    metadata.erase("veldt.xxh3");
    metadata[key] = value;
    io::write_safetensors(dir_ / "other.safetensors", file.tensors, metadata);
    return error_of<IoError>([&] { load(dir_ / "other.safetensors"); });
  };
  EXPECT_THAT(refusal("kind", "veldt.image_field"), HasSubstr("veldt train wrote"));
  EXPECT_THAT(refusal("scores", "[["), HasSubstr("JSON"));
  EXPECT_THAT(refusal("format_version", "2"), HasSubstr("version 2"));
  // A picture without channels.
  std::string facts = file.metadata.at("facts");
  facts.replace(facts.find("[1,2,2]"), 7, "[4]");
  EXPECT_THAT(refusal("facts", facts), HasSubstr("do not fit together"));
  io::write_safetensors(dir_ / "bare.safetensors", file.tensors);
  EXPECT_THAT(error_of<IoError>([&] { load(dir_ / "bare.safetensors"); }), HasSubstr("'kind'"));
}

TEST_F(TrainedTest, IsMeasuredOnItsData) {
  Trained model = numbers();
  std::string table = "length,height,weight\n";
  for (int i = 0; i < 20; ++i)  // 100 too heavy for what the network says
    table += std::to_string(i) + ",20," + std::to_string(10'000 + 100 * (i - 10) + 100) + "\n";
  put_bytes(dir_ / "t.csv", table);
  const Measured found = measure(model, dir_.path());
  EXPECT_EQ(found.examples, 10);
  EXPECT_NEAR(train::score(found.scores, "mae"), 100, 1);
  EXPECT_THROW(measure(model, dir_.path(), {.part = "validation"}), UsageError);
  EXPECT_THROW(measure(model, dir_.path(), {.part = "some"}), UsageError);
  EXPECT_THROW(measure(model, dir_.path(), {.drawing = dir_ / "f.svg"}), UsageError);
}

TEST(RecipeText, IsReadWithoutAFile) {
  const Recipe recipe =
      parse("[data]\nkind = \"mnist\"\n[model]\nlayers = \"Linear(outputs)\"\n[train]\nepochs = 3\n",
            {"train.epochs=4"});
  EXPECT_EQ(recipe.kind, "mnist");
  EXPECT_EQ(recipe.epochs, 4);
  EXPECT_THAT(error_of<UsageError>([] { parse("[data]\nkind = \"minst\"\n"); }), HasSubstr("recipe:2"));
  EXPECT_THAT(error_of<ConfigError>([] { parse("[data\n"); }), HasSubstr("recipe:1"));
  EXPECT_THAT(error_of<UsageError>([] { parse("[data]\nkind = \"mnist\"\n"); }), HasSubstr("model.layers"));
}

TEST(RecipeText, IsEnoughForANetwork) {
  const std::string layers =
      "[model]\nlayers = [\"Flatten\", \"Linear(8)\", \"ReLU\", \"Linear(outputs)\"]\n";
  const nn::Graph model = build_model(layers, {.input = {1, 4, 4}, .outputs = 3});
  EXPECT_EQ(model(zeros({2, 1, 4, 4})).shape(), (Shape{2, 3}));
  EXPECT_THAT(error_of<UsageError>([] { build_model("[model]\n", {.input = {4}, .outputs = 3}); }),
              HasSubstr("model.layers"));
  EXPECT_THAT(error_of<UsageError>(
                  [] { build_model("[model]\nlayers = [\"Liner(3)\"]\n", {.input = {4}, .outputs = 3}); }),
              AllOf(HasSubstr("recipe:2"), HasSubstr("did you mean Linear?")));
}

}  // namespace
}  // namespace veldt::recipe
