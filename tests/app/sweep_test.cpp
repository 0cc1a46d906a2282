// veldt sweep: all combinations become a table; what fails is a row; stopped, killed or killed in part, it
// goes on to the same table, and nothing is trained twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/child.h"
#include "veldt/app/sweep_runs.h"

namespace veldt::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

const std::string kCurveRecipe = R"toml(
[data]
kind = "table"
path = "t.csv"
target = "y"
validation = 0.2
batch = 10
[values]
width = 8
[model]
layers = ["Linear(width)", "Tanh", "Linear(outputs)"]
[optimizer]
kind = "sgd"
lr = 0.1
schedule = "cosine"
[train]
epochs = 9
)toml";

// The fields of a CSV's lines, but for the columns of time and memory, and of reasons, which name folders.
std::vector<Words> table_in(const std::string& path) {
  std::istringstream lines(bytes_of(path));
  std::vector<Words> rows;
  std::vector<bool> kept;
  for (std::string line; std::getline(lines, line);) {
    Words fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
    if (kept.empty())
      for (const std::string& name : fields)
        kept.push_back(name != "seconds" && !name.starts_with("waiting") && name != "memory_bytes" &&
                       name != "reason");
    Words& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(fields.size(), kept.size()); ++i)
      if (kept[i]) row.push_back(fields[i]);
  }
  return rows;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> all;
  std::istringstream pids(
      bytes_of("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children"));
  for (pid_t pid = 0; pids >> pid;) all.push_back(pid);
  return all;
}

class SweepVerb : public testing::Test {
 protected:
  SweepVerb() {
    std::string table = "x,y\n";
    for (int i = 0; i < 200; ++i)
      table += std::to_string(i % 20) + "," + std::to_string((i % 20) * (i % 20)) + "\n";
    put_bytes(dir_ / "t.csv", table);
    put_bytes(dir_ / "r.toml", kCurveRecipe);
  }
  Words command(const std::string& out, const Words& more) const {
    return Words{"sweep",    dir_ / "r.toml", "--data", dir_ / "",   "--out",
                 dir_ / out, "--jobs",        "2",      "--threads", "2"} +
           more;
  }
  Ran sweep(const std::string& out, const Words& more) const { return run_veldt(command(out, more)); }
  void expect_refused(const Words& more, int code, const Words& words) const {
    const Ran ran = sweep("refused", more);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    for (const std::string& word : words) EXPECT_THAT(ran.err, HasSubstr(word));
    EXPECT_FALSE(fs::exists(dir_ / "refused"));
  }
  std::string in(const std::string& out, const std::string& name) const { return dir_ / (out + "/" + name); }

  const TempDir dir_, log_;
};

