// The loop: it ends when it should, survives failures, and a resumed run equals one that was never stopped.
#include "veldt/train/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/io/faults.h"
#include "tests/train/small_task.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/threads.h"
#include "veldt/train/checkpoint.h"

namespace veldt::train {
namespace {

using test::bytes_of;
using test::put_bytes;
using test::says;
using test::small_run;
using test::SmallTask;
using test::stop_after;
using test::TempDir;
using test::thrown_by;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunOptions resumed(RunOptions options) {
  options.resume = true;
  return options;
}

TEST(Trainer, ContinuesAStoppedRunBitForBit) {
  SmallTask whole;
  const RunResult straight = run(whole, small_run(60));
  EXPECT_EQ(straight.stop, Stop::steps_done);
  EXPECT_EQ(straight.steps, 60);
  for (const std::int64_t cut : {1, 25, 59}) {
    const TempDir dir;
    SmallTask first, second;
    const RunResult stopped = run(first, small_run(60, dir.path()), stop_after(cut));
    EXPECT_EQ(stopped.stop, Stop::asked);
    EXPECT_EQ(stopped.steps, cut);
    const RunResult rest = run(second, resumed(small_run(60, dir.path())));
    EXPECT_EQ(rest.stop, Stop::steps_done);
    EXPECT_EQ(rest.steps, 60);
    EXPECT_EQ(rest.loss, straight.loss);
    EXPECT_EQ(second.numbers(), whole.numbers()) << "cut at " << cut;
  }
}

TEST(Trainer, ReplaysAStepThatRepeatsWithTheSameBits) {
  test::SmallTask eager, planned;
  planned.planned = true;
  const train::RunResult a = train::run(eager, small_run(120)), b = train::run(planned, small_run(120));
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(eager.numbers(), planned.numbers());
}

TEST(Trainer, ContinuesThroughManyStops) {
  SmallTask whole;
  run(whole, small_run(60));
  const TempDir dir;
  {
    SmallTask task;
    run(task, small_run(60, dir.path()), stop_after(7));
  }
  RunResult result;
  for (int round = 0; result.stop != Stop::steps_done || round == 0; ++round) {
    ASSERT_LT(round, 20);
    SmallTask task;
    result = run(task, resumed(small_run(60, dir.path())), stop_after(11));
    if (result.stop == Stop::steps_done) {
      EXPECT_EQ(task.numbers(), whole.numbers());
    }
  }
  EXPECT_EQ(result.steps, 60);
}

TEST(Trainer, PausesAfterAStepAndGoesOnWithTheSameBits) {
  SmallTask whole;
  run(whole, small_run(40));
  const TempDir dir;
  for (const std::int64_t step : {13, 13, 20, 5}) {  // one that is behind it takes no step
    SmallTask task;
    RunOptions options = resumed(small_run(40, dir.path()));
    options.pause = step;
    const RunResult result = run(task, options);
    EXPECT_EQ(result.stop, Stop::asked);
    EXPECT_EQ(result.steps, step == 5 ? 20 : step);
  }
  SmallTask rest;
  EXPECT_EQ(run(rest, resumed(small_run(40, dir.path()))).stop, Stop::steps_done);
  EXPECT_EQ(rest.numbers(), whole.numbers());
}

TEST(Trainer, LeavesAFinishedRunAsItIs) {
  const TempDir dir;
  SmallTask first, second;
  const RunResult done = run(first, small_run(20, dir.path()));
  const RunResult again = run(second, resumed(small_run(20, dir.path())));
  EXPECT_EQ(again.stop, Stop::steps_done);
  EXPECT_EQ(again.steps, 20);
  EXPECT_EQ(again.loss, done.loss);
  EXPECT_EQ(second.numbers(), first.numbers());
}

TEST(Trainer, NamesEveryKeyInWhichARunDiffersFromTheStoredOne) {
  const TempDir dir;
  SmallTask task;
  RunOptions options = small_run(10, dir.path());
  options.config = R"({"batch":8,"field":{"omega":20.0,"widths":[32]},"lr":0.5,"old":1})";
  run(task, options);
  options.config = R"({"batch":9,"field":{"omega":20.0,"widths":[64]},"lr":0.5,"new":2})";
  const auto error = thrown_by<ConfigError>([&] { run(task, resumed(options)); });
  EXPECT_TRUE(says(error, "batch was 8 and is 9")) << error.what();
  EXPECT_TRUE(says(error, "field.widths was [32] and is [64]")) << error.what();
  EXPECT_TRUE(says(error, "new was not set and is 2")) << error.what();
  EXPECT_TRUE(says(error, "old was 1 and is not set")) << error.what();
  EXPECT_FALSE(says(error, "lr")) << error.what();
  EXPECT_FALSE(says(error, "omega")) << error.what();
  EXPECT_TRUE(says(error, dir.path())) << error.what();
}

TEST(Trainer, RefusesADirectoryThatHoldsARun) {
  const TempDir dir;
  SmallTask first, second;
  run(first, small_run(10, dir.path()));
  const auto error = thrown_by<ConfigError>([&] { run(second, small_run(10, dir.path())); });
  EXPECT_TRUE(says(error, "already holds a run")) << error.what();
  EXPECT_TRUE(says(error, "--resume")) << error.what();
}

TEST(Trainer, BeginsWhereThereIsNothingToResume) {
  const TempDir dir;
  for (const char* name : {"", "/new"}) {
    SmallTask task, again;
    EXPECT_EQ(run(task, resumed(small_run(10, dir.path() + name))).steps, 10);
    std::int64_t first = -1;
    Events events;
    events.on_start = [&](std::int64_t step) { first = step; };
    EXPECT_EQ(run(again, resumed(small_run(10, dir.path() + name)), events).steps, 10);
    EXPECT_EQ(first, 10);
  }
}

TEST(Trainer, ResumesUnderAnotherValueOfWhatMayChange) {
  const TempDir dir;
  RunOptions options = small_run(10, dir.path());
  options.config = R"({"lr":1,"steps":10})";
  SmallTask first, second, third;
  run(first, options);
  options = resumed(options);
  options.config = R"({"lr":1,"steps":20})";
  options.steps = 20;
  EXPECT_TRUE(says(thrown_by<ConfigError>([&] { run(second, options); }), "steps was 10 and is 20"));
  options.may_change = {"steps"};
  EXPECT_EQ(run(third, options).steps, 20);
}

TEST(Trainer, RefusesARunWithoutAnEnd) {
  SmallTask task;
  thrown_by<ConfigError>([&] { run(task, small_run(0)); });
}

TEST(Trainer, FallsBackToAnOlderCheckpointAndWarns) {
  SmallTask whole;
  run(whole, small_run(40));
  const TempDir dir;
  SmallTask first, second, third;
  run(first, small_run(40, dir.path()), stop_after(10));
  run(second, resumed(small_run(40, dir.path())), stop_after(10));
  const std::string file = dir / "ckpt-00000020/model.safetensors";
  std::string bytes = bytes_of(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put_bytes(file, bytes);
  std::vector<std::string> warnings;
  Events events;
  events.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  run(third, resumed(small_run(40, dir.path())), events);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("ckpt-00000020"));
  EXPECT_EQ(third.numbers(), whole.numbers());
}

TEST(Trainer, RefusesToResumeWhenNoCheckpointIsWhole) {
  const TempDir dir;
  SmallTask task;
  run(task, small_run(10, dir.path()));
  put_bytes(dir / "ckpt-00000010/state.json", "{}");
  EXPECT_EQ(thrown_by<IoError>([&] { run(task, resumed(small_run(10, dir.path()))); }).kind(),
            IoError::Kind::corrupt);
}

// A checkpoint that is whole, and yet is not one that this trainer wrote.
TEST(Trainer, RefusesAWholeCheckpointWithAForeignState) {
  for (const char* state :
       {"{}", "[]", "7", R"({"step":"x","seconds":0,"threads":1,"config":{"task":"small"}})",
        R"({"step":10,"seconds":0,"threads":1,"config":{"task":"small"}})"}) {
    const TempDir dir;
    CheckpointDir(dir.path())
        .save({.step = 10, .model = {}, .optim = {}, .model_metadata = {}, .state_json = state});
    SmallTask task;
    const IoError error = thrown_by<IoError>([&] { run(task, resumed(small_run(10, dir.path()))); });
    EXPECT_EQ(error.kind(), IoError::Kind::corrupt) << state;
  }
}

TEST(Trainer, RefusesAStateOfAnotherStep) {
  const TempDir dir;
  SmallTask task;
  run(task, small_run(10, dir.path()));
  CheckpointData data = read_checkpoint(dir / "ckpt-00000010");
  for (const char* step : {"10.0", "1e300", "-10", "9"}) {
    data.state_json =
        str(R"({"step":)", step, R"(,"seconds":0,"loss":0,"threads":1,"config":{"task":"small"}})");
    CheckpointDir(dir.path()).save(data);
    const IoError error = thrown_by<IoError>([&] { run(task, resumed(small_run(20, dir.path()))); });
    EXPECT_EQ(error.kind(), IoError::Kind::corrupt);
    EXPECT_TRUE(says(error, "its step is ")) << step << error.what();
  }
}

TEST(Trainer, WarnsWhenTheNumberOfThreadsChanges) {
  const TempDir dir;
  SmallTask first, second;
  const test::ThreadsScope scope(1);
  run(first, small_run(20, dir.path()), stop_after(10));
  set_num_threads(2);
  std::vector<std::string> warnings;
  Events events;
  events.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  run(second, resumed(small_run(20, dir.path())), events);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("started with 1 threads and continues with 2"));
}

TEST(Trainer, NamesTheParameterThatDivergedAndKeepsTheLastGoodCheckpoint) {
  const TempDir dir;
  SmallTask task;
  task.poisoned_step = 12;
  RunOptions options = small_run(50, dir.path());
  options.checkpoint_every = 1e-9;
  const auto error = thrown_by<DivergedError>([&] { run(task, options); });
  EXPECT_TRUE(says(error, "at step 12: the loss is nan\n")) << error.what();
  EXPECT_TRUE(says(error, "the parameter weight is no longer finite")) << error.what();
  EXPECT_TRUE(says(error, "ckpt-00000012")) << error.what();
  CheckpointDir checkpoints(dir.path());
  EXPECT_THAT(checkpoints.steps(), ElementsAre(10, 11, 12));
  const auto kept = checkpoints.load_newest();
  ASSERT_TRUE(kept.has_value());
  for (const NamedTensor& t : kept->model)
    for (const float value : t.tensor.values<float>()) EXPECT_TRUE(std::isfinite(value)) << t.name;
}

TEST(Trainer, DivergesAtARateThatIsFarTooLarge) {
  SmallTask task;
  RunOptions options = small_run(1000);
  options.rate = [](std::int64_t) { return 1e38; };
  const auto error = thrown_by<DivergedError>([&] { run(task, options); });
  EXPECT_TRUE(says(error, "no checkpoint was kept")) << error.what();
  EXPECT_TRUE(says(error, "1e+38")) << error.what();
}

// The loss of a step is that before it, so what the last step did shows in the parameters alone.
TEST(Trainer, NoticesThatTheLastStepDiverged) {
  for (const bool by_goal : {false, true}) {
    SmallTask task;
    if (by_goal) task.goal = 3;
    RunOptions options = small_run(by_goal ? 10 : 3);
    Events events;
    events.on_step = [&task](std::int64_t step, double) {
      if (step == 3) task.model().parameters()[0].data<float>()[0] = std::numeric_limits<float>::infinity();
    };
    const auto error = thrown_by<DivergedError>([&] { run(task, options, events); });
    EXPECT_TRUE(says(error, "weight")) << error.what();
  }
}

TEST(Trainer, TrainsOnWhenACheckpointCannotBeWritten) {
  SmallTask whole;
  run(whole, small_run(30));
  const int status = test::in_child([&whole] {
    const TempDir dir;
    SmallTask task;
    RunOptions options = small_run(30, dir.path());
    options.checkpoint_every = 1e-9;
    int warned = 0, saved = 0;
    Events events;
    events.on_warning = [&](const std::string& text) {
      warned += text.find("File too large") != std::string::npos;
    };
    events.on_checkpoint = [&](std::int64_t, const std::string&) { ++saved; };
    events.on_step = [&](std::int64_t step, double) {
      if (step == 5) {  // a soft limit, which the process may lift again
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit low{300, RLIM_INFINITY};
        ::setrlimit(RLIMIT_FSIZE, &low);
      }
      if (step == 20) {
        const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
        ::setrlimit(RLIMIT_FSIZE, &none);
      }
    };
    const RunResult result = run(task, options, events);
    if (result.steps != 30 || task.numbers() != whole.numbers()) return 8;
    if (warned != 15 || saved != 15) return 9;
    // Three kept, and the lock: nothing half-written.
    if (test::count_entries(dir.path()) != 4) return 10;
    SmallTask again;
    run(again, resumed(small_run(30, dir.path())));
    return again.numbers() == whole.numbers() ? 7 : 11;
  });
  EXPECT_EQ(status, 7);
}

TEST(CrashTrainer, TrainsOnOnAFullDisk) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk", "16k");
  if (!disk.active()) GTEST_SKIP() << "mounting needs root";
  put_bytes(dir / "disk/filler", std::string(1 << 20, 'x'));
  SmallTask whole, task;
  run(whole, small_run(10));
  int warned = 0;
  Events events;
  events.on_warning = [&](const std::string& text) {
    warned += text.find("No space left") != std::string::npos;
  };
  RunOptions options = small_run(10, dir / "disk");
  options.checkpoint_every = 1e-9;
  const RunResult result = run(task, options, events);
  EXPECT_EQ(result.steps, 10);
  EXPECT_EQ(warned, 10);
  EXPECT_TRUE(result.checkpoint_error && says(*result.checkpoint_error, "No space left"));
  EXPECT_EQ(task.numbers(), whole.numbers());
}

