// What recipes are refused, and when; in which units their measures are; what a resumed run may change.
#include <gmock/gmock.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "tests/io/make_png.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/csv.h"
#include "veldt/io/safetensors.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string kNumbers = R"toml(
[data]
kind = "table"
path = "t.csv"
target = "weight"
inputs = ["length"]
validation = 0.2
test = 0.2
batch = 16
[model]
layers = ["Linear(outputs)"]
[optimizer]
lr = 1e-2
[train]
epochs = 2
metrics = ["mae", "rmse"]
)toml";

const std::string kKinds = R"toml(
[data]
kind = "table"
path = "t.csv"
target = "kind"
inputs = ["length"]
classes = true
validation = 0.2
[model]
layers = ["Linear(outputs)"]
[train]
epochs = 1
)toml";

const std::string kText = R"toml(
[data]
kind = "text"
path = "t.txt"
context = 8
batch = 8
validation = 0.2
[model]
layers = ["Embedding(4)", "LSTM(4)", "Linear(outputs)"]
[train]
steps = 2
)toml";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

class TrainRecipe : public testing::Test {
 protected:
  // Weights far from 0 and 1, so that their units and standard scores are not taken for each other.
  TrainRecipe() {
    std::string table = "length,weight,kind\n", text;
    for (int i = 0; i < 200; ++i)
      table += std::to_string(i % 37) + "," + std::to_string(5000 + 100 * (i % 37)) + "," +
               std::to_string(i % 3) + "\n";
    put_bytes(dir_ / "t.csv", table);
    for (int i = 0; i < 40; ++i) text += "the lion looks at you.\n";
    put_bytes(dir_ / "t.txt", text);
  }
  Ran train(const std::string& recipe, const Words& more = {}, const std::string& data = "") const {
    put_bytes(dir_ / "r.toml", recipe);
    return run_veldt(Words{"train", dir_ / "r.toml", "--data", data.empty() ? dir_ / "" : data, "--out",
                           dir_ / "run", "--json"} +
                     more);
  }
  json trained(const std::string& recipe, const Words& more = {}) const {
    const Ran ran = train(recipe, more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out, nullptr, false);
  }
  // Also where there are no data, which come later.
  void expect_refused(const std::string& recipe, const Words& words, bool early = true) const {
    const Ran ran = train(recipe, {}, early ? dir_ / "nothing" : "");
    EXPECT_EQ(ran.exit_code, 2) << recipe << ran.err;
    for (const std::string& word : words) EXPECT_THAT(ran.err, HasSubstr(word)) << recipe;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "run/metrics.csv"));
  }

  const TempDir dir_;
};

// Their labels are then shares of two classes.
TEST_F(TrainRecipe, PicturesMayBeMixed) {
  for (const char* kind : {"dark", "light"})
    for (int i = 0; i < 12; ++i) {
      const std::string folder = dir_ / "p" + std::string("/") + kind;
      std::filesystem::create_directories(folder);
      put_bytes(folder + "/" + std::to_string(i) + ".png",
                make_png({.width = 8, .height = 8}, std::vector<int>(64, kind[0] == 'd' ? 20 + i : 220 + i)));
    }
  for (const char* mix : {"mixup(0.4)", "cutmix(1)"}) {
    std::filesystem::remove_all(dir_ / "run");
    const json result = trained(std::string(R"toml(
[data]
kind = "pictures"
path = "p"
height = 8
width = 8
grey = true
validation = 0.25
batch = 6
mix = ")toml") + mix + R"toml("
[model]
layers = ["Flatten", "Linear(outputs)"]
[optimizer]
lr = 0.05
[train]
epochs = 20
)toml");
    EXPECT_GT(result.at("val_accuracy").get<double>(), 0.8) << result.dump();
  }
}

