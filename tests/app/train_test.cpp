// train, eval and predict: small data sets are learned, resumed runs equal runs that were never killed, and
// invalid recipes are reported with their line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/app/rows_data.h"
#include "tests/app/small_model.h"
#include "tests/support/http_server.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/training_view.h"
#include "veldt/io/csv.h"
#include "veldt/io/directory.h"
#include "veldt/io/safetensors.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string kRowsRecipe = R"toml(
[data]
kind = "mnist"
path = "rows"
batch = 20
validation = 0.1
augment = ["gaussian_noise(0.05)"]
prepare = ["normalise(0.2, 0.3)"]
[model]
layers = ["Conv2d(4, 3, padding=1)", "ReLU", "MaxPool2d(2)", "Flatten", "Dropout(0.1)", "Linear(outputs)"]
[optimizer]
lr = 1e-2
[train]
epochs = 4
)toml";

class TrainVerb : public testing::Test {
 protected:
  TrainVerb() {
    put_rows(dir_ / "rows", "train", 600);
    put_rows(dir_ / "rows", "t10k", 200);
  }
  std::string recipe(const std::string& text, const std::string& name = "r.toml") const {
    put_bytes(dir_ / name, text);
    return dir_ / name;
  }
  Ran train(const std::string& text, const Words& more = {}) const {
    return run_veldt(Words{"train", recipe(text), "--data", dir_ / "", "--out", dir_ / "run"} + more);
  }
  json trained(const std::string& text, const Words& more = {}) const {
    const Ran ran = train(text, more + Words{"--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out, nullptr, false);
  }
  // With an edit, `text` is refused with all the words.
  void expect_refused(std::string text, const std::string& from, const std::string& to, int code,
                      const Words& words) const {
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const Ran ran = train(text);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    for (const std::string& word : words) EXPECT_THAT(ran.err, HasSubstr(word)) << to;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "run/model.safetensors"));
  }

  const TempDir dir_;
};