TEST(CrashTrainer, TrainsOnWhenAnotherRunHasItsPlace) {
  const TempDir dir;
  SmallTask whole, task;
  run(whole, small_run(10));
  std::optional<CheckpointDir> other;
  std::vector<std::string> warnings;
  Events events;
  events.on_step = [&](std::int64_t step, double) {
    if (step != 5) return;
    std::filesystem::rename(dir / "run", dir / "away");
    other.emplace(dir / "run");
    other->save({.step = 7});
  };
  events.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  RunOptions options = small_run(10, dir / "run");
  options.checkpoint_every = 1e9;
  const RunResult result = run(task, options, events);
  EXPECT_EQ(result.steps, 10);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("another run has its place")));
  EXPECT_TRUE(result.checkpoint_error && says(*result.checkpoint_error, "another run has its place"));
  EXPECT_EQ(task.numbers(), whole.numbers());
  EXPECT_THAT(other->steps(), ElementsAre(7));
}

TEST(Trainer, StopsOnTimeWithARateThatFollowsTheClock) {
  SmallTask task;
  RunOptions options = small_run(0);
  options.seconds = 0.3;
  std::vector<std::int64_t> positions;
  options.rate = [&](std::int64_t position) {
    positions.push_back(position);
    return 0.01;
  };
  const auto start = std::chrono::steady_clock::now();
  const RunResult result = run(task, options);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(result.stop, Stop::time_over);
  EXPECT_GE(result.seconds, 0.3);
  EXPECT_LT(took, 5);
  EXPECT_GT(result.steps, 0);
  EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
  EXPECT_LE(positions.back(), kTimePositions);
}