// Both recipes of CIFAR-10, narrow, on dark and light pictures of its size: they are told apart, also by
// veldt eval and predict, which look at six views of each.
TEST_F(TrainRecipe, OfCifar10TellsDarkFromLight) {
  for (const char* part : {"train", "test"})
    for (const char* kind : {"dark", "light"})
      for (int i = 0; i < 16; ++i) {
        const std::string folder = fmt::format("{}/cifar10/{}/{}", dir_.path(), part, kind);
        std::filesystem::create_directories(folder);
        std::vector<int> pixels;
        for (int p = 0; p < 1024; ++p) pixels.push_back((kind[0] == 'd' ? 30 : 180) + (p * (7 + i) + i) % 50);
        put_bytes(fmt::format("{}/{}.png", folder, i), make_png({.width = 32, .height = 32}, pixels));
      }
  for (const char* name : {"small", "fast"}) {
    const std::string out = fmt::format("{}/{}", dir_.path(), name);
    Words words{"train",  fmt::format("{}/recipes/cifar10_{}.toml", VELDT_SOURCE, name),
                "--data", dir_.path(),
                "--out",  out,
                "--json"};
    for (const char* set : {"values.width=8", "data.batch=8", "train.epochs=10", "optimizer.warmup=4"})
      words.insert(words.end(), {"--set", set});
    const auto refused = [&](const std::string& set) {
      Words all = words;
      all.insert(all.end(), {"--set", set});
      const Ran ran = run_veldt(all);
      EXPECT_EQ(ran.exit_code, 2) << set;
      return ran.err;
    };
    EXPECT_THAT(refused("train.progressive_resizing=cubic"), HasSubstr("linear"));
    EXPECT_THAT(refused("train.progressive_resizing=linear(initial_scale=0)"), HasSubstr("initial_scale"));
    if (name[0] == 's') {  // its dense layer is for one size
      EXPECT_THAT(refused("train.progressive_resizing=linear()"),
                  AllOf(HasSubstr("pictures of 16 x 16"), HasSubstr("AdaptiveAvgPool2d")));
    }
    const Ran learned = run_veldt(words);
    ASSERT_EQ(learned.exit_code, 0) << learned.err;
    EXPECT_GT(json::parse(learned.out).at("test_accuracy").get<double>(), 0.9) << name;
    // Stopped while pictures are small, and resumed.
    words[5] = out + "_parts";
    Words part = words;
    part.insert(part.end(), {"--until", "0.2"});
    ASSERT_EQ(run_veldt(part).exit_code, 0);
    words.emplace_back("--resume");
    const Ran resumed = run_veldt(words);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    for (const char* score : {"train_loss", "test_loss"})
      EXPECT_EQ(json::parse(resumed.out).at(score), json::parse(learned.out).at(score)) << name;
    const Ran measured = run_veldt({"eval", out, "--data", dir_.path(), "--json"});
    ASSERT_EQ(measured.exit_code, 0) << measured.err;
    EXPECT_EQ(json::parse(measured.out).at("accuracy"), json::parse(learned.out).at("test_accuracy"));
    const Ran seen = run_veldt({"predict", out, fmt::format("{}/cifar10/test/light/3.png", dir_.path())});
    ASSERT_EQ(seen.exit_code, 0) << seen.err;
    EXPECT_THAT(seen.out, HasSubstr("light"));
  }
}

TEST_F(TrainRecipe, DistancesAreInOneUnitEverywhere) {
  const json found = trained(kNumbers, {"--keep-top", "1"});
  const double mae = found.at("val_mae");
  EXPECT_GT(mae, 100) << found;
  EXPECT_GT(found.at("val_rmse"), mae);
  std::istringstream lines(bytes_of(dir_ / "run/metrics.jsonl"));
  double best = 1e9;
  for (std::string line; std::getline(lines, line);)
    best = std::min(best, json::parse(line).at("validation_mae").get<double>());
  EXPECT_NEAR(best, mae, 1e-6 * mae);
  EXPECT_NEAR(io::read_csv(dir_ / "run/metrics.csv", {"validation_mae"}).values.values<float>().back(), mae,
              1e-3 * mae);
  EXPECT_NEAR(std::stod(io::read_safetensors_header(dir_ / "run/best.safetensors").metadata.at("mae")), mae,
              1e-3 * mae);
  for (const auto& kept : std::filesystem::directory_iterator(dir_ / "run/top"))
    EXPECT_NEAR(std::stod(io::read_safetensors_header(kept.path().string()).metadata.at("mae")), mae,
                1e-6 * mae);
  const Ran eval = run_veldt({"eval", dir_ / "run/model.safetensors", "--data", dir_ / "", "--json"});
  EXPECT_EQ(json::parse(eval.out).at("mae"), found.at("test_mae")) << eval.err;
}

