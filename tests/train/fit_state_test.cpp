// A fit's state comes back from JSON as it was, and what a file may hold instead is refused by name.
#include "veldt/train/fit_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/io/faults.h"
#include "tests/support/error_of.h"
#include "veldt/nn/linear.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/optim/sgd.h"
#include "veldt/train/checkpoint.h"
#include "veldt/train/trainer.h"

namespace veldt::train {
namespace {

using nlohmann::json;
using test::error_of;
using test::TempDir;
using ::testing::HasSubstr;

const char* const kWhole = R"({"version":1,"train_loss":2.5,"steps":3,"best":{"step":20,"score":0.75},)"
                           R"("without_better":2,"seconds":1.5,"waited":0.25})";

TEST(FitState, ComesBackAsItWas) {
  FitState state{
      .train_loss = 0.1 + 0.2, .steps = 7, .without_better = 2, .seconds = 1e-3, .waited = 1.0 / 3};
  for (const std::optional<FitState::Best>& best : {std::optional<FitState::Best>(),
                                                    {{.step = 12, .score = -1.0 / 7}},
                                                    {{.step = 12, .score = INFINITY}},
                                                    {{.step = 1'000'000'000'000'000, .score = -INFINITY}}}) {
    state.best = best;
    const FitState again = fit_state_from(to_json(state));
    EXPECT_EQ(again.train_loss, state.train_loss);
    EXPECT_EQ(again.steps, 7);
    ASSERT_EQ(again.best.has_value(), best.has_value());
    if (best) {
      EXPECT_EQ(again.best->step, best->step);
      EXPECT_EQ(again.best->score, best->score);
    }
    EXPECT_EQ(again.without_better, 2);
    EXPECT_EQ(again.seconds, state.seconds);
    EXPECT_EQ(again.waited, state.waited);
  }
}

TEST(FitState, HasTheSumsOfPlayers) {
  FitState state{
      .train_loss = 3, .steps = 7, .train_losses = {{"critic", 0.1 + 0.2}, {"painter", -INFINITY}}};
  EXPECT_EQ(fit_state_from(to_json(state)).train_losses, state.train_losses);
  json saved = json::parse(kWhole);
  for (const json& bad : {json(3), json(json::array()), json{{"critic", "much"}}}) {
    saved["train_losses"] = bad;
    EXPECT_THAT(error_of<IoError>([&] { fit_state_from(saved.dump()); }), HasSubstr("task.train_losses"));
  }
}

TEST(FitState, HasThePlaceInAStream) {
  FitState state;
  state.stream = {.epoch = 3, .batch = 12};
  const FitState again = fit_state_from(to_json(state));
  ASSERT_TRUE(again.stream.has_value());
  EXPECT_EQ(again.stream->epoch, 3);
  EXPECT_EQ(again.stream->batch, 12);
  json saved = json::parse(kWhole);
  EXPECT_FALSE(fit_state_from(saved.dump()).stream.has_value());
  for (const json& bad : {json(3), json{{"epoch", 1}}, json{{"epoch", 1}, {"batch", -1}}}) {
    saved["stream"] = bad;
    EXPECT_THAT(error_of<IoError>([&] { fit_state_from(saved.dump()); }), HasSubstr("task.stream"));
  }
}

TEST(FitState, ReadsTheFormThatIsDocumented) {
  const FitState state = fit_state_from(kWhole);
  EXPECT_EQ(state.train_loss, 2.5);
  EXPECT_EQ(state.steps, 3);
  EXPECT_EQ(state.best->step, 20);
  EXPECT_EQ(state.best->score, 0.75);
  EXPECT_EQ(state.without_better, 2);
  EXPECT_EQ(state.seconds, 1.5);
  EXPECT_EQ(state.waited, 0.25);
  EXPECT_EQ(json::parse(to_json(state)), json::parse(kWhole));
}

TEST(FitState, NamesTheKeyThatIsMissingOrCannotBe) {
  const json whole = json::parse(kWhole);
  for (const auto& [key, value] : whole.items()) {
    json without = whole;
    without.erase(key);
    EXPECT_THAT(test::thrown_by<IoError>([&] { fit_state_from(without.dump()); }).what(),
                HasSubstr("no task." + key));
  }
  const struct {
    const char *at, *value, *said;
  } cases[] = {{"/version", "2", "task.version is 2"},
               {"/version", "\"1\"", "task.version is \"1\""},
               {"/steps", "-1", "task.steps is -1"},
               {"/steps", "1.5", "task.steps is 1.5"},
               {"/steps", "1e300", "task.steps is 1e+300"},
               {"/steps", "1000000000000001", "task.steps is 1000000000000001"},
               {"/steps", "18446744073709551615", "task.steps is 18446744073709551615"},
               {"/steps", "true", "task.steps is true"},
               {"/without_better", "null", "task.without_better is null"},
               {"/train_loss", "\"nan\"", "task.train_loss is \"nan\""},
               {"/train_loss", "[1]", "task.train_loss is [1]"},
               {"/best", "7", "task.best is 7"},
               {"/best", "{}", "no task.best.step"},
               {"/best", "[20,0.75]", "task.best is [20,0.75]"},
               {"/best/step", "-20", "task.best.step is -20"},
               {"/best/score", "null", "task.best.score is null"},
               {"/seconds", "-0.5", "task.seconds is -0.5"},
               {"/seconds", "1e16", "task.seconds is 1e+16"},
               {"/waited", "\"inf\"", "task.waited is \"inf\""}};
  for (const auto& c : cases) {
    json damaged = whole;
    damaged[json::json_pointer(c.at)] = json::parse(c.value);
    const IoError error = test::thrown_by<IoError>([&] { fit_state_from(damaged.dump()); });
    EXPECT_EQ(error.kind(), IoError::Kind::corrupt) << c.said;
    EXPECT_THAT(error.summary(), HasSubstr(c.said));
  }
  json damaged = whole;
  damaged["steps"] = std::string(100'000, 'x');
  EXPECT_THAT(test::thrown_by<IoError>([&] { fit_state_from(damaged.dump()); }).what(),
              HasSubstr("task.steps is of the type string"));
}

TEST(FitState, RefusesWhatIsNoObject) {
  for (const char* text : {"", "7", "[]", "null", "{", "\xff", "{}", R"({"version":1})"})
    EXPECT_NE(test::thrown_by<IoError>([&] { fit_state_from(text); }).summary(), "") << text;
}

// A checkpoint that is whole, and was written by hand or by a Veldt before 0.1.0.
TEST(FitState, IsWhatAFitIsResumedBy) {
  const TempDir dir;
  const auto fit = [&](bool resume) {
    Rng rng(5);
    nn::Linear model(2, 2, rng);
    optim::SGD sgd(model.named_parameters(), {.lr = 0.1});
    data::Loader loader(data::from_tensors({rand({8, 2}, rng), zeros({8}, DType::i64)}),
                        {.batch = 4, .seed = 1});
    Trainer trainer(model, sgd);
    return trainer.fit(loader, &loader, {.steps = 3, .out = dir.path(), .resume = resume});
  };
  const FitResult whole = fit(false);
  EXPECT_EQ(fit(true).best->step, whole.best->step);
  const std::string path = dir / "checkpoints";
  CheckpointData data = read_checkpoint(path + "/ckpt-00000003");
  const json state = json::parse(data.state_json);
  EXPECT_EQ(state.at("task").at("version"), 1);
  const auto refusal = [&](const json& changed) {
    data.state_json = changed.dump();
    CheckpointDir(path).save(data);
    return std::string(test::thrown_by<IoError>([&] { fit(true); }).what());
  };
  json changed = state;
  changed["task"]["best"]["step"] = -3;
  EXPECT_THAT(refusal(changed), HasSubstr("task.best.step is -3"));
  changed = state;
  changed.erase("task");
  data.optim.push_back({"task.fit", zeros({8}, DType::f64)});
  EXPECT_THAT(refusal(changed), HasSubstr("a Veldt before 0.1.0 wrote it"));
  EXPECT_THAT(refusal(state), HasSubstr("fit is unexpected")) << "a tensor that nobody asks for";
}

}  // namespace
}  // namespace veldt::train