TEST_F(SweepVerb, MakesATableOfAllCombinations) {
  const Ran ran = sweep("s", {"--over", "optimizer.lr=0.1,0.01", "--over", "width=4,8", "--seeds", "2"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("lr    width  val_mae"));
  EXPECT_THAT(ran.err, HasSubstr("8 runs (4 combinations, 2 seeds each)"));
  const std::vector<Words> table = table_in(in("s", "sweep.csv")), runs = table_in(in("s", "runs.csv"));
  ASSERT_EQ(table.size(), 5U);
  ASSERT_EQ(runs.size(), 9U);
  EXPECT_EQ(table[0][0] + table[0][1] + table[0][2], "optimizer.lrvalues.widthshare");
  EXPECT_EQ(table[1][0], "0.1");  // in nine epochs the faster one is better
  EXPECT_TRUE(fs::exists(in("s", "sweep.svg")));
  // The same again of the folder alone.
  const Ran info = run_veldt({"info", dir_ / "s"});
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_EQ(info.out, ran.out);
  const json described = json::parse(run_veldt({"info", dir_ / "s", "--json"}).out);
  EXPECT_EQ(described.at("kind"), "sweep");
  EXPECT_EQ(described.at("rows").size(), 4U);
  const std::string best_run = described.at("best_run");
  EXPECT_THAT(ran.out, HasSubstr("the best run: " + best_run + "\n"));
  EXPECT_EQ(run_veldt({"eval", best_run, "--data", dir_ / "", "--part", "validation"}).exit_code, 0);
  // Each is a run like any other.
  const std::string run = in("s", "lr=0.1_width=4_seed=2");
  const Ran eval = run_veldt({"eval", run, "--data", dir_ / "", "--part", "validation", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  const double score = json::parse(eval.out).at("mae");
  const auto row =
      std::find_if(runs.begin(), runs.end(), [](const Words& r) { return r[0] == "lr=0.1_width=4_seed=2"; });
  ASSERT_NE(row, runs.end());
  const auto column = std::find(runs[0].begin(), runs[0].end(), "val_mae") - runs[0].begin();
  EXPECT_EQ(std::stod((*row)[static_cast<std::size_t>(column)]), score);
  const Ran again = run_veldt(
      {"train", run + "/recipe.toml", "--data", dir_ / "", "--out", run, "--resume", "--threads", "1"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("nothing was trained"));
  // And the same that `veldt train` would have made.
  const Ran alone = run_veldt({"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "alone",
                               "--threads", "1", "--set", "values.width=4", "--set", "train.seed=2"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(tensors_of(run + "/model.safetensors"), tensors_of(dir_ / "alone/model.safetensors"));
}

TEST_F(SweepVerb, WhatDivergesOrDoesNotFitIsARow) {
  const Ran ran =
      sweep("s", {"--over", "data.target=y,z", "--over", "optimizer.lr=0.01,1e20", "--seeds", "2", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json rows = json::parse(ran.out).at("rows");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].at("values").at("optimizer.lr"), "0.01");
  EXPECT_EQ(rows[0].at("failed"), 0);
  std::string reasons;
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(rows[i].at("failed"), 2);
    reasons += rows[i].at("reason").get<std::string>() + "\n";
  }
  EXPECT_THAT(reasons, HasSubstr("diverged: training diverged at step"));
  EXPECT_THAT(reasons, HasSubstr("there is no column z"));
  const Ran all = sweep("t", {"--over", "optimizer.lr=1e19,1e20"});
  EXPECT_EQ(all.exit_code, 7) << all.err;
  EXPECT_FALSE(fs::exists(in("t", "sweep.svg")));
}

TEST_F(SweepVerb, DoesNothingTwiceAndTakesInMore) {
  const Words words{"--over", "optimizer.lr=0.1,0.01"};
  ASSERT_EQ(sweep("s", words).exit_code, 0);
  const std::string run = in("s", "lr=0.1_seed=1"), before = bytes_of(run + "/log.txt");
  const auto time = fs::last_write_time(run + "/model.safetensors");
  const std::vector<Words> table = table_in(in("s", "sweep.csv"));
  const Ran twice = sweep("s", words);
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("already holds a sweep"));
  const Ran again = sweep("s", words + Words{"--resume"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("nothing was trained"));
  EXPECT_EQ(table_in(in("s", "sweep.csv")), table);
  const Ran more = sweep("s", {"--over", "optimizer.lr=0.1,0.01,0.05", "--seeds", "2", "--resume"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(table_in(in("s", "runs.csv")).size(), 7U);
  EXPECT_EQ(bytes_of(run + "/log.txt"), before);
  EXPECT_EQ(fs::last_write_time(run + "/model.safetensors"), time);
  // Another recipe is another sweep.
  const Ran other = sweep("s", words + Words{"--resume", "--set", "data.batch=20"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("'data.batch' was different"));
  const Ran halving = sweep("s", {"--over", "optimizer.lr=0.1,0.01,0.05", "--resume", "--halving", "3"});
  EXPECT_EQ(halving.exit_code, 2);
  EXPECT_THAT(halving.err, HasSubstr("'halving' was different"));
}

// Their runs' folders would have the same names.
TEST_F(SweepVerb, OtherKeysOfTheSameShortNamesAreAnotherSweep) {
  std::string recipe = kCurveRecipe;
  recipe.insert(recipe.find("width = 8"), "batch = 3\n");
  recipe.replace(recipe.find("Linear(width)"), 13, "Linear(batch*width)");
  put_bytes(dir_ / "r.toml", recipe);
  ASSERT_EQ(sweep("s", {"--over", "values.batch=10,20"}).exit_code, 0);
  const std::string before = bytes_of(in("s", "sweep.csv"));
  const Ran other = sweep("s", {"--over", "data.batch=10,20", "--resume"});
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("holds a sweep over other keys"));
  EXPECT_THAT(other.err, HasSubstr("this one is over data.batch"));
  EXPECT_EQ(bytes_of(in("s", "sweep.csv")), before);
}

TEST_F(SweepVerb, ReplacesNoFileThatNoSweepWrote) {
  for (const char* name : {"sweep.csv", "runs.csv", "sweep.svg", "notes.txt"})
    for (const Words& more : {Words{}, Words{"--resume"}}) {
      fs::create_directories(dir_ / "s");
      put_bytes(in("s", name), "precious");
      const Ran ran = sweep("s", Words{"--over", "optimizer.lr=0.1,0.01"} + more);
      EXPECT_EQ(ran.exit_code, 2) << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(std::string("already holds ") + name));
      EXPECT_EQ(bytes_of(in("s", name)), "precious");
      EXPECT_EQ(count_entries(dir_ / "s"), 1U);
      fs::remove(in("s", name));
    }
  ASSERT_EQ(run_veldt({"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "run"}).exit_code, 0);
  const Ran into_run = sweep("run", {"--over", "optimizer.lr=0.1,0.01"});
  EXPECT_EQ(into_run.exit_code, 2);
  EXPECT_THAT(into_run.err, HasSubstr("is the folder of a run"));
  EXPECT_FALSE(fs::exists(in("run", "sweep.json")));
}

TEST_F(SweepVerb, OtherDataAreAnotherSweep) {
  const Words words{"--over", "optimizer.lr=0.1,0.01", "--set", "train.epochs=1"};
  ASSERT_EQ(sweep("s", words).exit_code, 0);
  const std::string before = bytes_of(in("s", "sweep.csv")), table = bytes_of(dir_ / "t.csv");
  const auto refusal = [&] {
    const Ran ran = sweep("s", words + Words{"--seeds", "2", "--resume"});
    EXPECT_EQ(bytes_of(in("s", "sweep.csv")) == before, ran.exit_code == 2);
    return ran.exit_code == 2 ? ran.err : "";
  };
  std::string other = table;
  other.replace(other.rfind("361"), 3, "999");
  put_bytes(dir_ / "t.csv", other);
  EXPECT_THAT(refusal(), HasSubstr("holds a sweep over other data"));
  EXPECT_THAT(refusal(), HasSubstr("other names or contents"));
  put_bytes(dir_ / "t.csv", table + "1,1\n");
  EXPECT_THAT(refusal(), HasSubstr("t.csv were 1 file of " + std::to_string(table.size()) +
                                   " bytes when it was begun, and are 1 file of " +
                                   std::to_string(table.size() + 4) + " bytes"));
  // The same in another place.
  put_bytes(dir_ / "t.csv", table);
  fs::create_directories(dir_ / "moved");
  fs::rename(dir_ / "t.csv", dir_ / "moved/t.csv");
  const Ran moved = run_veldt(Words{"sweep", dir_ / "r.toml", "--data", dir_ / "moved", "--out", dir_ / "s",
                                    "--threads", "2", "--seeds", "2", "--resume"} +
                              words);
  EXPECT_EQ(moved.exit_code, 0) << moved.err;
}

// Data that were missing have trained nothing.
TEST_F(SweepVerb, GoesOnWhenItsDataHaveCome) {
  const std::string table = bytes_of(dir_ / "t.csv");
  fs::remove(dir_ / "t.csv");
  const Words words{"--over", "optimizer.lr=0.1,0.01", "--set", "train.epochs=1", "--resume"};
  EXPECT_EQ(sweep("s", words).exit_code, 3);
  put_bytes(dir_ / "t.csv", table);
  EXPECT_EQ(sweep("s", words).exit_code, 0);
  put_bytes(dir_ / "t.csv", table + "1,1\n");
  EXPECT_EQ(sweep("s", words).exit_code, 2);
}

TEST_F(SweepVerb, SaysTheShareThatWasTrained) {
  const Words words{"--over", "optimizer.lr=0.1,0.01", "--halving", "2", "--set", "train.epochs=3"};
  const Ran ran = sweep("s", words);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("67 %"));
  EXPECT_THAT(bytes_of(in("s", "sweep.csv")), HasSubstr("0.01,0.666666666667,"));
  const Ran again = sweep("s", words + Words{"--resume", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const json row = json::parse(again.out).at("rows").at(1);
  EXPECT_NEAR(row.at("share"), 2 / 3.0, 1e-12);
  EXPECT_TRUE(row.at("scores").at("val_mae").at("deviation").is_null());
}

// Without --out a sweep has a folder of its own, and --resume takes the last.
TEST_F(SweepVerb, NamesItsFolderAfterTheRecipe) {
  const Words words{"sweep", "r.toml", "--data", ".", "--quiet", "--over", "optimizer.lr=0.1,0.01"};
  const auto ran = [&](const Words& more) { return run_veldt(words + more, {.directory = dir_.path()}); };
  EXPECT_EQ(ran({}).exit_code, 0);
  EXPECT_EQ(ran({"--set", "train.epochs=1"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(dir_ / "runs/r-sweep/sweep.csv"));
  EXPECT_TRUE(fs::exists(dir_ / "runs/r-sweep-2/sweep.csv"));
  EXPECT_EQ(ran({"--set", "train.epochs=1", "--resume"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(dir_ / "runs/r-sweep-3"));
  EXPECT_EQ(ran({"--resume"}).exit_code, 2);  // the last is another
}

TEST_F(SweepVerb, GoesOnWithTheThreadsThatEachHadAndNoMoreInAll) {
  const auto ran = [&](const std::string& rates, const Words& more) {
    return run_veldt(Words{"sweep", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "s", "--threads",
                           "6", "--over", "optimizer.lr=" + rates} +
                     more);
  };
  EXPECT_THAT(ran("0.1,0.01", {}).err, HasSubstr("2 at a time with 3 threads each"));
  EXPECT_THAT(ran("0.1,0.01,0.02,0.05", {"--resume"}).err, HasSubstr("2 at a time with 3 threads each"));
  EXPECT_THAT(ran("0.1,0.01,0.02,0.05", {"--resume", "--jobs", "4"}).err,
              HasSubstr("4 at a time with 3 threads each"));
}

TEST_F(SweepVerb, HalvesByContinuingRuns) {
  const Words words{"--over", "optimizer.lr=0.2,0.1,0.05,0.02,0.01,0.005,0.002,0.001,0.0005", "--halving",
                    "3"};
  const Ran ran = sweep("s", words);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::vector<Words> table = table_in(in("s", "sweep.csv"));
  ASSERT_EQ(table.size(), 10U);
  EXPECT_EQ(table[1][1], "1");
  EXPECT_EQ(table[2][1].substr(0, 6), "0.3333");
  EXPECT_EQ(table[4][1].substr(0, 6), "0.1111");
  // The winner has the bits of a run that never stopped.
  const std::string best = table[1][0];
  const Ran alone = run_veldt({"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "alone",
                               "--threads", "1", "--set", "optimizer.lr=" + best});
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(tensors_of(in("s", "lr=" + best + "_seed=1/model.safetensors")),
            tensors_of(dir_ / "alone/model.safetensors"));
  const std::string metrics = bytes_of(in("s", "lr=" + best + "_seed=1/metrics.csv"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 10);
}

TEST_F(SweepVerb, ATrainingInPartsHasTheBitsOfAWholeOne) {
  const Words words{"train", dir_ / "r.toml", "--data", dir_ / "", "--threads", "1", "--out"};
  ASSERT_EQ(run_veldt(words + Words{dir_ / "whole"}).exit_code, 0);
  for (const char* until : {"0.01", "0.5", "0.5", "0.6"}) {
    const Ran part = run_veldt(words + Words{dir_ / "parts", "--resume", "--json", "--until", until});
    ASSERT_EQ(part.exit_code, 0) << part.err;
    const json found = json::parse(part.out);
    EXPECT_EQ(found.at("stopped_by"), "until");
    // At the end of an epoch of 16 steps: the first, the fifth, the sixth.
    EXPECT_EQ(found.at("steps"), std::string(until) == "0.01" ? 16 : std::string(until) == "0.5" ? 80 : 96);
    EXPECT_TRUE(found.contains("val_mae"));
    EXPECT_FALSE(fs::exists(dir_ / "parts/model.safetensors"));
  }
  ASSERT_EQ(run_veldt(words + Words{dir_ / "parts", "--resume"}).exit_code, 0);
  EXPECT_EQ(tensors_of(dir_ / "parts/model.safetensors"), tensors_of(dir_ / "whole/model.safetensors"));
  const Ran timed =
      run_veldt(words + Words{dir_ / "timed", "--until", "0.5", "--set", "train.epochs=0", "--set",
                              "train.time=1s", "--set", "optimizer.schedule=constant"});
  EXPECT_EQ(timed.exit_code, 2);
  EXPECT_THAT(timed.err, HasSubstr("set train.epochs or train.steps"));
}

// A run whose metrics.csv was lost but for its names is complete nevertheless.
TEST_F(SweepVerb, ATrainingWithoutItsMetricsHasNoLossToTell) {
  const Words words{"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "t", "--json"};
  const Ran whole = run_veldt(words);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_TRUE(json::parse(whole.out).contains("train_loss"));
  const std::string metrics = bytes_of(in("t", "metrics.csv"));
  put_bytes(in("t", "metrics.csv"), metrics.substr(0, metrics.find('\n') + 1));
  const Ran again = run_veldt(words + Words{"--resume"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_FALSE(json::parse(again.out).contains("train_loss"));
  EXPECT_TRUE(json::parse(again.out).contains("val_mae"));
}

TEST_F(SweepVerb, CtrlCSavesAllAndSaysHowToGoOn) {
  const Words words{"--over", "optimizer.lr=0.1,0.01,0.05", "--set", "train.epochs=100000"};
  Process process(command("s", words), log_);
  const std::string one = in("s", "lr=0.1_seed=1"), two = in("s", "lr=0.01_seed=1");
  ASSERT_TRUE(comes_true([&] {
    return fs::exists(one + "/metrics.csv") && fs::exists(two + "/metrics.csv");
  })) << process.err();
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_TRUE(has_checkpoint(one + "/checkpoints") && has_checkpoint(two + "/checkpoints"));
  EXPECT_THAT(process.err(), HasSubstr("veldt sweep"));
  EXPECT_THAT(process.err(), HasSubstr("--resume"));
  EXPECT_FALSE(fs::exists(one + "/outcome.json"));
}

TEST_F(SweepVerb, OnlyOneSweepAtATimeHasAFolder) {
  const Words words{"--over", "optimizer.lr=0.1,0.01", "--set", "train.epochs=100000"};
  Process process(command("s", words), log_);
  ASSERT_TRUE(comes_true([&] { return fs::exists(in("s", "lr=0.1_seed=1/metrics.csv")); })) << process.err();
  const Ran second = sweep("s", words + Words{"--resume"});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("is in use"));
}

// Both had found the folder empty.
TEST_F(SweepVerb, OfTwoThatBeginTogetherOneIsRefused) {
  const Words words{"--over", "optimizer.lr=0.1,0.01"};
  ASSERT_EQ(sweep("first", words).exit_code, 0);
  fs::create_directories(dir_ / "s");
  const int lock = ::open(in("s", ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  Process second(command("s", words), log_);
  const std::string process = "/proc/" + std::to_string(second.pid());
  EXPECT_TRUE(comes_true([&] {
    std::error_code gone;  // until the command is there, the process has this one's files
    if (fs::read_symlink(process + "/exe", gone) != fs::canonical(veldt_binary())) return false;
    for (const auto& file : fs::directory_iterator(process + "/fd", gone))
      if (fs::read_symlink(file, gone).filename() == ".lock") return true;
    return false;
  })) << second.err();
  put_bytes(in("s", "sweep.json"), bytes_of(in("first", "sweep.json")));
  ::close(lock);
  EXPECT_EQ(second.wait(), 2);
  EXPECT_THAT(second.err(), HasSubstr("already holds a sweep"));
}

TEST(SweepChild, LeavesNoFileOpenIfItCannotBegin) {
  const TempDir dir;
  const auto open_files = [] {
    const fs::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  EXPECT_THROW(app::Child({"info"}, dir / "out", dir / "missing/err"), IoError);
  EXPECT_EQ(open_files(), before);
}

// Two gigabytes are free, and each needs one.
TEST(SweepMemory, IsForRunsThatAreAtWorkFirst) {
  EXPECT_TRUE(app::memory_fits(2000, 1000, {}));
  EXPECT_TRUE(app::memory_fits(2000, 1000, {1000}));
  EXPECT_TRUE(app::memory_fits(2000, 1000, {0}));
  EXPECT_TRUE(app::memory_fits(2000, 1000, {500, 500}));
  EXPECT_FALSE(app::memory_fits(2000, 1000, {500, 400}));
  EXPECT_FALSE(app::memory_fits(2000, 1000, {0, 0}));
  EXPECT_TRUE(app::memory_fits(2000, 1000, {3000, 1000}));
  EXPECT_FALSE(app::memory_fits(-1, 0, {}));
}

TEST_F(SweepVerb, RefusesWhatMakesNoSense) {
  const Words rates{"--over", "optimizer.lr=1e-3,1e-2"};
  expect_refused({}, 2, {"--over"});
  expect_refused({"--over", "optimizer.lrr=1,2"}, 2, {"did you mean 'optimizer.lr'?"});
  expect_refused({"--over", "model.width=1,2"}, 2, {"did you mean 'values.width'?"});
  expect_refused({"--over", "optimizer.lr="}, 2, {"the list of values is empty"});
  expect_refused({"--over", "optimizer.lr=1,1.0"}, 2, {"1.0 is there twice"});
  expect_refused({"--over", "data.batch=1,two"}, 2, {"--over data.batch", "two"});
  expect_refused(rates + Words{"--seeds", "0"}, 2, {"--seeds cannot be '0'"});
  expect_refused(rates + Words{"--jobs", "0"}, 2, {"--jobs"});
  expect_refused(rates + rates, 2, {"is given twice"});
  expect_refused(rates + Words{"--halving", "3"}, 2, {"there are 2 combinations"});
  expect_refused(rates + Words{"--set", "train.epoch=3"}, 2, {"did you mean 'train.epochs'?"});
  expect_refused({"--over", "values.widht=8,32"}, 2, {"values.widht", "did you mean 'values.width'?"});
  expect_refused({"--over", "values.depth=8,32"}, 2,
                 {"values.depth would change nothing", "layers read width", "as in Linear(depth)"});
  expect_refused(rates + Words{"--set", "values.widht=8"}, 2, {"did you mean 'values.width'?"});
  for (const char* set : {"width=16", "values.width=16"})
    expect_refused({"--over", "width=4,8", "--set", set}, 2,
                   {std::string("--set ") + set + " would change nothing", "--over values.width"});
  expect_refused({"--over", "optimizer.schedule=cosine,foo"}, 2, {"there is no schedule 'foo'"});
  expect_refused({"--over", "width=0,8"}, 2, {"'0'"});
  std::string thousand = "=";
  for (int i = 1; i <= 1000; ++i) thousand += std::to_string(i) + (i < 1000 ? "," : "");
  expect_refused({"--over", "data.batch" + thousand, "--over", "width" + thousand}, 2,
                 {"the sweep has 1000000 runs: 1000000 combinations, one of each", "--yes"});
  expect_refused({"--over", "data.batch" + thousand, "--over", "width" + thousand, "--seeds", "3", "--over",
                  "optimizer.warmup" + thousand},
                 2, {"the sweep has 3000000000 runs", "at most"});
  expect_refused(rates + Words{"--device", "cuda:999"}, 5, {"cannot use"});
  // Nothing that a run could be of.
  expect_refused({"--over", "data.path=t.csv,u.csv"}, 3, {dir_ / "u.csv"});
  fs::remove(dir_ / "t.csv");
  expect_refused(rates, 3, {dir_ / "t.csv"});
}

TEST_F(SweepVerb, DamagedFilesAreNamed) {
  const Words words{"--over", "optimizer.lr=0.1,0.01"}, again = words + Words{"--resume"};
  ASSERT_EQ(sweep("s", words).exit_code, 0);
  const std::string outcome = in("s", "lr=0.1_seed=1/outcome.json"), whole = bytes_of(outcome),
                    of_sweep = in("s", "sweep.json"), before = bytes_of(of_sweep);
  for (const char* text : {"", "{", "[]", "{\"rounds\": 3}", "{\"rounds\": [{}]}", "{\"rounds\": [3]}",
                           "{\"rounds\": [{\"until\": \"1\"}]}",
                           "{\"rounds\": [{\"until\": 1, \"end\": \"done\", \"reason\": 3}]}"}) {
    put_bytes(outcome, text);
    const Ran ran = sweep("s", again);
    EXPECT_EQ(ran.exit_code, 9) << text << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("outcome.json is damaged")) << text;
  }
  put_bytes(outcome, whole);
  for (const char* text :
       {"", "[]", "{}", "{\"format\": \"veldt-sweep\"}", "{\"format\": 3, \"version\": 1}"}) {
    put_bytes(of_sweep, text);
    EXPECT_EQ(sweep("s", again).exit_code, 9) << text;
    EXPECT_EQ(run_veldt({"info", dir_ / "s"}).exit_code, 9) << text;
  }
  std::string newer = before;
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 2");
  for (const auto& [was, is] : {std::pair{"\"seeds\": 1", "\"seeds\": -1"},
                                {"\"seeds\": 1", "\"seeds\": 1e300"},
                                {"\"over\"", "\"ov\""},
                                {"\"data.kind\"", "\"data.kin\""},
                                {"optimizer.lr=0.1", "optimizer.lr=x"}}) {
    std::string other = before;
    other.replace(other.find(was), std::string(was).size(), is);
    put_bytes(of_sweep, other);
    const Ran info = run_veldt({"info", dir_ / "s"});
    EXPECT_EQ(info.exit_code, 9) << is << info.err;
    EXPECT_THAT(info.err, HasSubstr("sweep.json is damaged")) << is;
  }
  put_bytes(of_sweep, newer);
  EXPECT_EQ(sweep("s", again).exit_code, 9);
  put_bytes(of_sweep, before);
  // Without its outcome a run is asked again, and says what it had.
  const std::vector<Words> table = table_in(in("s", "sweep.csv"));
  fs::remove(outcome);
  EXPECT_EQ(sweep("s", again).exit_code, 0);
  fs::remove(outcome), fs::remove(in("s", "lr=0.1_seed=1/result.json"));
  EXPECT_EQ(sweep("s", again).exit_code, 0);
  EXPECT_EQ(table_in(in("s", "sweep.csv")), table);
}

class CrashSweep : public SweepVerb {};

// No run may go on, or hold a lock, once its sweep is gone.
void expect_free(const std::string& folder) {
  const std::string file = folder + "/.lock";
  const int lock = ::open(file.c_str(), O_RDWR);
  if (lock < 0) return;  // it was killed before
  EXPECT_TRUE(comes_true([&] { return ::flock(lock, LOCK_EX | LOCK_NB) == 0; }, 5))
      << "a child outlives its sweep";
  ::close(lock);
}

TEST_F(CrashSweep, KilledTenTimesItEndsWithTheSameTable) {
  std::mt19937 random(22);
  const std::vector<Words> sweeps = {
      {"--over", "optimizer.lr=0.1,0.01,1e20", "--over", "width=4,8"},
      {"--over", "optimizer.lr=0.2,0.1,0.05,0.02,0.01,1e20", "--halving", "2"}};
  const Words longer{"--set", "train.epochs=600", "--set", "train.evaluate_every=1600", "--every", "100ms"};
  int kills = 0;
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const std::string whole = "whole" + std::to_string(i), killed = "killed" + std::to_string(i);
    const Ran ran = sweep(whole, sweeps[i] + longer);
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const std::vector<Words> table = table_in(in(whole, "sweep.csv")), runs = table_in(in(whole, "runs.csv"));
    for (int k = 0; k < 5; ++k) {
      Process process(command(killed, sweeps[i] + longer + Words{"--resume"}), log_);
      std::this_thread::sleep_for(
          std::chrono::duration<double>(ran.seconds * 0.3 * (random() % 1000) / 1000));
      process.send(SIGKILL);
      const int code = process.wait();
      ASSERT_TRUE(code == 0 || code == -SIGKILL) << process.err();
      kills += code == -SIGKILL;
      expect_free(dir_ / killed);
    }
    const Ran rest = sweep(killed, sweeps[i] + longer + Words{"--resume"});
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_EQ(table_in(in(killed, "sweep.csv")), table);
    EXPECT_EQ(table_in(in(killed, "runs.csv")), runs);
  }
  EXPECT_GT(kills, 3);  // others had ended before
  std::printf("%d kills\n", kills);
}

TEST_F(CrashSweep, ARunThatIsKilledIsResumedTwice) {
  const Words words{
      "--over", "optimizer.lr=0.1,0.01",    "--jobs", "1", "--every", "100ms", "--set", "train.epochs=1000",
      "--set",  "train.evaluate_every=4000"};
  ASSERT_EQ(sweep("whole", words).exit_code, 0);
  const auto killed = [&](const std::string& out, int kills) {
    Process process(command(out, words), log_);
    pid_t before = 0;
    for (int k = 0; k < kills; ++k) {
      const std::string checkpoints = in(out, "lr=0.1_seed=1/checkpoints");
      EXPECT_TRUE(comes_true([&] {
        const std::vector<pid_t> children = children_of(process.pid());
        return has_checkpoint(checkpoints) && !children.empty() && children[0] != before;
      }));
      const std::vector<pid_t> children = children_of(process.pid());
      if (children.empty()) break;
      before = children[0];
      ::kill(before, SIGKILL);
    }
    EXPECT_EQ(process.wait(), 0) << process.err();
    return table_in(in(out, "runs.csv"));
  };
  EXPECT_EQ(killed("twice", 2), table_in(in("whole", "runs.csv")));
  const std::vector<Words> runs = killed("thrice", 3);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[2][0], "lr=0.1_seed=1");
  EXPECT_EQ(runs[2][4], "failed");
  EXPECT_THAT(bytes_of(in("thrice", "sweep.csv")), HasSubstr("ended by signal 9"));
  // What failed is tried again.
  ASSERT_EQ(sweep("thrice", words + Words{"--resume"}).exit_code, 0);
  EXPECT_EQ(table_in(in("thrice", "runs.csv")), table_in(in("whole", "runs.csv")));
}

}  // namespace
}  // namespace veldt::test