TEST_F(TrainRecipe, AMetricThatDoesNotFitIsRefusedBeforeTraining) {
  const std::string three = kKinds + "metrics = [\"accuracy\", \"NAME\"]\n";
  expect_refused(replaced(three, "NAME", "auroc"), {"r.toml:13", "number 2", "auroc", "there are 3"}, false);
  expect_refused(replaced(three, "NAME", "top_k(4)"), {"r.toml:13", "number 2", "3 classes"}, false);
  expect_refused(kText + "metrics = [\"auroc\"]\n", {"r.toml:12", "auroc", "two classes"});
  const std::string series = replaced(replaced(kText, "\"text\"", "\"series\""), "Embedding(4)", "GRU(4)");
  for (const char* name : {"mae", "rmse"})
    expect_refused(series + "metrics = [\"" + name + "\"]\n", {"r.toml:12", name, "test_mae"});
  // With two classes it is measured.
  std::string pairs = "length,weight,kind\n";
  for (int i = 0; i < 100; ++i) pairs += std::to_string(i) + ",1," + std::to_string(i % 2) + "\n";
  put_bytes(dir_ / "t.csv", pairs);
  EXPECT_TRUE(trained(replaced(three, "NAME", "auroc")).contains("val_auroc"));
}

TEST_F(TrainRecipe, WhatIsMisspeltIsToldBeforeTheDataAreLookedFor) {
  const auto edited = [](const std::string& from, const std::string& to) {
    return replaced(kText, from, to);
  };
  expect_refused(edited("LSTM(4)", "LSMT(4)"), {"r.toml:9", "number 2", "did you mean LSTM?"});
  expect_refused(edited("LSTM(4)", "LSTM(hiden=4)"), {"number 2", "did you mean 'hidden'?"});
  expect_refused(edited("LSTM(4)", "Conv2d(4)"), {"number 2", "'kernel' is missing"});
  expect_refused(edited("LSTM(4)", "Conv2d(4, 3, padding=some)"), {"r.toml:9", "padding", "'some'"});
  expect_refused(edited("LSTM(4)", "Dropout(2)"), {"number 2"});
  expect_refused(edited("[train]", "init = \"ortogonal\"\n[train]"),
                 {"r.toml:10", "did you mean orthogonal?"});
  const std::string optimizer = edited("[train]", "[optimizer]\nKEY\n[train]");
  expect_refused(replaced(optimizer, "KEY", "schedule = \"cosin\""), {"r.toml:11", "did you mean cosine?"});
  expect_refused(replaced(optimizer, "KEY", "schedule = \"one_cycle(rise=0)\""), {"r.toml:11", "rise"});
  expect_refused(replaced(optimizer, "KEY", "momentum = 0.9"), {"optimizer.momentum is not for adam"});
  expect_refused(kText + "loss = \"crossentropy\"\n", {"r.toml:12", "did you mean cross_entropy?"});
  expect_refused(kText + "loss = \"cross_entropy(label_smoothing=2)\"\n", {"r.toml:12", "label_smoothing"});
  expect_refused(kText + "metrics = [\"acuracy\"]\n", {"r.toml:12", "did you mean accuracy?"});
  expect_refused(kText + "watch = \"acuracy\"\n", {"train.watch", "did you mean 'accuracy'?"});
}