TEST(Trainer, CountsTheTimeOfAllResumptions) {
  const TempDir dir;
  SmallTask first, second;
  RunOptions options = small_run(0, dir.path());
  options.seconds = 0.4;
  Events events;
  const auto start = std::chrono::steady_clock::now();
  events.should_stop = [&] {
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(200);
  };
  const RunResult stopped = run(first, options, events);
  ASSERT_GE(stopped.seconds, 0.2);
  const auto again = std::chrono::steady_clock::now();
  const RunResult rest = run(second, resumed(options));
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - again).count();
  EXPECT_GE(rest.seconds, 0.4);
  EXPECT_GT(rest.steps, stopped.steps);
  EXPECT_LT(rest.seconds - stopped.seconds, took);
}

TEST(Trainer, StopsAtTheGoalAndSavesIt) {
  const TempDir dir;
  SmallTask task;
  task.goal = 13;
  const RunResult result = run(task, small_run(1000, dir.path()));
  EXPECT_EQ(result.stop, Stop::goal_met);
  EXPECT_EQ(result.steps, 13);
  EXPECT_THAT(CheckpointDir(dir.path()).steps(), ElementsAre(13));
}

TEST(Trainer, TellsOfEveryStepAndOfProgress) {
  SmallTask task;
  std::vector<std::int64_t> steps;
  std::vector<Progress> news;
  Events events;
  events.on_step = [&](std::int64_t step, double loss) {
    steps.push_back(step);
    EXPECT_GT(loss, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  events.on_progress = [&](const Progress& p) { news.push_back(p); };
  run(task, small_run(40), events);
  ASSERT_EQ(steps.size(), 40u);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], static_cast<std::int64_t>(i) + 1);
  ASSERT_GE(news.size(), 3u);  // the first, the last, and some of the 0.4 s between
  EXPECT_LE(news.size(), 40u);
  EXPECT_EQ(news.front().step, 1);
  EXPECT_EQ(news.back().step, 40);
  EXPECT_EQ(news.back().seconds_left, 0);
  for (const Progress& p : news) {
    EXPECT_EQ(p.total_steps, 40);
    ASSERT_TRUE(p.measure);
    EXPECT_EQ(p.measure->name, "skill");
    EXPECT_EQ(p.measure->value, 12.5);
    EXPECT_EQ(p.measure->unit, "points");
    EXPECT_DOUBLE_EQ(p.learning_rate, small_run(40).rate(p.step - 1));
    EXPECT_GT(p.seconds, 0);
    EXPECT_LE(p.steps_per_second, 100.001);  // a step sleeps for 10 ms
    EXPECT_NEAR(p.seconds_left, static_cast<double>(40 - p.step) / p.steps_per_second, 1e-9);
  }
}

