// The command's side of live pages: addresses, folders of runs, and what runs leave in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/live_run.h"
#include "veldt/app/run_records.h"
#include "veldt/io/sound.h"
#include "veldt/live/record.h"

namespace veldt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

// Three classes that two numbers tell apart.
class LiveCommand : public testing::Test {
 protected:
  LiveCommand() {
    std::string table = "x,y,class\n";
    const char* const names[] = {"low", "middle", "high"};
    for (int i = 0; i < 90; ++i)
      table += std::to_string(i % 3) + "," + std::to_string(i) + "," + names[i % 3] + "\n";
    put_bytes(dir_ / "t.csv", table);
    put_bytes(dir_ / "small.toml", R"toml(
[data]
kind = "table"
path = "t.csv"
target = "class"
classes = true
test = 0.3
[model]
layers = ["Linear(8)", "ReLU", "Linear(outputs)"]
[train]
steps = 60
)toml");
  }
  Ran train(const std::string& out, const Words& more = {}) const {
    Words words{"train", dir_ / "small.toml", "--data", dir_ / "", "--out", dir_ / out};
    words.insert(words.end(), more.begin(), more.end());
    return run_veldt(words);
  }
  Ran fit(const Words& more, const RunOptions& options = {}) const {
    Words words{"fit", kCub, "-o", dir_ / "cub.safetensors", "--steps", "20", "--prior", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return run_veldt(words, options);
  }
  // What `watch` says until Ctrl-C ends it.
  std::string watched(const std::string& runs) const {
    const TempDir log;
    Process watch({"watch", runs}, log);
    EXPECT_TRUE(comes_true([&] { return watch.err().find("Ctrl-C ends it") != std::string::npos; }));
    watch.send(SIGINT);
    EXPECT_EQ(watch.wait(), 130);
    return watch.err();
  }

  TempDir dir_;
};

TEST_F(LiveCommand, ATrainingLeavesItsRecordAndReport) {
  ASSERT_EQ(train("run").exit_code, 0);
  const live::Record record = live::load_record(dir_ / "run");
  EXPECT_EQ(record.state, "done");
  EXPECT_EQ(record.title, "small");
  EXPECT_EQ(record.step, 60);
  ASSERT_EQ(record.layers.size(), 3);
  EXPECT_EQ(record.layers[0].kind, "Linear(2, 8)");
  ASSERT_TRUE(record.confusion);
  std::int64_t examples = 0;
  for (const std::int64_t count : record.confusion->counts) examples += count;
  EXPECT_EQ(examples, 27);
  EXPECT_EQ(record.confusion->classes.size(), 3);
  const auto has_fact = [&](const std::string& group, const std::string& name) {
    return std::any_of(record.facts.begin(), record.facts.end(),
                       [&](const live::Fact& f) { return f.group == group && f.name == name; });
  };
  for (const auto& [group, name] : {std::pair{"run", "command"},
                                    {"recipe", "train.steps"},
                                    {"machine", "processor"},
                                    {"versions", "Veldt"},
                                    {"scores", "test_accuracy"}})
    EXPECT_TRUE(has_fact(group, name)) << group << ' ' << name;
  const std::string report = bytes_of(dir_ / "run/report.html");
  EXPECT_THAT(report, HasSubstr("test_accuracy"));
  EXPECT_LT(report.size(), 2'000'000);
}

TEST_F(LiveCommand, AResumedTrainingGoesOnWithItsRecord) {
  ASSERT_EQ(train("run", {"--until", "0.5"}).exit_code, 0);
  EXPECT_EQ(live::load_record(dir_ / "run").state, "stopped");
  ASSERT_EQ(train("run", {"--resume"}).exit_code, 0);
  const live::Record record = live::load_record(dir_ / "run");
  EXPECT_EQ(record.state, "done");
  EXPECT_LT(record.series.at(0).steps.front(), 31);
  EXPECT_EQ(record.series.at(0).steps.back(), 60);
}

TEST_F(LiveCommand, AReportCompares) {
  ASSERT_EQ(train("a").exit_code, 0);
  ASSERT_EQ(train("b", {"--set", "optimizer.lr=0.1"}).exit_code, 0);
  const Ran both = run_veldt({"report", dir_ / "a", dir_ / "b", "-o", dir_ / "c.html", "--json"});
  ASSERT_EQ(both.exit_code, 0) << both.err;
  EXPECT_EQ(nlohmann::json::parse(both.out)["runs"], 2);
  const Ran all = run_veldt({"report", dir_.path(), "-o", dir_ / "d.html"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_EQ(bytes_of(dir_ / "c.html"), bytes_of(dir_ / "d.html"));
  const Ran nameless = run_veldt({"report", dir_ / "a", dir_ / "b"});
  EXPECT_EQ(nameless.exit_code, 2);
  EXPECT_TRUE(has_three_lines(nameless.err));
  fs::remove(dir_ / "a/report.html");
  EXPECT_EQ(run_veldt({"report", dir_ / "a"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(dir_ / "a/report.html"));
}

TEST_F(LiveCommand, FoldersWithoutRunsSaySo) {
  for (const char* verb : {"report", "watch"}) {
    for (const std::string& path : {dir_ / "nowhere", dir_.path()}) {
      const Ran ran = run_veldt({verb, path});
      EXPECT_EQ(ran.exit_code, 2);
      EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    }
    fs::create_directories(dir_ / "bad");
    put_bytes(dir_ / "bad/record.json", "{\"format\":\"veldt.record\",\"version\":1,\"series\":7}");
    const Ran bad = run_veldt({verb, dir_ / "bad"});
    EXPECT_TRUE(has_three_lines(bad.err)) << bad.err;
    EXPECT_NE(bad.exit_code, 0);
    fs::remove_all(dir_ / "bad");
  }
}

TEST_F(LiveCommand, OneBadRecordOfSeveralIsLeftOutWithAWarning) {
  for (const char* run : {"runs/good", "runs/bad"}) fs::create_directories(dir_ / run);
  live::save_record({.title = "good"}, dir_ / "runs/good");
  put_bytes(dir_ / "runs/bad/record.json", "{\"format\":\"veldt.record\"");
  const Ran report = run_veldt({"report", dir_ / "runs", "-o", dir_ / "all.html", "--json"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_EQ(nlohmann::json::parse(report.out)["runs"], 1);
  EXPECT_THAT(report.err, HasSubstr("warning: " + (dir_ / "runs/bad") + " is left out: cannot read "));
  EXPECT_THAT(watched(dir_ / "runs"), HasSubstr("runs/bad is left out"));
  const Ran unnamed = run_veldt({"report", dir_ / "runs"});
  EXPECT_EQ(unnamed.exit_code, 2);
  EXPECT_FALSE(fs::exists(dir_ / "runs/good/report.html"));
  const Ran alone = run_veldt({"report", dir_ / "runs/bad"});
  EXPECT_EQ(alone.exit_code, 4);
  EXPECT_THAT(alone.err, HasSubstr("runs/bad/record.json"));
}

TEST_F(LiveCommand, NamesOfRunsAreAsShortAsTheyDiffer) {
  for (const char* run : {"x/one", "y/one", "y/two"}) {
    fs::create_directories(dir_ / run);
    live::save_record({}, dir_ / run);
  }
  const auto all = app::run_folders({dir_ / "x", dir_ / "y/one", dir_ / "y/two"});
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0].first, "x/one");
  EXPECT_EQ(all[1].first, "y/one");
  EXPECT_EQ(all[2].first, "two");
}

TEST_F(LiveCommand, ThePageHasAnAddressWithAToken) {
  const Ran ran = fit({"--quiet", "--live"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(std::regex_search(
      ran.err, std::regex("^veldt: live page: http://127\\.0\\.0\\.1:[0-9]+/\\?token=[0-9a-f]{32}\n")))
      << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("warning")));
}

TEST_F(LiveCommand, OtherMachinesReachItOnlyWhenThatIsWrittenOut) {
  const Ran ran = fit({"--live", "0.0.0.0:0"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("warning: 0.0.0.0:"));
  EXPECT_THAT(ran.err, HasSubstr("is reached from other machines"));
}

TEST_F(LiveCommand, BadAddressesAreRefusedBeforeTheFit) {
  for (const char* address : {"70000", "x", "localhost", "0.0.0.0", ":80x", "1.2.3.4.5:80", "8.8.8.8:0"}) {
    const Ran ran = fit({"--live", address});
    EXPECT_NE(ran.exit_code, 0) << address;
    EXPECT_THAT(ran.err, HasSubstr("veldt: error: ")) << address;
    EXPECT_FALSE(fs::exists(dir_ / "cub.safetensors")) << address;
  }
}

TEST_F(LiveCommand, AnAddressThatIsNoneIsToldWhatItsFlagTakes) {
  const Ran fitted = fit({"--live", "localhost"});
  EXPECT_THAT(fitted.err, HasSubstr("HOST:PORT"));
  EXPECT_THAT(fitted.err, HasSubstr("name pictures before"));
  live::save_record({}, dir_.path());
  const Ran watched = run_veldt({"watch", dir_.path(), "--at", "foo"});
  EXPECT_EQ(watched.exit_code, 2);
  EXPECT_THAT(watched.err, HasSubstr("use --at 8080 or --at 0.0.0.0:8080"));
  EXPECT_THAT(watched.err, Not(HasSubstr("--live")));
  EXPECT_THAT(fit({"--live", "localhost:0"}).err, HasSubstr("live page: http://127.0.0.1:"));
}

TEST_F(LiveCommand, WhatShowsARunIsRefusedWhereThereIsNone) {
  for (const Words& look : {Words{"--live"}, {"--tensorboard", dir_ / "tb"}, {"--trace", dir_ / "t.json"}}) {
    Words fitting = look;
    fitting.insert(fitting.begin(), "--dry-run");
    for (const char* mode : {"--find-rate", "--overfit"}) {
      Words words = look;
      words.insert(words.begin(), mode);
      const Ran ran = train("run", words);
      EXPECT_EQ(ran.exit_code, 2);
      EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(look[0] + " cannot be used with " + mode));
    }
    EXPECT_THAT(fit(fitting).err, HasSubstr(look[0] + " cannot be used with --dry-run"));
  }
}

// A pause is no time that has passed, so no burst of work follows it.
TEST(LiveBudget, APauseEarnsNothing) {
  double now = 0;
  app::Budget budget(0.5, 0, 0, [&now] { return now; });
  int times = 0;
  const auto work = [&] {
    ++times;
    now += 0.1;
  };
  budget.spend(work);
  now += 0.4;
  budget.leave_out(std::chrono::duration<double>(0.4));
  budget.spend(work);
  EXPECT_EQ(times, 1);
  now += 0.2;
  budget.spend(work);
  EXPECT_EQ(times, 2);
}

TEST_F(LiveCommand, ATrainingLeavesItsScoresForTensorboard) {
  ASSERT_EQ(train("run", {"--tensorboard", dir_ / "tb", "--set", "data.validation=0.2"}).exit_code, 0);
  for (const auto& entry : fs::directory_iterator(dir_ / "tb")) {
    const std::string bytes = bytes_of(entry.path().string());
    for (const char* tag : {"train/loss", "val/loss", "val/accuracy", "final/test_accuracy", "train.steps"})
      EXPECT_THAT(bytes, HasSubstr(tag));
  }
}

TEST_F(LiveCommand, AFitLeavesItsScoresAndLayers) {
  ASSERT_EQ(fit({"--checkpoint", dir_ / "run"}).exit_code, 0);
  const live::Record record = live::load_record(dir_ / "run");
  EXPECT_GE(record.layers.size(), 2);
  EXPECT_TRUE(std::any_of(record.facts.begin(), record.facts.end(), [](const live::Fact& f) {
    return f.group == "scores" && f.name == "PSNR" && !f.value.empty();
  }));
  EXPECT_THAT(bytes_of(dir_ / "run/report.html"), HasSubstr("\"SSIM\""));
}

TEST_F(LiveCommand, ASoundIsShownAsItsWaveform) {
  std::vector<float> tone(4000);
  for (std::size_t i = 0; i < tone.size(); ++i) tone[i] = 0.5f * std::sin(0.05f * static_cast<float>(i));
  io::write_sound(dir_ / "tone.wav", Tensor::from<float>({4000, 1}, tone), 8000);
  const Ran ran = run_veldt({"fit", dir_ / "tone.wav", "-o", dir_ / "tone.safetensors", "--steps", "20",
                             "--checkpoint", dir_ / "run"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const live::Record record = live::load_record(dir_ / "run");
  ASSERT_GE(record.pictures.size(), 2);
  EXPECT_EQ(record.pictures[0].name, "truth");
  EXPECT_EQ(record.pictures.back().name, "picture");
  EXPECT_NE(record.pictures[1].png, record.pictures.back().png);  // it has learned
}

TEST_F(LiveCommand, AFitLeavesEventsForTensorboard) {
  const Ran ran = fit({"--tensorboard", dir_ / "tb"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(dir_ / "tb")) {
    ++files;
    const std::string bytes = bytes_of(entry.path().string());
    for (const char* tag : {"loss", "PSNR", "rate", "parameters/", "gradients/", "picture", "brain.Event:2"})
      EXPECT_THAT(bytes, HasSubstr(tag));
  }
  EXPECT_EQ(files, 1);
}

TEST_F(LiveCommand, WhatIsLookedAtLearnsTheSameBits) {
  ASSERT_EQ(fit({}).exit_code, 0);
  // Its header says how many seconds it took; the weights come after it.
  const auto weights = [this] {
    const std::string bytes = bytes_of(dir_ / "cub.safetensors");
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    return bytes.substr(sizeof header + header);
  };
  const std::string plain = weights();
  ASSERT_GT(plain.size(), 10'000);
  ASSERT_EQ(fit({"--live", "--tensorboard", dir_ / "tb"}).exit_code, 0);
  EXPECT_TRUE(weights() == plain);
}

TEST_F(LiveCommand, ATraceHasKernelsWithTheirTimes) {
  const Ran ran = fit({"--trace", dir_ / "trace.json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto trace = nlohmann::json::parse(bytes_of(dir_ / "trace.json"));
  EXPECT_GT(trace["traceEvents"].size(), 20);
  EXPECT_THAT(ran.err, Not(HasSubstr("GFLOP/s")));  // which is --profile's
  const Ran text = fit({"--trace", dir_ / "trace.txt", "--live"});
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.err, Not(HasSubstr("live page")));  // nothing has begun
  EXPECT_THAT(text.err, HasSubstr("name it .json"));
}

// A folder that cannot be written is found before the work; one that fills up ends nothing.
TEST_F(LiveCommand, AFolderThatIsNoneIsRefused) {
  put_bytes(dir_ / "file", "x");
  const Ran ran = fit({"--tensorboard", dir_ / "file"});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("veldt: error: "));
}

TEST_F(LiveCommand, WatchShowsUntilItIsAskedToEnd) {
  ASSERT_EQ(train("run").exit_code, 0);
  const std::string said = watched(dir_ / "run");
  EXPECT_THAT(said, HasSubstr("live page: http://127.0.0.1:"));
  EXPECT_THAT(said, HasSubstr("watching 1 run; Ctrl-C ends it"));
}

}  // namespace
}  // namespace veldt::test