TEST_F(TrainRecipe, ResumingMayChangeWhereDataLieAndWhenItEnds) {
  const json half = trained(kNumbers, {"--set", "train.epochs=1"});
  std::filesystem::rename(dir_ / "t.csv", dir_ / "moved.csv");
  const Words elsewhere{"--resume", "--set", "data.path=moved.csv", "--set", "data.workers=2"};
  const json more = trained(kNumbers, elsewhere + Words{"--set", "train.epochs=3"});
  EXPECT_EQ(more.at("steps"), 3 * half.at("steps").get<int>());
  EXPECT_EQ(
      trained(kNumbers, elsewhere + Words{"--set", "train.epochs=9", "--set", "train.steps=30"}).at("steps"),
      30);
  // What is learned, and how, stays.
  for (const char* other : {"optimizer.lr=1e-3", "data.batch=8", "data.inputs=kind", "train.seed=4"}) {
    const Ran ran = train(kNumbers, elsewhere + Words{"--set", "train.epochs=20", "--set", other});
    EXPECT_EQ(ran.exit_code, 2) << other << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(std::string(other).substr(0, std::string(other).find('='))));
  }
}

TEST_F(TrainRecipe, EvalRefusesATableThatHasGrown) {
  std::string table = "a,b\n";
  for (int i = 0; i < 40; ++i) table += fmt::format("{},{}\n", i, 2 * i);
  put_bytes(dir_ / "t.csv", table);
  put_bytes(dir_ / "r.toml",
            "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"b\"\ntest = 0.2\n"
            "[model]\nlayers = [\"Linear(outputs)\"]\n[train]\nepochs = 1\n");
  const std::string model = dir_ / "run/model.safetensors";
  const Ran train = run_veldt({"train", dir_ / "r.toml", "--data", dir_.path(), "--out", dir_ / "run"});
  ASSERT_EQ(train.exit_code, 0) << train.err;
  const auto eval = [&](const std::string& path) { return run_veldt({"eval", path, "--data", dir_.path()}); };
  EXPECT_EQ(eval(model).exit_code, 0);
  put_bytes(dir_ / "t.csv", table + "40,80\n");
  const Ran grown = eval(model);
  EXPECT_EQ(grown.exit_code, 4) << grown.err;
  EXPECT_THAT(grown.err, AllOf(HasSubstr("there are 41 examples and there were 40"), HasSubstr("test part")));
  // An older model file has no such number.
  const io::SafeTensors file = io::read_safetensors(model);
  auto metadata = file.metadata;
  metadata.erase("veldt.xxh3");
  std::string& facts = metadata.at("facts");
  const std::string number = ",\"examples\":40";
  ASSERT_NE(facts.find(number), std::string::npos) << facts;
  facts.erase(facts.find(number), number.size());
  io::write_safetensors(dir_ / "old.safetensors", file.tensors, metadata);
  EXPECT_EQ(eval(dir_ / "old.safetensors").exit_code, 0);
}

TEST_F(TrainRecipe, AScheduleOverAllStepsHoldsOnToTheirNumber) {
  const std::string falling = replaced(kNumbers, "lr = 1e-2", "lr = 1e-2\nschedule = \"cosine\"");
  std::filesystem::remove_all(dir_ / "run");
  trained(falling, {"--set", "train.epochs=1"});
  const Ran longer = train(falling, {"--resume", "--set", "train.epochs=2"});
  EXPECT_EQ(longer.exit_code, 2) << longer.err;
  EXPECT_THAT(longer.err, HasSubstr("cosine from"));
  EXPECT_EQ(train(falling, {"--resume", "--set", "train.epochs=1", "--set", "data.workers=3"}).exit_code, 0);
}

TEST_F(TrainRecipe, AStopBehindTheLastStepLeavesWholeFiles) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "the lion looks at you.\n";
  put_bytes(dir_ / "t.txt", text);
  put_bytes(dir_ / "r.toml",
            replaced(replaced(kText, "validation = 0.2", "test = 0.5"), "LSTM(4)", "LSTM(64)"));
  const TempDir log;
  Process process({"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "run", "--threads", "1"},
                  log);
  // The weights are saved; measuring them takes seconds.
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(dir_ / "run/model.safetensors"); }));
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_THAT(process.err(), HasSubstr("model.safetensors is written"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "run/sample.txt"));
  EXPECT_EQ(
      run_veldt({"predict", dir_ / "run/model.safetensors", "--prompt", "the", "--count", "2"}).exit_code, 0);
}

}  // namespace
}  // namespace veldt::test
