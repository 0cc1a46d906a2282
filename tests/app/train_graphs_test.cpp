// Networks that are no chain, from a recipe through training to their use: blocks and shortcuts, a network
// that removes noise, one that translates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/command.h"
#include "tests/app/small_model.h"
#include "tests/io/make_png.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

class TrainGraph : public testing::Test {
 protected:
  Ran train(const std::string& recipe, const Words& more = {}) const {
    put_bytes(dir_ / "r.toml", recipe);
    return run_veldt(Words{"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "run", "--json"} +
                     more);
  }
  json ran(const Words& words) const {
    const Ran ran = run_veldt(words + Words{"--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out, nullptr, false);
  }
  void put_picture(const std::string& name, int width, int height, int from, int step) const {
    std::filesystem::create_directories(std::filesystem::path(dir_ / name).parent_path());
    std::vector<int> samples;
    for (int i = 0; i < width * height; ++i) samples.push_back((from + step * (i % width + i / width)) % 256);
    put_bytes(dir_ / name, make_png({.width = width, .height = height}, samples));
  }

  const TempDir dir_;
};

TEST_F(TrainGraph, BlocksWithShortcutsLearnAreMeasuredAndUsed) {
  for (const char* kind : {"dark", "light"})
    for (int i = 0; i < 8; ++i)
      put_picture("p/" + std::string(kind) + "/" + std::to_string(i) + ".png", 8, 8,
                  kind[0] == 'd' ? 9 * i : 180, 1);
  const std::string recipe = R"toml(
[data]
kind = "pictures"
path = "p"
grey = true
validation = 0.25
batch = 6
[values]
width = 4
[block.residual]
parameters = ["channels", "stride=1"]
layers = ["conv: Conv2d(channels, 3, stride=stride, padding=1)", "BatchNorm2d", "ReLU"]
shortcut = ["Conv2d(channels, 1, stride=stride)"]
then = ["ReLU"]
[model]
layers = ["2 x residual(width)", "last: residual(2*width, stride=2)", "AdaptiveAvgPool2d(1)", "Flatten",
  "head: Linear(outputs)"]
[optimizer]
lr = 0.02
[train]
epochs = 15
)toml";
  const Ran first = train(recipe, {"--set", "values.width=2", "--set", "train.epochs=12"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const json trained = json::parse(first.out);
  EXPECT_GT(trained.at("val_accuracy").get<double>(), 0.7) << first.out;
  const Ran more = train(recipe, {"--set", "values.width=2", "--resume"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(train(recipe, {"--resume"}).exit_code, 2);  // another width
  EXPECT_EQ(ran({"eval", dir_ / "run", "--data", dir_ / "", "--part", "validation"}).at("examples"), 4);
  EXPECT_EQ(ran({"predict", dir_ / "run", dir_ / "p/light/1.png"}).at("predictions")[0].at("class"), "light");
  const json info = ran({"info", dir_ / "run/model.safetensors"});
  EXPECT_EQ(info.at("recipe").at("values.width")[0], "2") << info;
  EXPECT_THAT(info.dump(), HasSubstr("last.shortcut.0.weight"));
  const Ran wrong = train(recipe, {"--set", "block.residual.layers=[\"residual(3)\"]"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("residual > residual"));
}

const std::string kDenoise = R"toml(
[data]
kind = "denoise"
path = "p"
crop = 8
noise = 0.2
grey = true
test = 0.25
validation = 0.3
batch = 8
augment = ["vertical_flip"]
[model]
layers = ["Conv2d(4, 3, padding=1)", "ReLU", "Save(a)", "MaxPool2d(2)", "Conv2d(4, 3, padding=1)", "ReLU",
  "Upsample(2)", "Cat(a)", "Conv2d(outputs, 3, padding=1)"]
[optimizer]
lr = 0.01
[train]
epochs = 8
)toml";

TEST_F(TrainGraph, NoiseIsTakenOutOfPictures) {
  for (int i = 0; i < 8; ++i) put_picture("p/" + std::to_string(i) + ".png", 35, 26, 20 * i, 1);
  const Ran trained = train(kDenoise);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const json result = json::parse(trained.out);
  const double before = result.at("test_noisy_psnr"), after = result.at("test_psnr");
  EXPECT_NEAR(before, 14, 0.5);
  EXPECT_GT(after, before + 3) << trained.out;
  EXPECT_TRUE(result.contains("val_psnr"));
  const json again = ran({"eval", dir_ / "run", "--data", dir_ / ""});
  EXPECT_EQ(again.at("psnr"), result.at("test_psnr"));
  EXPECT_EQ(again.at("examples"), 2 * 3 * 4);  // tiles of the last two pictures
  EXPECT_EQ(ran({"eval", dir_ / "run", "--data", dir_ / "", "--part", "train"}).at("examples"), 4 * 12);
  // A picture of another size, and one smaller than a tile.
  put_picture("small.png", 5, 3, 0, 1);
  for (const auto& [name, width] : {std::pair{"p/7.png", 35}, std::pair{"small.png", 5}}) {
    const json made = ran({"predict", dir_ / "run", dir_ / name, "-o", dir_ / "out.png"});
    EXPECT_EQ(made.at("width"), width);
    EXPECT_EQ(ran({"info", dir_ / "out.png"}).at("width"), width);
  }
  EXPECT_EQ(run_veldt({"predict", dir_ / "run", dir_ / "p/7.png"}).exit_code, 2);
  EXPECT_EQ(
      ran({"data", "show", dir_ / "r.toml", "--data", dir_ / "", "-o", dir_ / "seen.png", "--count", "4"})
          .at("classes"),
      json({"noisy", "clean", "noisy", "clean"}));
  // A picture more, or one too small.
  put_picture("p/8.png", 35, 26, 0, 1);
  const Ran more = run_veldt({"eval", dir_ / "run", "--data", dir_ / ""});
  EXPECT_EQ(more.exit_code, 4) << "the last quarter would hold others";
  EXPECT_THAT(more.err, HasSubstr("cannot be separated from what it learned from"));
  std::filesystem::copy(dir_ / "small.png", dir_ / "p/9.png");
  const Ran small = run_veldt({"eval", dir_ / "run", "--data", dir_ / ""});
  EXPECT_EQ(small.exit_code, 4);
  EXPECT_THAT(small.err, HasSubstr("9.png is too small"));
}

TEST_F(TrainGraph, WhatDoesNotFitPicturesWithNoiseIsRefused) {
  put_picture("p/0.png", 16, 16, 0, 1);
  const auto refused = [&](const std::string& from, const std::string& to, const Words& words) {
    std::string recipe = kDenoise;
    ASSERT_NE(recipe.find(from), std::string::npos) << from;
    const Ran ran = train(recipe.replace(recipe.find(from), from.size(), to));
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    for (const std::string& word : words) EXPECT_THAT(ran.err, HasSubstr(word)) << to;
  };
  refused("crop = 8", "", {"data.crop"});
  refused("noise = 0.2", "", {"data.noise"});
  refused("noise = 0.2", "noise = 0", {"r.toml:6", "data.noise"});
  refused("\"vertical_flip\"]", "\"vertical_flip\"]\nmix = \"mixup\"", {"data.mix", "denoise"});
  refused("epochs = 8", "epochs = 8\nmetrics = [\"accuracy\"]", {"accuracy", "psnr"});
  refused("test = 0.25", "", {"nothing to learn from"});
  std::filesystem::copy(dir_ / "p/0.png", dir_ / "p/1.png");
  refused("test = 0.25\nvalidation = 0.3\nbatch = 8\naugment = [\"vertical_flip\"]",
          "augment = [\"random_crop(4, 4)\"]", {"data.augment", "[1, 4, 4]"});
  refused("test = 0.25\nvalidation = 0.3\nbatch = 8\naugment = [\"vertical_flip\"]\n[model]\nlayers = [",
          "[model]\nlayers = [\"MaxPool2d(2)\", ", {"ends in [1, 1, 4, 4]", "[1, 1, 8, 8]"});
}

TEST_F(TrainGraph, TextsAreTurnedIntoOthers) {
  std::string lines;
  for (int i = 0; i < 400; ++i) {
    const std::string first = std::vector<std::string>{"one", "two", "six"}[static_cast<std::size_t>(i) % 3];
    lines += first + (i % 2 == 0 ? " a" : " b") + "\t" +
             std::string(1, std::string("126")[static_cast<std::size_t>(i) % 3]) + (i % 2 == 0 ? "a" : "b") +
             "\n";
  }
  put_bytes(dir_ / "p.tsv", lines);
  const std::string recipe = R"toml(
[data]
kind = "pairs"
path = "p.tsv"
batch = 16
test = 0.1
[model]
layers = ["Embedding(16)", "PositionEmbedding", "TransformerEncoderLayer(2, dropout=0)", "Save(memory)",
  "Load(target)", "Embedding(16)", "PositionEmbedding", "TransformerDecoderLayer(2, memory, dropout=0)",
  "LayerNorm", "Linear(outputs)"]
[optimizer]
lr = 0.01
[train]
epochs = 5
)toml";
  const Ran trained = train(recipe);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const json result = json::parse(trained.out);
  EXPECT_EQ(result.at("test_exact_match"), 1) << trained.out;
  EXPECT_EQ(ran({"eval", dir_ / "run", "--data", dir_ / ""}).at("exact_match"), 1);
  EXPECT_EQ(ran({"predict", dir_ / "run", "--prompt", "two b"}).at("predictions"), json({"2b"}));
  put_bytes(dir_ / "new.txt", "six a\none b\t?\n");
  EXPECT_EQ(ran({"predict", dir_ / "run", dir_ / "new.txt"}).at("predictions"), json({"6a", "1b"}));
  const Ran longer = run_veldt({"predict", dir_ / "run", "--prompt", "two two two"});
  EXPECT_EQ(longer.exit_code, 2);
  EXPECT_THAT(longer.err, HasSubstr("too long"));
  EXPECT_EQ(run_veldt({"predict", dir_ / "run"}).exit_code, 2);
  put_bytes(dir_ / "p.tsv", lines + "no tab here\n");
  EXPECT_EQ(run_veldt({"eval", dir_ / "run", "--data", dir_ / ""}).exit_code, 4);
}

}  // namespace
}  // namespace veldt::test