TEST(Trainer, TellsTheTimeLeftOfARunLimitedByTimeOrBoth) {
  SmallTask task;
  RunOptions options = small_run(0);
  options.seconds = 0.2;
  Progress last;
  const Events events([&](const Progress& p) {
    EXPECT_EQ(p.total_steps, 0);
    EXPECT_GE(p.seconds_left, 0);
    EXPECT_LE(p.seconds_left, 0.2);
    last = p;
  });
  run(task, options, events);
  EXPECT_EQ(last.seconds_left, 0);
  options = small_run(1'000'000'000);
  options.seconds = 0.2;
  const RunResult both =
      run(task, options, Events([](const Progress& p) { EXPECT_LE(p.seconds_left, 0.2); }));
  EXPECT_EQ(both.stop, Stop::time_over);
}

TEST(Trainer, CountsItsSpeedFromTheResumption) {
  const TempDir dir;
  SmallTask first, second;
  run(first, small_run(60, dir.path()), stop_after(50));
  Events events;
  events.on_step = [](std::int64_t, double) { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
  events.on_progress = [](const Progress& p) {
    EXPECT_GT(p.step, 50);
    EXPECT_LE(p.steps_per_second, 100.001);
  };
  run(second, resumed(small_run(60, dir.path())), events);
}

TEST(Trainer, WritesCheckpointsAsOftenAsAsked) {
  const TempDir dir;
  SmallTask task;
  RunOptions options = small_run(20, dir.path());
  options.checkpoint_every = 1e-9;
  options.keep = 2;
  std::vector<std::int64_t> saved;
  Events events;
  events.on_checkpoint = [&](std::int64_t step, const std::string& path) {
    saved.push_back(step);
    EXPECT_EQ(verify_checkpoint(path).step, step);
  };
  run(task, options, events);
  EXPECT_EQ(saved.size(), 20u);
  EXPECT_THAT(CheckpointDir(dir.path()).steps(), ElementsAre(19, 20));
  const CheckpointData data = read_checkpoint(dir / "ckpt-00000020");
  const auto state = nlohmann::json::parse(data.state_json);
  EXPECT_EQ(state.at("step"), 20);
  EXPECT_EQ(state.at("config"), nlohmann::json::parse(options.config));
  EXPECT_EQ(data.model_metadata, task.metadata());
}

// A model, an optimizer, data and a loss are enough, with checkpoints too.
TEST(Loop, ATaskHasToSayNothingElse) {
  struct Least final : Task {
    nn::Module& model() override { return layer; }
    optim::Optimizer& optimizer() override { return adam; }
    void prepare(std::int64_t, std::int64_t) override {}
    Tensor loss() override { return mse_loss(layer(ones({1, 2})), ones({1, 1})); }
    Rng rng{1};
    nn::Linear layer{2, 1, rng};
    optim::Adam adam{layer.named_parameters(), {.lr = 0.1}};
  };
  const test::TempDir dir;
  Least task, again;
  RunOptions options = test::small_run(20, dir.path());
  const double before = task.loss().item();
  EXPECT_EQ(run(task, options).stop, Stop::steps_done);
  EXPECT_LT(task.loss().item(), before);
  options.steps = 25, options.resume = true;
  EXPECT_EQ(run(again, options).steps, 25);
}

}  // namespace
}  // namespace veldt::train