TEST_F(TrainVerb, LearnsPicturesAndEvalAndPredictAgreeWithIt) {
  const json found = trained(kRowsRecipe);
  EXPECT_GT(found.at("test_accuracy"), 0.95) << found;
  EXPECT_GT(found.at("val_accuracy"), 0.9);
  EXPECT_EQ(found.at("steps"), 4 * 27);
  for (const char* file : {"model.safetensors", "metrics.csv", "curves.svg", "best.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(dir_ / ("run/" + std::string(file)))) << file;
  EXPECT_EQ(io::read_csv(dir_ / "run/metrics.csv").values.size(0), 4);
  const Ran eval = run_veldt({"eval", dir_ / "run/model.safetensors", "--data", dir_ / "", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(json::parse(eval.out).at("accuracy"), found.at("test_accuracy"));
  // A picture of kind 3.
  std::vector<int> samples(100, 50);
  for (std::size_t x = 30; x < 40; ++x) samples[x] = 150;
  put_bytes(dir_ / "three.png", make_png({.width = 10, .height = 10}, samples));
  const Ran predicted =
      run_veldt({"predict", dir_ / "run/model.safetensors", dir_ / "three.png", "--json", "--top", "2"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const json first = json::parse(predicted.out).at("predictions").at(0);
  EXPECT_EQ(first.at("class"), "3");
  EXPECT_EQ(first.at("top").size(), 2);
  const Ran two =
      run_veldt({"predict", dir_ / "run/model.safetensors", dir_ / "three.png", dir_ / "three.png"});
  EXPECT_EQ(std::count(two.out.begin(), two.out.end(), '\n'), 2) << two.err;
  const json info = json::parse(run_veldt({"info", dir_ / "run/model.safetensors", "--json"}).out);
  EXPECT_EQ(info.at("kind"), "network");
  EXPECT_EQ(info.at("recipe").at("optimizer.lr"), json::array({"0.01"}));
  EXPECT_EQ(info.at("scores").at("test_accuracy"), found.at("test_accuracy")) << info;
  EXPECT_THAT(run_veldt({"info", dir_ / "run/model.safetensors"}).out, HasSubstr("Conv2d(4, 3, padding=1)"));
}

TEST_F(TrainVerb, TheFolderOfARunIsAsGoodAsItsModel) {
  trained(kRowsRecipe, {"--set", "train.epochs=1"});
  std::vector<int> samples(100, 50);
  put_bytes(dir_ / "grey.png", make_png({.width = 10, .height = 10}, samples));
  const auto answers = [&](const std::string& model) {
    const Ran predicted = run_veldt({"predict", model, dir_ / "grey.png"});
    const Ran eval = run_veldt({"eval", model, "--data", dir_ / "", "--json"});
    const Ran info = run_veldt({"info", model, "--json"});
    EXPECT_EQ(predicted.exit_code + eval.exit_code + info.exit_code, 0)
        << predicted.err << eval.err << info.err;
    EXPECT_EQ(json::parse(info.out).at("kind"), "network");
    return predicted.out + json::parse(eval.out).at("loss").dump();
  };
  const std::string expected = answers(dir_ / "run/model.safetensors");
  EXPECT_EQ(answers(dir_ / "run"), expected);
  EXPECT_EQ(answers(dir_ / "run/best.safetensors"), expected);
  // As long as the run has not ended there is no other.
  std::filesystem::remove(dir_ / "run/model.safetensors");
  EXPECT_EQ(answers(dir_ / "run"), expected);
  std::filesystem::remove(dir_ / "run/best.safetensors");
  const Ran none = run_veldt({"predict", dir_ / "run", dir_ / "grey.png"});
  EXPECT_EQ(none.exit_code, 3) << none.err;
  EXPECT_THAT(none.err, HasSubstr("neither model.safetensors nor best.safetensors"));
}

TEST_F(TrainVerb, TheSameRecipeGivesTheSameBitsWithAnyNumberOfWorkers) {
  trained(kRowsRecipe, {"--threads", "1"});
  const auto one = tensors_of(dir_ / "run/model.safetensors");
  std::filesystem::remove_all(dir_ / "run");
  trained(kRowsRecipe, {"--set", "data.workers=4", "--threads", "1"});
  EXPECT_EQ(tensors_of(dir_ / "run/model.safetensors"), one);
}

TEST_F(TrainVerb, LearnsATextAndWritesOn) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the lion looks at you, and you look at the lion.\n";
  put_bytes(dir_ / "lion.txt", text);
  const json found = trained(R"toml(
[data]
kind = "text"
path = "lion.txt"
context = 16
batch = 16
validation = 0.2
[model]
layers = ["Embedding(16)", "PositionEmbedding", "TransformerEncoderLayer(2, dropout=0)",
          "GRU(24)", "Linear(outputs)"]
[optimizer]
lr = 1e-2
clip = 1
schedule = "cosine"
warmup = 5
[train]
steps = 120
evaluate_every = 40
)toml");
  EXPECT_LT(found.at("val_loss"), 0.3) << found;
  EXPECT_TRUE(found.contains("val_accuracy"));
  const Words ask{"predict", dir_ / "run/model.safetensors", "--prompt", "the lion", "--count", "30"};
  const Ran once = run_veldt(ask), again = run_veldt(ask);
  EXPECT_EQ(once.exit_code, 0) << once.err;
  EXPECT_EQ(once.out.size(), 39);
  EXPECT_EQ(once.out, again.out);
  EXPECT_NE(run_veldt(ask + Words{"--seed", "2", "--temperature", "3"}).out, once.out);
  // By byte pairs any prompt can be read, and evaluation knows them too.
  const json pairs = trained(R"toml(
[data]
kind = "text"
path = "lion.txt"
tokens = "bpe(280)"
context = 8
batch = 8
test = 0.2
[model]
layers = ["Embedding(16)", "LSTM(16)", "Linear(outputs)"]
[train]
steps = 10
)toml",
                             {"--out", dir_ / "pairs"});
  const Ran eval = run_veldt({"eval", dir_ / "pairs/model.safetensors", "--data", dir_ / "", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(json::parse(eval.out).at("loss"), pairs.at("test_loss"));
  EXPECT_EQ(
      run_veldt({"predict", dir_ / "pairs/model.safetensors", "--prompt", "Zoë", "--count", "3"}).exit_code,
      0);
  const Ran unknown = run_veldt({"predict", dir_ / "run/model.safetensors", "--prompt", "Z"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("Z"));
}

TEST_F(TrainVerb, PredictsASeriesBetterThanTheSeasonBefore) {
  std::string table = "month,sold\n";
  for (int i = 0; i < 240; ++i)
    table += std::to_string(i) + "," +
             std::to_string((100 + i) * (1 + 0.3 * std::sin(2 * 3.14159265 * i / 12))) + "\n";
  put_bytes(dir_ / "sold.csv", table);
  const json found = trained(R"toml(
[data]
kind = "series"
path = "sold.csv"
column = "sold"
context = 12
season = 12
logarithm = true
difference = true
validation = 0.1
test = 0.2
[model]
layers = ["LSTM(8)", "LastStep", "Linear(outputs)"]
[optimizer]
lr = 1e-2
[train]
epochs = 20
patience = 5
)toml");
  EXPECT_LT(found.at("test_mae"), 0.5 * found.at("naive_mae").get<double>()) << found;
  EXPECT_NEAR(found.at("better_than_naive"),
              1 - found.at("test_mae").get<double>() / found.at("naive_mae").get<double>(), 1e-9);
  EXPECT_THAT(bytes_of(dir_ / "run/forecast.svg"), HasSubstr("season before"));
  const Ran eval = run_veldt({"eval", dir_ / "run/model.safetensors", "--data", dir_ / "", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(json::parse(eval.out).at("test_mae"), found.at("test_mae"));
  const Ran next =
      run_veldt({"predict", dir_ / "run/model.safetensors", dir_ / "sold.csv", "--count", "12", "--json"});
  ASSERT_EQ(next.exit_code, 0) << next.err;
  const std::vector<double> forecast = json::parse(next.out).at("forecast");
  ASSERT_EQ(forecast.size(), 12);
  const Ran nowhere =
      run_veldt({"predict", dir_ / "run/model.safetensors", dir_ / "sold.csv", "--device", "cuda:999"});
  EXPECT_EQ(nowhere.exit_code, 5) << nowhere.err;
  for (int i = 0; i < 12; ++i) {
    const double truth = (340 + i) * (1 + 0.3 * std::sin(2 * 3.14159265 * i / 12));
    EXPECT_NEAR(forecast[static_cast<std::size_t>(i)], truth, 0.05 * truth) << i;
  }
}

TEST_F(TrainVerb, LearnsATable) {
  const Ran ran = run_veldt({"train", VELDT_SOURCE "/recipes/flowers.toml", "--data",
                             VELDT_SOURCE "/examples/data", "--out", dir_ / "run", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_GT(json::parse(ran.out).at("test_accuracy"), 0.9) << ran.out;
  put_bytes(dir_ / "two.csv", "petal_length,petal_width,stem_length\n2.0,0.5,26\n6.5,2.4,27\n");
  const Ran predicted = run_veldt({"predict", dir_ / "run/model.safetensors", dir_ / "two.csv"});
  EXPECT_EQ(predicted.out, "0\n1\n") << predicted.err;
  // Columns are identified by their names.
  put_bytes(dir_ / "two.csv", "stem_length,petal_width,petal_length\n26,0.5,2.0\n27,2.4,6.5\n");
  EXPECT_EQ(run_veldt({"predict", dir_ / "run/model.safetensors", dir_ / "two.csv"}).out, "0\n1\n");
  put_bytes(dir_ / "rings.png", rings_png());
  EXPECT_THAT(run_veldt({"predict", dir_ / "run/model.safetensors", dir_ / "rings.png"}).err,
              HasSubstr("rings.png is not a text table"));
  put_bytes(dir_ / "one.csv", "petal_length\n2.0\n");
  EXPECT_EQ(run_veldt({"predict", dir_ / "run/model.safetensors", dir_ / "one.csv"}).exit_code, 4);
  const Ran number = run_veldt({"train", VELDT_SOURCE "/recipes/flowers.toml", "--data",
                                VELDT_SOURCE "/examples/data", "--out", dir_ / "number", "--json", "--set",
                                "data.target=petal_width", "--set", "data.classes=false"});
  ASSERT_EQ(number.exit_code, 0) << number.err;
  EXPECT_LT(json::parse(number.out).at("test_mae"), 0.3) << number.out;
  const Ran numbers =
      run_veldt({"predict", dir_ / "number/model.safetensors", VELDT_SOURCE "/examples/data/flowers.csv"});
  EXPECT_NEAR(std::stod(numbers.out), 0.98, 0.7) << numbers.err;
}

TEST_F(TrainVerb, ARecipeThatCannotBeIsNamedByItsLine) {
  const auto refused = [&](const std::string& from, const std::string& to, int code, const Words& words) {
    expect_refused(kRowsRecipe, from, to, code, words);
  };
  refused("batch = 20", "batches = 20", 2, {"r.toml:5", "'data.batches'", "did you mean 'data.batch'?"});
  refused("batch = 20", "batch = \"20\"", 2, {"r.toml:5", "a text", "a whole number"});
  refused("batch = 20", "batch = 0", 2, {"r.toml:5", "the minimum is 1"});
  refused("[optimizer]", "[optimiser]", 2, {"r.toml:", "did you mean [optimizer]?"});
  refused("\"mnist\"", "\"minst\"", 2, {"did you mean 'mnist'?"});
  refused("Conv2d(4, 3, padding=1)", "Conf2d(4, 3)", 2, {"number 1", "did you mean Conv2d?"});
  refused("Conv2d(4, 3, padding=1)", "Conv2d(4, kernal=3)", 2, {"did you mean 'kernel'?"});
  refused("Conv2d(4, 3, padding=1)", "Conv2d(4, 30)", 2, {"number 1"});
  refused("Conv2d(4, 3, padding=1)", "Conv2d(1, 4, 3)", 2, {"'3' is one value more"});
  refused("Linear(outputs)", "Linear(7)", 2, {"the data need 10 outputs"});
  refused("Flatten", "LSTM(3)", 2, {"number 4", "sequences"});
  refused("normalise(0.2, 0.3)", "normalise(0.2, 0)", 2, {"data.prepare"});
  refused("gaussian_noise(0.05)", "gausian_noise(0.05)", 2, {"did you mean gaussian_noise?"});
  refused("epochs = 4", "patience = 4", 2, {"no 'train.epochs'"});
  refused("epochs = 4", "epochs = 4\nloss = \"mse\"", 2, {"cross_entropy"});
  refused("path = \"rows\"", "path = \"columns\"", 3, {"columns"});
  refused("[optimizer]", "[optimizer", 2, {"cannot read the recipe", "r.toml:11", "epochs = 10"});
  const auto refused_set = [&](const std::string& set, const std::string& word) {
    const Ran ran = train(kRowsRecipe, {"--set", set});
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(word));
  };
  refused_set("train.epoch=3", "did you mean 'train.epochs'?");
  refused_set("train.epochs=0", "'train.epochs' must be 1 or more");
  refused_set("data.kind=\"minst\"", "cannot be 'minst'");
  refused_set("data.kind='minst'", "cannot be 'minst'");
  refused_set("data.kind='minst", "cannot read the value of --set data.kind");
  refused_set("train.epochs=\"3\"", "a text");
  EXPECT_EQ(run_veldt({"train", dir_ / ""}).exit_code, 3);
}

TEST_F(TrainVerb, LearnsInHalfFloats) {
  EXPECT_GT(trained(kRowsRecipe, {"--set", "train.autocast=bf16"}).at("test_accuracy"), 0.9);
}

TEST_F(TrainVerb, SavesTheAveragesItMeasures) {
  std::string text = kRowsRecipe;
  text.replace(text.find("validation = 0.1\n"), 17, "");
  const json found = trained(text, {"--set", "optimizer.ema=0.95"});
  const Ran eval = run_veldt({"eval", dir_ / "run/model.safetensors", "--data", dir_ / "", "--json"});
  EXPECT_EQ(json::parse(eval.out).at("loss"), found.at("test_loss"));
}

TEST_F(TrainVerb, RefusesWhatTheDataCannotBear) {
  put_bytes(dir_ / "short.txt", "abc");
  put_bytes(dir_ / "odd.csv", "a,b\n1,caf\xe9\n2,x\n3,x\n4,x\n5,x\n");
  const auto fails = [&](const std::string& data, const std::string& layers, int code,
                         const std::string& word) {
    const Ran ran = train("[data]\n" + data + "\n[model]\nlayers = [" + layers + "]\n[train]\nsteps = 3\n");
    EXPECT_EQ(ran.exit_code, code) << data << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(word)) << data;
  };
  const std::string text = "kind = \"text\"\npath = \"short.txt\"\ncontext = 2\n";
  fails(text + "validation = 0.5\ntest = 0.5", "\"Embedding(2)\", \"Linear(outputs)\"", 2, "too short");
  fails(text + "season = 3", "\"Embedding(2)\", \"Linear(outputs)\"", 2, "'data.season' is not for");
  fails("kind = \"table\"\npath = \"odd.csv\"\ntarget = \"b\"\nclasses = true", "\"Linear(outputs)\"", 4,
        "not UTF-8");
  const Ran momentum = train(kRowsRecipe, {"--set", "optimizer.momentum=0.9"});
  EXPECT_EQ(momentum.exit_code, 2) << momentum.err;
  const Ran metric = train(kRowsRecipe, {"--set", "train.metrics=[\"mae\"]"});
  EXPECT_EQ(metric.exit_code, 2) << metric.err;
}

TEST_F(TrainVerb, SetsTakeThePlaceOfTheFile) {
  const json found = trained(
      kRowsRecipe, {"--set", "train.epochs=1", "--set", "model.layers=[\"Flatten\", \"Linear(outputs)\"]"});
  EXPECT_EQ(found.at("steps"), 27);
  EXPECT_EQ(found.at("parameters"), 1010);
}

TEST_F(TrainVerb, LooksAheadWithoutTraining) {
  const json rate = trained(kRowsRecipe, {"--find-rate"});
  EXPECT_GT(rate.at("rate"), 1e-5);
  EXPECT_THAT(bytes_of(dir_ / "run/rate.svg"), HasSubstr("steepest"));
  const json batch = trained(kRowsRecipe, {"--overfit"});
  EXPECT_LT(batch.at("last_loss"), 0.2 * batch.at("first_loss").get<double>());
  const Ran blind = train(kRowsRecipe, {"--overfit", "--set", "optimizer.lr=1e-9"});
  EXPECT_EQ(blind.exit_code, 8) << blind.err;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "run/model.safetensors"));
  EXPECT_THAT(train(kRowsRecipe, {"--set", "train.epochs=1"}).err, HasSubstr("a step takes "));
}

TEST_F(TrainVerb, ARunThatIsThereIsNotOverwritten) {
  trained(kRowsRecipe, {"--set", "train.epochs=1"});
  const Ran again = train(kRowsRecipe);
  EXPECT_EQ(again.exit_code, 2) << again.err;
  EXPECT_THAT(again.err, HasSubstr("--resume"));
  const Ran other = train(kRowsRecipe, {"--resume", "--set", "data.batch=10"});
  EXPECT_EQ(other.exit_code, 2) << other.err;
}

TEST_F(TrainVerb, ANetworkOfAnotherKindIsRefused) {
  const Ran not_trained = run_veldt({"eval", kCub, "--data", dir_ / ""});
  EXPECT_EQ(not_trained.exit_code, 4) << not_trained.err;
  trained(kRowsRecipe, {"--set", "train.epochs=1"});
  std::string bytes = bytes_of(dir_ / "run/model.safetensors");
  bytes[bytes.size() - 9] ^= 1;
  put_bytes(dir_ / "broken.safetensors", bytes);
  const Ran broken = run_veldt({"predict", dir_ / "broken.safetensors", kCub});
  EXPECT_EQ(broken.exit_code, 9) << broken.err;
}

TEST_F(TrainVerb, DownloadsWhatTheRecipeNamesOnce) {
  const HttpServer& server = HttpServer::running();
  if (!server.is_up()) GTEST_SKIP() << "no Python";
  // 300,000 bytes of "lion".
  const std::string text = "[data]\nkind = \"text\"\npath = \"PATH\"\ncontext = 8\nfiles = [\"lion.txt " +
                           server.at("/lions") +
                           " 32719a9cea31419eb08cb8e3c6ce1edfc146861ca3ff3c9b47929682b7e1f300\"]\n" +
                           "[model]\nlayers = [\"Embedding(2)\", \"Linear(outputs)\"]\n[train]\nsteps = 2\n";
  const auto run = [&](const std::string& path, const std::string& out) {
    std::string at = text;
    at.replace(at.find("PATH"), 4, path);
    return run_veldt({"train", recipe(at), "--out", dir_ / out},
                     {.environment = {"XDG_CACHE_HOME=" + (dir_ / "cache")}});
  };
  const Ran once = run("texts/lion.txt", "a");
  if (once.err.find("built without") != std::string::npos) GTEST_SKIP() << once.err;
  ASSERT_EQ(once.exit_code, 0) << once.err;
  EXPECT_EQ(bytes_of(dir_ / "cache/veldt/texts/lion.txt").size(), 300'000U);
  // Other files beside them are not Veldt's, whatever their names.
  const std::string mine = dir_ / "cache/veldt/texts/results.tmp-2024",
                    linked = dir_ / "mine/results.tmp-2024";
  const std::string left = dir_ / "cache/veldt/texts/lion.txt.tmp-4711";
  std::filesystem::create_directory(dir_ / "mine");
  std::filesystem::create_directory_symlink(dir_ / "mine", dir_ / "cache/veldt/link");
  for (const std::string& path : {mine, linked, left}) put_bytes(path, "by someone");
  EXPECT_EQ(run("texts/lion.txt", "b").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(mine));
  EXPECT_TRUE(std::filesystem::exists(linked));
  EXPECT_FALSE(std::filesystem::exists(left));
  for (const char* out_of_it : {"../lion.txt", "/tmp/lion.txt", "a/../../lion.txt"}) {
    const Ran ran = run(out_of_it, "c");
    EXPECT_EQ(ran.exit_code, 2) << out_of_it;
    EXPECT_THAT(ran.err, HasSubstr("out of it"));
    const Ran given = run_veldt({"train", recipe(text), "--data", dir_ / "cache/veldt", "--out", dir_ / "d",
                                 "--set", "data.path=" + std::string(out_of_it)});
    EXPECT_EQ(given.exit_code, 2) << out_of_it;
    EXPECT_THAT(given.err, HasSubstr("data.path cannot be"));
  }
  const Ran none = run_veldt({"train", recipe(kRowsRecipe)}, {.directory = dir_ / ""});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--data"));
}

TEST_F(TrainVerb, ADownloadThatIsStoppedLeavesNothing) {
  const HttpServer& server = HttpServer::running();
  if (!server.is_up()) GTEST_SKIP() << "no Python";
  const std::string text =
      "[data]\nkind = \"text\"\npath = \"texts/lion.txt\"\ncontext = 8\nfiles = [\"lion.txt " +
      server.at("/endless") + ' ' + std::string(64, '0') + "\"]\n" +
      "[model]\nlayers = [\"Embedding(2)\", \"Linear(outputs)\"]\n[train]\nsteps = 2\n";
  const std::string cache = dir_ / "cache/veldt";
  std::filesystem::create_directories(cache + "/texts");
  put_bytes(cache + "/texts/lion.txt.tmp-4711", "what a killed process has left");
  ::setenv("XDG_CACHE_HOME", (dir_ / "cache").c_str(), 1);
  const TempDir log;
  Process process({"train", recipe(text), "--out", dir_ / "run"}, log);
  ::unsetenv("XDG_CACHE_HOME");
  const bool began = comes_true([&] {
    const std::vector<std::string> names = io::list_directory(cache + "/texts");
    return names.size() == 1 && names[0] != "lion.txt.tmp-4711";
  });
  if (!began && process.err().find("built without") != std::string::npos) GTEST_SKIP() << process.err();
  ASSERT_TRUE(began) << process.err();
  process.send(SIGTERM);
  EXPECT_EQ(process.wait(), 143);
  EXPECT_THAT(process.err(), HasSubstr("the download of lion.txt was stopped"));
  EXPECT_EQ(count_entries(cache + "/texts"), 0U);
}

TEST_F(TrainVerb, StopsWhileWhatIsThereIsChecked) {
  const std::string cached = dir_ / "cache/veldt/texts/lion.txt";
  std::filesystem::create_directories(dir_ / "cache/veldt/texts");
  put_bytes(cached, "");
  std::filesystem::resize_file(cached, std::uintmax_t{1} << 34);  // of holes: seconds of hashing
  const std::string text =
      "[data]\nkind = \"text\"\npath = \"texts/lion.txt\"\ncontext = 8\n"
      "files = [\"lion.txt http://127.0.0.1:1/ " +
      std::string(64, '0') + "\"]\n[model]\nlayers = [\"Embedding(2)\", \"Linear(outputs)\"]\n" +
      "[train]\nsteps = 2\n";
  ::setenv("XDG_CACHE_HOME", (dir_ / "cache").c_str(), 1);
  const TempDir log;
  Process process({"train", recipe(text), "--out", dir_ / "run"}, log);
  ::unsetenv("XDG_CACHE_HOME");
  const auto is_built_without = [&] { return process.err().find("built without") != std::string::npos; };
  ASSERT_TRUE(comes_true([&] { return process.handles(SIGINT) || is_built_without(); })) << process.err();
  process.send(SIGINT);
  const int code = process.wait();
  if (is_built_without()) GTEST_SKIP() << process.err();
  EXPECT_EQ(code, 130);
  EXPECT_THAT(process.err(), HasSubstr("the check of lion.txt was stopped"));
  EXPECT_TRUE(std::filesystem::exists(cached));
}

TEST_F(TrainVerb, AModelFileIsNotBelieved) {
  trained(kRowsRecipe, {"--set", "train.epochs=1"});
  const io::SafeTensors file = io::read_safetensors(dir_ / "run/model.safetensors");
  const auto refused = [&](const std::string& key, const std::string& value) {
    auto metadata = file.metadata;
    metadata.erase("veldt.xxh3");
    value.empty() ? static_cast<void>(metadata.erase(key)) : static_cast<void>(metadata[key] = value);
    io::write_safetensors(dir_ / "hostile.safetensors", file.tensors, metadata);
    const Ran ran = run_veldt({"predict", dir_ / "hostile.safetensors", kCub});
    EXPECT_THAT(ran.exit_code, AnyOf(4, 9)) << key << "=" << value << "\n" << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
  };
  for (const char* key : {"kind", "recipe", "facts", "format_version"}) refused(key, "");
  refused("format_version", "2");
  refused("kind", "veldt.image_field");
  for (const char* recipe :
       {"[]", "{", "{\"data.kind\":3}", "{\"data.kind\":[\"mnist\"]}", "{\"x\":[\"y\"]}"})
    refused("recipe", recipe);
  const std::string facts = file.metadata.at("facts");
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"[1,10,10]", "[1,10]"},
                                                        {"[1,10,10]", "[0,10,10]"},
                                                        {"[1,10,10]", "[1,9999999,9999999]"},
                                                        {"[1,10,10]", "[1,10,-10]"},
                                                        {"[1,10,10]", "[1,10,10.5]"},
                                                        {"\"outputs\":10", "\"outputs\":10.5"},
                                                        {"false", "true"},
                                                        {"\"outputs\":10", "\"outputs\":-1"},
                                                        {"\"outputs\":10", "\"outputs\":11"}}) {
    ASSERT_NE(facts.find(from), std::string::npos) << from << facts;
    refused("facts", std::string(facts).replace(facts.find(from), from.size(), to));
  }
}

TEST(CrashTrain, KilledTwentyTimesInTheMiddleOfEpochsItEndsWithTheSameBits) {
  constexpr int kKills = 20;
  const TempDir dir, log;
  put_rows(dir / "rows", "train", 600);
  put_rows(dir / "rows", "t10k", 200);
  put_bytes(dir / "r.toml", kRowsRecipe);
  const auto command = [&](const std::string& out) {
    return Words{"train", dir / "r.toml",    "--data", dir / "",         "--out",
                 out,     "--every",         "50ms",   "--threads",      "1",
                 "--set", "train.epochs=60", "--set",  "data.workers=2", "--quiet"};
  };
  const Ran whole = run_veldt(command(dir / "whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto expected = tensors_of(dir / "whole/model.safetensors");
  std::mt19937 random(5);
  int kills = 0, resumed = 0, runs = 0;
  for (; kills < kKills; ++runs) {
    ASSERT_LT(runs, 2 * kKills);
    const std::string out = dir / ("run" + std::to_string(runs));
    for (bool done = false; !done;) {
      const bool resume = has_checkpoint(out + "/checkpoints");
      resumed += resume ? 1 : 0;
      Process process(resume ? command(out) + Words{"--resume"} : command(out), log);
      if (kills < kKills) {
        const double life = std::clamp(whole.seconds / 2, 0.2, 1.0);
        std::this_thread::sleep_for(std::chrono::duration<double>(life * (random() % 1000) / 1000));
        process.send(SIGKILL);
        ++kills;
      }
      const int code = process.wait();
      ASSERT_THAT(code, AnyOf(0, -SIGKILL)) << process.err();
      done = code == 0;
    }
    EXPECT_EQ(tensors_of(out + "/model.safetensors"), expected);
  }
  EXPECT_GT(resumed, kKills / 4);
}

TEST(Recipes, EachOfThemIsRead) {
  const TempDir empty;
  int count = 0;
  for (const std::string& name : io::list_directory(VELDT_SOURCE "/recipes")) {
    if (!name.ends_with(".toml")) continue;
    const std::string path = VELDT_SOURCE "/recipes/" + name;
    std::vector<std::string> words{"train", path, "--data", empty / "", "--out", empty / name};
    const bool acts = bytes_of(path).find("[environment]") != std::string::npos;
    if (acts) words.insert(words.end(), {"--set", "train.steps=3000"});
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, acts ? 0 : 3) << name << "\n" << ran.err;  // nothing but the data is missing
    ++count;
  }
  EXPECT_GE(count, 6);
}

TEST(TrainingView, DrawsACurveOfDots) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(app::curve_of_dots("loss", {1, 0}, 2, 1), (Lines{"    loss 0", "       1 \u2811\u2884"}));
  const Lines falls = app::curve_of_dots("loss", {8, 8, 8, 8, 1, 1, 1, 1}, 4, 2);
  EXPECT_EQ(falls,
            (Lines{"    loss 1", "       8 \u2809\u2809\u2846\u2800", "       1 \u2800\u2800\u28c7\u28c0"}));
  EXPECT_EQ(app::curve_of_dots("loss", {5}, 1, 1), (Lines{"    loss 5", "       5 \u28c0"}));
  EXPECT_EQ(app::curve_of_dots("loss", {}, 1, 1), (Lines{"loss", "         \u2800"}));
}

}  // namespace
}  // namespace veldt::test
