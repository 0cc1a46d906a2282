// The folder of a run of `veldt train` for any name of its recipe, which never replaces other files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string kTinyRecipe = R"toml(
[data]
kind = "table"
path = "t.csv"
target = "y"
[model]
layers = ["Linear(outputs)"]
[train]
steps = 2
)toml";

class RunFolder : public testing::Test {
 protected:
  RunFolder() {
    fs::create_directories(dir_ / "work/below");
    std::string table = "x,y\n";
    for (int i = 0; i < 20; ++i) table += std::to_string(i) + "," + std::to_string(2 * i) + "\n";
    put_bytes(dir_ / "work/t.csv", table);
  }
  Ran train(const std::string& recipe, const Words& more = {}) const {
    Words words{"train", "--data", ".", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", recipe});
    return run_veldt(words, {.directory = dir_ / "work"});
  }
  // All plain files below the working directory's parent, with what they hold.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.path()))
      if (entry.is_regular_file()) all[entry.path().string()] = bytes_of(entry.path().string());
    return all;
  }
  const TempDir dir_;
};

TEST_F(RunFolder, IsNamedAfterTheRecipe) {
  for (const auto& [recipe, folder] :
       std::map<std::string, std::string>{{"plain.toml", "runs/plain"},
                                          {"below/two.words.toml", "runs/two.words"},
                                          {"without", "runs/without"},
                                          {"with space \xc3\xa4.toml", "runs/with space \xc3\xa4"}}) {
    put_bytes(dir_ / ("work/" + recipe), kTinyRecipe);
    const Ran ran = train(recipe);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_TRUE(fs::exists(dir_ / ("work/" + folder + "/model.safetensors"))) << folder;
  }
}

TEST_F(RunFolder, IsAnotherForEachRun) {
  put_bytes(dir_ / "work/r.toml", kTinyRecipe);
  const auto model = [&](const std::string& name) {
    return dir_ / ("work/runs/" + name + "/model.safetensors");
  };
  EXPECT_EQ(train("r.toml", {"--resume"}).exit_code, 0);  // nothing to resume yet
  ASSERT_TRUE(fs::exists(model("r")));
  const std::string first = bytes_of(model("r"));
  EXPECT_EQ(train("r.toml").exit_code, 0);
  ASSERT_TRUE(fs::exists(model("r-2")));
  EXPECT_EQ(bytes_of(model("r-2")), first);
  EXPECT_EQ(train("r.toml", {"--resume", "--set", "train.steps=5"}).exit_code, 0);  // the last
  EXPECT_NE(bytes_of(model("r-2")), first);
  EXPECT_EQ(bytes_of(model("r")), first);
  EXPECT_FALSE(fs::exists(model("r-3")));
  EXPECT_EQ(train("r.toml", {"--out", "runs/r"}).exit_code, 2);  // named, so it must be free

  // Saved last, though its number is smaller and there are gaps; what only looks like one is none.
  fs::rename(dir_ / "work/runs/r-2", dir_ / "work/runs/r-7");
  const fs::file_time_type now = fs::file_time_type::clock::now();
  fs::last_write_time(dir_ / "work/runs/r-7/checkpoints", now - std::chrono::hours(1));
  fs::last_write_time(dir_ / "work/runs/r/checkpoints", now - std::chrono::minutes(1));
  fs::create_directories(dir_ / "work/runs/r-8x/checkpoints");
  const std::string seventh = bytes_of(model("r-7"));
  EXPECT_EQ(train("r.toml", {"--resume", "--set", "train.steps=6"}).exit_code, 0);
  EXPECT_EQ(bytes_of(model("r-7")), seventh);
  EXPECT_NE(bytes_of(model("r")), first);
  EXPECT_EQ(train("r.toml").exit_code, 0);
  EXPECT_EQ(bytes_of(model("r-2")), first);
}

// runs/r-50 may be of r-50.toml.
TEST_F(RunFolder, IsNotThatOfAnotherRecipe) {
  put_bytes(dir_ / "work/r-50.toml", kTinyRecipe);
  put_bytes(dir_ / "work/r.toml", kTinyRecipe);
  EXPECT_EQ(train("r-50.toml").exit_code, 0);
  EXPECT_EQ(train("r.toml", {"--resume", "--set", "train.steps=3"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(dir_ / "work/runs/r/model.safetensors"));
}

// ".." was the stem of "...toml", and "." that of "..toml".
TEST_F(RunFolder, NeverLeadsOutOfRuns) {
  put_bytes(dir_ / "work/model.safetensors", "precious");
  const Words recipes = {"...toml",   "..toml",       ".toml",         "....toml", ".hidden.toml", "-x.toml",
                         "a\nb.toml", "\x1b[2J.toml", "below/...toml", "./..toml", "../...toml"};
  for (const std::string& recipe : recipes) put_bytes(dir_ / ("work/" + recipe), kTinyRecipe);
  const auto before = files();
  for (const std::string& recipe : recipes) {
    const Ran ran = train(recipe);
    EXPECT_EQ(ran.exit_code, 2) << recipe << "\n" << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << recipe;
    EXPECT_THAT(ran.err, HasSubstr("--out DIR"));
  }
  EXPECT_EQ(files(), before);
  EXPECT_FALSE(fs::exists(dir_ / "work/runs"));
  EXPECT_EQ(train("...toml", {"--out", "named"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(dir_ / "work/named/model.safetensors"));
}

TEST_F(RunFolder, IsNoLinkToAnotherPlace) {
  put_bytes(dir_ / "work/r.toml", kTinyRecipe);
  fs::create_directories(dir_ / "elsewhere");
  fs::create_directories(dir_ / "work/runs");
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "work/runs/r");
  const Ran ran = train("r.toml");
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("symbolic link"));
  EXPECT_EQ(count_entries(dir_ / "elsewhere"), 0u);
  // runs/ itself may be on another disk.
  fs::remove_all(dir_ / "work/runs");
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "work/runs");
  EXPECT_EQ(train("r.toml").exit_code, 0);
  EXPECT_TRUE(fs::exists(dir_ / "elsewhere/r/model.safetensors"));
}

TEST_F(RunFolder, IsNotOneThatHoldsStrangeFiles) {
  put_bytes(dir_ / "work/r.toml", kTinyRecipe);
  for (const std::string name : {"model.safetensors", "metrics.csv", "curves.svg", "best.safetensors"}) {
    put_bytes(dir_ / ("work/" + name), "precious");
    const Ran ran = train("r.toml", {"--out", "."});
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
    EXPECT_THAT(ran.err, HasSubstr(". already holds " + name));
    EXPECT_EQ(bytes_of(dir_ / ("work/" + name)), "precious");
    fs::remove(dir_ / ("work/" + name));
  }
  EXPECT_EQ(count_entries(dir_ / "work"), 3u);
  EXPECT_EQ(train("r.toml", {"--out", "."}).exit_code, 0);
  // A run that a kill ended before its first checkpoint has its folder, and begins again.
  fs::remove_all(dir_ / "work/checkpoints");
  fs::create_directory(dir_ / "work/checkpoints");
  EXPECT_EQ(train("r.toml", {"--out", "."}).exit_code, 0);
}

}  // namespace
}  // namespace veldt::test
