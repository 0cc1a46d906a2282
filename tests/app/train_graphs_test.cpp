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

}  // namespace
}  // namespace veldt::test
