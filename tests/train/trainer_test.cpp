// Training on batches: it learns, measures, stops early, restores the best, and a resumed run equals one that
// was never stopped.
#include "veldt/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <limits>
#include <sstream>
#include <thread>

#include "tests/io/faults.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "tests/train/measures.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/safetensors.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/sgd.h"

namespace veldt::train {
namespace {

using test::bytes_of;
using test::error_of;
using test::measures;
using test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

// Points of the plane, and whether they lie within a circle.
data::DatasetPtr circle(std::int64_t n, std::uint64_t seed) {
  Rng rng(seed);
  const Tensor x = rand({n, 2}, rng, -1, 1);
  return data::from_tensors({x, to(less(sum(square(x), {1}), full({}, 0.5)), DType::i64)});
}

struct Learner {
  explicit Learner(std::int64_t batch = 32, TrainerOptions options = {.metrics = {accuracy()}})
      : rng(5),
        model{nn::Linear(2, 16, rng), nn::Tanh(), nn::Dropout(0.1, rng), nn::Linear(16, 2, rng)},
        adam(model.named_parameters(), {.lr = 0.02}),
        train(circle(320, 1), {.batch = batch, .shuffle = true, .seed = 3}),
        validation(circle(200, 2), {.batch = 64}),
        trainer(model, adam, std::move(options)) {}

  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Tensor& p : model.parameters())
      for (const float v : p.values<float>()) all.push_back(v);
    return all;
  }

  Rng rng;
  nn::Sequential model;
  optim::Adam adam;
  data::Loader train, validation;
  Trainer trainer;
};

TEST(Trainer, LearnsAndMeasuresEachEpoch) {
  Learner s;
  std::vector<double> epochs;
  const FitResult result = s.trainer.fit(s.train, &s.validation, {.epochs = 30}, {},
                                         [&](const Evaluation& e) { epochs.push_back(e.epoch); });
  EXPECT_EQ(result.run.steps, 300);
  ASSERT_EQ(result.evaluations.size(), 30u);
  EXPECT_EQ(epochs.back(), 30);
  EXPECT_LT(result.evaluations.back().train_loss, 0.5 * result.evaluations.front().train_loss);
  EXPECT_GT(score(result.best->scores, "accuracy"), 0.9);
  // The best weights are the ones that are left.
  EXPECT_EQ(s.trainer.evaluate(s.validation), result.best->scores);
  EXPECT_TRUE(s.model.training());
}

TEST(Trainer, PredictsInEvaluationMode) {
  Learner s;
  const Tensor y = s.trainer.predict(s.validation);
  EXPECT_EQ(y.shape(), (Shape{200, 2}));
  EXPECT_EQ(y.values<float>(), s.trainer.predict(s.validation).values<float>());
  EXPECT_FALSE(y.requires_grad());
}

TEST(Trainer, GivesTheSameBitsRecordedOrNot) {
  Learner recorded, plain;
  recorded.trainer.fit(recorded.train, nullptr, {.epochs = 3, .record = true});
  plain.trainer.fit(plain.train, nullptr, {.epochs = 3});
  EXPECT_EQ(recorded.weights(), plain.weights());
}

TEST(Trainer, TakesTheShortBatchOfARecordedRunAsItStands) {
  const test::TempDir dir;
  for (const std::int64_t accumulate : {1, 2}) {  // of 7 batches, the last of 32
    Learner recorded(48, {.accumulate = accumulate}), plain(48, {.accumulate = accumulate});
    recorded.trainer.fit(recorded.train, nullptr, {.steps = 20, .record = true});
    plain.trainer.fit(plain.train, nullptr, {.steps = 20});
    EXPECT_EQ(recorded.weights(), plain.weights());
    // Resumed at a short one.
    const std::string out = dir / std::to_string(accumulate);
    Learner first(48, {.accumulate = accumulate}), then(48, {.accumulate = accumulate});
    first.trainer.fit(first.train, nullptr, {.steps = 7 / accumulate - 1 + accumulate / 2, .out = out});
    then.trainer.fit(then.train, nullptr, {.steps = 20, .out = out, .resume = true, .record = true});
    EXPECT_EQ(then.weights(), plain.weights());
  }
}

// A weight of the loss that C++ decides anew at each step, as for a variational autoencoder.
TEST(Trainer, LearnsWhatTheLossSaysAtEachStep) {
  const auto taught = [](std::int64_t batch) {
    int step = 0;
    Learner s(batch, {.loss = [&step](const Tensor& y, const data::Batch& b) {
                return cross_entropy(y, b.back()) * (step++ < 3 ? 0.0 : 1.0);
              }});
    const std::vector<float> before = s.weights();
    s.trainer.fit(s.train, nullptr, {.steps = 20}, {});
    EXPECT_EQ(step, 20);
    return s.weights() != before;
  };
  EXPECT_TRUE(taught(32));  // of whole batches
  EXPECT_TRUE(taught(48));
}

TEST(Trainer, RefusesAScheduleThatEndsLongBeforeTheRun) {
  Learner s;
  const auto with = [&](optim::Schedule schedule) {
    return error_of<ConfigError>(
        [&] { s.trainer.fit(s.train, nullptr, {.epochs = 10, .schedule = std::move(schedule)}); });
  };
  const std::string error = with(optim::CosineAnnealing{.lr_max = 1e-3, .steps = 10});  // epochs, not steps
  EXPECT_THAT(error, HasSubstr("ends at step 10, and the run has 100"));
  EXPECT_THAT(error, HasSubstr(".steps = 100"));
  EXPECT_THAT(with(optim::LinearWarmup{5, optim::Polynomial{.steps = 80}}), HasSubstr("ends at step 85"));
  std::vector<std::string> warnings;
  Events events;
  events.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  const optim::CosineAnnealing low{.lr_max = 1e-3, .lr_min = 1e-5, .steps = 50};
  s.trainer.fit(s.train, nullptr, {.epochs = 10, .schedule = low}, events);
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("stays at 1e-05")));  // it may be meant
  for (const optim::Schedule& fine :
       std::vector<optim::Schedule>{optim::CosineAnnealing{.steps = 100}, optim::CosineAnnealing{.steps = 95},
                                    optim::CosineAnnealing{.lr_min = 1e-4, .steps = 10},
                                    optim::Linear{1e-4, 1e-3, 10}, optim::MultiStep{.at = {30, 60}}})
    s.trainer.fit(s.train, nullptr, {.epochs = 10, .schedule = fine});
}

TEST(Trainer, LearnsInHalves) {
  const Loss loud = [](const Tensor& y, const data::Batch& b) { return cross_entropy(y, b.back()) * 1000; };
  Learner exact;
  exact.trainer.fit(exact.train, nullptr, {.epochs = 3});
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const TrainerOptions options{.loss = loud, .metrics = {accuracy()}, .autocast = dtype};
    Learner recorded(32, options), plain(32, options);
    const FitResult result =
        recorded.trainer.fit(recorded.train, &recorded.validation, {.epochs = 30, .record = true});
    EXPECT_GT(score(result.best->scores, "accuracy"), 0.9) << dtype;
    EXPECT_EQ(recorded.model.parameters()[0].dtype(), DType::f32);
    Learner short_one(32, options);
    short_one.trainer.fit(short_one.train, nullptr, {.epochs = 3, .record = true});
    plain.trainer.fit(plain.train, nullptr, {.epochs = 3});
    EXPECT_EQ(short_one.weights(), plain.weights()) << dtype;
    EXPECT_NE(short_one.weights(), exact.weights()) << dtype;
    // Steps beyond the range of f16 are left out, and none of bf16's.
    EXPECT_EQ(short_one.adam.steps() < 30, dtype == DType::f16) << short_one.adam.steps();
    EXPECT_GT(short_one.adam.steps(), 15);
  }
}

TEST(Trainer, RefusesToRoundToAnythingButHalves) {
  EXPECT_THAT(error_of<ConfigError>([] { Learner(32, {.autocast = DType::f64}); }), HasSubstr("f64"));
}

TEST(Trainer, ResumesInTheMiddleOfAnEpoch) {
  // Times 1000, gradients go beyond f16 until a scaler has found its scale.
  const Loss loud = [](const Tensor& y, const data::Batch& b) { return cross_entropy(y, b.back()) * 1000; };
  const TrainerOptions all[] = {{.metrics = {accuracy()}},
                                {.metrics = {accuracy()}, .ema_decay = 0.9},
                                {.metrics = {accuracy()}, .autocast = DType::bf16},
                                {.loss = loud, .metrics = {accuracy()}, .autocast = DType::f16}};
  for (const TrainerOptions& options : all) {
    const TempDir whole_dir, cut_dir;
    Learner whole(32, options);
    FitOptions fit{.epochs = 6, .restore_best = false, .out = whole_dir.path()};
    whole.trainer.fit(whole.train, &whole.validation, fit);
    fit.out = cut_dir.path();
    for (const std::int64_t stop : {13, 27, 100}) {
      Learner part(32, options);
      std::int64_t steps = 0;
      Events events;
      events.on_step = [&](std::int64_t step, double) { steps = step; };
      events.should_stop = [&] { return steps >= stop; };
      part.trainer.fit(part.train, &part.validation, fit, events);
      fit.resume = true;
      if (stop == 100) {
        EXPECT_EQ(part.weights(), whole.weights());
      }
    }
    EXPECT_EQ(bytes_of(cut_dir / "best.safetensors"), bytes_of(whole_dir / "best.safetensors"));
    EXPECT_EQ(measures(cut_dir / "metrics.csv"), measures(whole_dir / "metrics.csv"));
    EXPECT_EQ(measures(whole_dir / "metrics.csv").size(), 7u);
  }
}

TEST(Trainer, ResumesARunThatIsOverOrGoesOnLonger) {
  const TempDir dir, whole_dir;
  Learner first, again, longer, whole;
  FitOptions fit{.steps = 17, .restore_best = false, .out = dir.path()};
  const FitResult done = first.trainer.fit(first.train, &first.validation, fit);
  fit.resume = true;
  const FitResult nothing = again.trainer.fit(again.train, &again.validation, fit);
  EXPECT_EQ(nothing.run.steps, 17);
  EXPECT_EQ(nothing.best->step, done.best->step);
  EXPECT_EQ(measures(dir / "metrics.csv").size(), 3u);  // 10 and 17
  fit.steps = 30;
  longer.trainer.fit(longer.train, &longer.validation, fit);
  whole.trainer.fit(whole.train, &whole.validation,
                    {.steps = 30, .restore_best = false, .out = whole_dir.path()});
  EXPECT_EQ(longer.weights(), whole.weights());
}

TEST(Trainer, StopsWhenItGetsNoBetter) {
  const TempDir dir;
  FitOptions fit{.epochs = 50, .schedule = optim::Constant{0}, .patience = 3, .out = dir.path()};
  Learner s, again;
  const FitResult result = s.trainer.fit(s.train, &s.validation, fit);
  EXPECT_EQ(result.run.stop, Stop::goal_met);
  EXPECT_EQ(result.evaluations.size(), 4u);
  EXPECT_EQ(result.best->step, 10);
  fit.resume = true;  // and stays there
  EXPECT_EQ(again.trainer.fit(again.train, &again.validation, fit).run.steps, 40);
}

TEST(Trainer, RestoresTheBestAverage) {
  Learner s(32, {.metrics = {accuracy()}, .ema_decay = 0.9});
  // Good at first, and ruined later: the best is not the last.
  const FitResult result =
      s.trainer.fit(s.train, &s.validation,
                    {.epochs = 12, .schedule = optim::MultiStep{.lr = 0.02, .at = {90}, .factor = 1e4}});
  EXPECT_LT(result.best->step, 120);
  EXPECT_EQ(s.trainer.evaluate(s.validation), result.best->scores);
}

TEST(Trainer, RefusesToResumeWithOtherData) {
  const TempDir dir;
  Learner first, other(16);
  first.trainer.fit(first.train, nullptr, {.steps = 3, .out = dir.path()});
  EXPECT_THAT(error_of<ConfigError>([&] {
                other.trainer.fit(other.train, nullptr, {.steps = 6, .out = dir.path(), .resume = true});
              }),
              HasSubstr("trainer.batch was 32 and is 16"));
}

TEST(Trainer, SaysWhatAnOptimizerOfUnnamedParametersCannotResume) {
  const TempDir dir;
  Learner first, then;
  first.trainer.fit(first.train, nullptr, {.steps = 3, .out = dir.path()});
  optim::Adam unnamed(clone(then.model).parameters());
  Trainer trainer(then.model, unnamed);
  EXPECT_THAT(error_of<IoError>(
                  [&] { trainer.fit(then.train, nullptr, {.steps = 6, .out = dir.path(), .resume = true}); }),
              HasSubstr("from model.named_parameters(), not from model.parameters(); or start a new run"));
}

TEST(Trainer, LeavesAFolderThatHoldsARunAlone) {
  const TempDir dir;
  Learner first, second;
  first.trainer.fit(first.train, nullptr, {.steps = 3, .out = dir.path()});
  EXPECT_THAT(error_of<ConfigError>(
                  [&] { second.trainer.fit(second.train, nullptr, {.steps = 3, .out = dir.path()}); }),
              HasSubstr("already holds a run"));
  EXPECT_THAT(
      error_of<ConfigError>([&] { second.trainer.fit(second.train, nullptr, {.steps = 3, .resume = true}); }),
      HasSubstr("nothing to resume"));
}

TEST(Trainer, TrainsOnWhereItsMeasuresCannotBeWritten) {
  const TempDir dir;
  fs::create_directories(dir / "metrics.csv");  // no file can take its place
  Learner s;
  std::vector<std::string> said;
  Events events;
  events.on_warning = [&](const std::string& text) { said.push_back(text); };
  EXPECT_EQ(s.trainer.fit(s.train, &s.validation, {.epochs = 2, .out = dir.path()}, events).run.steps, 20);
  ASSERT_GE(said.size(), 2u);  // it is tried again before each checkpoint
  EXPECT_THAT(said[0], HasSubstr("metrics.csv"));
}

// Each file waits for the disk. Of what a checkpoint knows, the files know too.
TEST(Trainer, ShortEpochsDoNotWriteTheirFilesEachTime) {
  const auto lines_in = [](const std::string& folder) {
    return measures(folder + "/metrics.csv").size() - 1;
  };
  const auto best_in = [](const std::string& folder) {
    return io::read_safetensors_header(folder + "/best.safetensors").metadata.at("step");
  };
  const TempDir dir;
  Learner s, t;
  std::size_t evaluations = 0, looked = 0;
  std::int64_t best = 0;
  std::chrono::steady_clock::time_point first;
  FitOptions options{.epochs = 12, .evaluate_every = 2, .out = dir / "run"};
  const FitResult fit = s.trainer.fit(s.train, &s.validation, options, {}, [&](const Evaluation& e) {
    if (++evaluations == 1) first = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() - first > std::chrono::milliseconds(800)) return;
    EXPECT_EQ(lines_in(dir / "run"), 1u);
    EXPECT_EQ(best_in(dir / "run"), "2");
    ++looked;
    EXPECT_EQ(e.step, 2 * static_cast<std::int64_t>(evaluations));
  });
  EXPECT_GE(looked, 2u);
  EXPECT_EQ(lines_in(dir / "run"), 60u);
  EXPECT_EQ(best_in(dir / "run"), std::to_string(fit.best->step));
  evaluations = 0;
  Events events;
  events.on_checkpoint = [&](std::int64_t, const std::string&) {
    if (evaluations == 0) return;
    EXPECT_EQ(lines_in(dir / "every"), evaluations);
    EXPECT_EQ(best_in(dir / "every"), std::to_string(best));
  };
  options.out = dir / "every", options.checkpoint_every = 0;
  t.trainer.fit(t.train, &t.validation, options, events, [&](const Evaluation& e) {
    ++evaluations;
    if (e.best) best = e.step;
  });
  EXPECT_EQ(bytes_of(dir / "every/best.safetensors"), bytes_of(dir / "run/best.safetensors"));
}

TEST(Trainer, WhatWasMeasuredBeforeItDivergedIsKept) {
  const TempDir dir;
  Learner s;
  std::int64_t steps = 0;
  FitOptions options{.epochs = 12, .evaluate_every = 2, .out = dir / "run"};
  EXPECT_THROW(s.trainer.fit(s.train, &s.validation, options, {},
                             [&](const Evaluation& e) {
                               steps = e.step;
                               if (e.step == 20) throw DivergedError("it diverged", "by itself", "wait");
                             }),
               DivergedError);
  EXPECT_EQ(steps, 20);
  EXPECT_EQ(measures(dir / "run/metrics.csv").size(), 11u);
}

// A step over the mean of four batches is one over all of them.
TEST(Trainer, AccumulatesTheMeanOfBatches) {
  const auto trained = [](std::int64_t batch, std::int64_t accumulate) {
    Rng rng(5);
    nn::Linear model(2, 2, rng);
    optim::SGD sgd(model.named_parameters(), {.lr = 0.5});
    TrainerOptions options;
    options.accumulate = accumulate;
    Trainer trainer(model, sgd, options);
    data::Loader train(circle(320, 1), {.batch = batch});
    const FitResult result = trainer.fit(train, nullptr, {.epochs = 1});
    std::vector<double> all{result.run.loss, static_cast<double>(result.run.steps)};
    for (const float w : model.weight().values<float>()) all.push_back(static_cast<double>(w));
    return all;
  };
  const std::vector<double> one = trained(64, 1), parts = trained(16, 4);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], parts[i], 1e-6) << i;
  EXPECT_EQ(trained(64, 2)[1], 3);  // 5 batches: the third step begins the next epoch
}

TEST(Trainer, WeighsBatchesByWhatCounts) {
  Learner s;
  data::Loader ragged(circle(100, 3), {.batch = 64}), whole(circle(100, 3), {.batch = 100});
  EXPECT_NEAR(score(s.trainer.evaluate(ragged), "loss"), score(s.trainer.evaluate(whole), "loss"), 1e-6);
  const auto some = [](std::int64_t batch) {
    return data::Loader(data::from_tensors({ones({4, 2}), Tensor::of({4}, {0, 1, -100, -100}, DType::i64)}),
                        {.batch = batch});
  };
  data::Loader all = some(4), two = some(2), three = some(3);
  const double expected = score(s.trainer.evaluate(all), "loss");
  EXPECT_NEAR(score(s.trainer.evaluate(two), "loss"), expected, 1e-6);
  EXPECT_NEAR(score(s.trainer.evaluate(three), "loss"), expected, 1e-6);
}

TEST(Trainer, LeavesFrozenModulesInEvaluation) {
  Learner s;
  s.model[2].eval();
  s.trainer.fit(s.train, &s.validation, {.epochs = 1});
  EXPECT_FALSE(s.model[2].training());
  EXPECT_TRUE(s.model[0].training());
}

TEST(Trainer, WritesIntoNoMemoryOfTheData) {
  data::LoaderOptions options{.batch = 32};
  const data::Batch batch{rand({32, 2}, nn::default_rng()), zeros({32}, DType::i64)},
      other{zeros({32, 2}), zeros({32}, DType::i64)};
  const std::vector<float> before = batch[0].values<float>();
  options.collate = [&, calls = 0](std::vector<data::Example>, Rng&) mutable {
    return calls++ == 0 ? batch : other;
  };
  options.workers = 0;
  Learner s;
  data::Loader loader(circle(320, 1), options);
  s.trainer.fit(loader, nullptr, {.steps = 4});
  EXPECT_EQ(batch[0].values<float>(), before);
}

TEST(Trainer, WarnsOfParametersThatCannotLearn) {
  Learner s(32, {.forward = [](const nn::Module& m, const data::Batch& b) { return m(b[0]) * 0.0; }});
  std::string said;
  Events events;
  events.on_warning = [&](const std::string& text) { said = text; };
  s.trainer.fit(s.train, nullptr, {.steps = 2}, events);
  EXPECT_THAT(said, testing::AllOf(HasSubstr("after the first step"), HasSubstr("0.weight")));
  // Without a listener too.
  Learner unheard(32, {.forward = [](const nn::Module& m, const data::Batch& b) { return m(b[0]) * 0.0; }});
  testing::internal::CaptureStderr();
  unheard.trainer.fit(unheard.train, nullptr, {.steps = 2});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("veldt: warning: after the first step"));
}

TEST(Trainer, BlamesTheDataForWhatTheyDid) {
  for (const bool record : {false, true}) {
    Learner s;
    const Tensor x = rand({64, 2}, s.rng);
    select(x, 0, 35).assign(full({2}, std::numeric_limits<double>::quiet_NaN()));
    data::Loader bad(data::from_tensors({x, zeros({64}, DType::i64)}), {.batch = 8});
    const std::string error =
        error_of<DivergedError>([&] { s.trainer.fit(bad, nullptr, {.epochs = 1, .record = record}); });
    EXPECT_THAT(error, HasSubstr("diverged at step 4"));
    EXPECT_THAT(error, HasSubstr("tensor 0 of the batch has nan at [3, 0] of f32 [8, 2]"));
  }
}

TEST(Trainer, SaysWhatItCannotTrainOn) {
  Learner s(48);  // 320 is no multiple of it
  EXPECT_NO_THROW(s.trainer.fit(s.train, nullptr, {.epochs = 1}));
  EXPECT_THAT(error_of<ConfigError>([&] { s.trainer.fit(s.train, nullptr, {}); }), HasSubstr("needs an end"));
  EXPECT_THAT(error_of<ConfigError>([&] { s.trainer.fit(s.train, nullptr, {.epochs = 1, .patience = 2}); }),
              HasSubstr("nothing to watch"));
  EXPECT_THAT(error_of<ConfigError>(
                  [&] { s.trainer.fit(s.train, nullptr, {.seconds = 1, .schedule = optim::Constant{0.1}}); }),
              HasSubstr("only limited by time"));
  EXPECT_THAT(error_of<ConfigError>(
                  [&] { s.trainer.fit(s.train, &s.validation, {.epochs = 1, .watch = "acuracy"}); }),
              HasSubstr("loss, accuracy"));
  Learner bad(32, {.loss = [](const Tensor& y, const data::Batch&) { return y; }});
  EXPECT_THAT(error_of<ShapeError>([&] { bad.trainer.fit(bad.train, nullptr, {.steps = 1}); }),
              HasSubstr("[32, 2]"));
}

TEST(Trainer, LooksForARateAndLeavesEverythingAsItWas) {
  Learner learner;
  const auto weights = learner.weights();
  const NamedTensors before = learner.adam.state_dict();
  const RateSearch found =
      learner.trainer.find_rate(learner.train, {.lowest = 1e-5, .highest = 10, .steps = 60});
  EXPECT_GT(found.suggestion, 1e-4);
  EXPECT_LT(found.suggestion, 1);
  EXPECT_EQ(found.rates.size(), found.losses.size());
  EXPECT_EQ(learner.weights(), weights);
  EXPECT_EQ(learner.adam.steps(), 0);
  EXPECT_EQ(learner.adam.lr(), 0.02);
  // The rate that it suggests works.
  learner.adam.set_lr(found.suggestion);
  EXPECT_GT(
      score(learner.trainer.fit(learner.train, &learner.validation, {.epochs = 60}).best->scores, "accuracy"),
      0.9);
  EXPECT_THROW(learner.trainer.find_rate(learner.train, {.lowest = 1, .highest = 1}), ConfigError);
  EXPECT_THROW(learner.trainer.find_rate(learner.train, {.steps = 3}), ConfigError);
}

TEST(Trainer, OverfitsABatchIfTheNetworkIsSound) {
  Learner learner;
  const auto weights = learner.weights();
  const std::vector<double> losses = learner.trainer.overfit_batch(learner.train, 200);
  EXPECT_LT(losses.back(), 0.5 * losses.front());
  EXPECT_EQ(learner.weights(), weights);
  // One whose labels it does not see is not.
  Learner blind(32, {.loss = [](const Tensor& y, const data::Batch&) { return mean(y * 0) + 1; }});
  const std::vector<double> flat = blind.trainer.overfit_batch(blind.train, 20);
  EXPECT_EQ(flat.back(), flat.front());
}

TEST(Trainer, PredictsWhatAStepNeeds) {
  Learner small(16), large(64);
  const StepFacts few = small.trainer.step_facts(small.train), many = large.trainer.step_facts(large.train);
  EXPECT_GT(few.calls, 5);
  EXPECT_GT(few.held_bytes, 4 * (2 * 16 + 16 + 32 + 2));
  EXPECT_GT(many.eager_bytes, 2 * few.eager_bytes);
  EXPECT_EQ(small.adam.steps(), 0);
}

TEST(Trainer, WritesItsMeasuresAsJsonLinesToo) {
  const TempDir dir;
  Learner learner;
  learner.trainer.fit(learner.train, &learner.validation, {.epochs = 2, .out = dir / "run"});
  std::istringstream lines(bytes_of(dir / "run/metrics.jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_THAT(line, HasSubstr("{\"step\":" + std::to_string(10 * (count + 1)) + ","));
    EXPECT_THAT(line, HasSubstr(",\"validation_accuracy\":0."));
    EXPECT_EQ(line.back(), '}');
  }
  EXPECT_EQ(count, 2);
}

TEST(Trainer, KeepsTheWeightsOfTheBestEvaluations) {
  const TempDir dir;
  Learner learner;
  const FitResult fit = learner.trainer.fit(learner.train, &learner.validation,
                                            {.epochs = 6, .keep_top = 2, .out = dir / "run"});
  std::vector<std::pair<double, std::int64_t>> order;
  for (const Evaluation& e : fit.evaluations) order.push_back({-score(e.scores, "accuracy"), e.step});
  std::sort(order.begin(), order.end());
  std::set<std::string> wanted, found;
  for (int i = 0; i < 2; ++i) {
    const std::string step = std::to_string(order[static_cast<std::size_t>(i)].second);
    wanted.insert("step-" + std::string(9 - step.size(), '0') + step + ".safetensors");
  }
  for (const auto& entry : fs::directory_iterator(dir / "run/top"))
    found.insert(entry.path().filename().string());
  EXPECT_EQ(found, wanted);
}

TEST(Trainer, TheBestWeightsSayWhatTheyAreOf) {
  const TempDir dir;
  Learner learner;
  FitOptions options{.epochs = 1, .out = dir / "run"};
  options.metadata = {{"kind", "lion"}, {"step", "none"}};
  learner.trainer.fit(learner.train, &learner.validation, options);
  const auto metadata = io::read_safetensors_header(dir / "run/best.safetensors").metadata;
  EXPECT_EQ(metadata.at("kind"), "lion");
  EXPECT_EQ(metadata.at("step"), "10");
  EXPECT_TRUE(metadata.contains("accuracy"));
}

TEST(Trainer, ANewRunDoesNotCountWhatAnEarlierOneHasKept) {
  const TempDir dir;
  const FitOptions options{.epochs = 2, .keep_top = 2, .out = dir / "run"};
  Learner good, fresh;
  good.trainer.fit(good.train, &good.validation,
                   {.epochs = 40, .evaluate_every = 100, .keep_top = 2, .out = dir / "run"});
  fs::remove_all(dir / "run/checkpoints");
  test::put_bytes(dir / "run/top/notes.txt", "mine");
  fresh.trainer.fit(fresh.train, &fresh.validation, options);
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(dir / "run/top"))
    found.insert(entry.path().filename().string());
  EXPECT_EQ(found,
            (std::set<std::string>{"notes.txt", "step-000000010.safetensors", "step-000000020.safetensors"}));
}

// The first epoch's batches take 16 ms each to make, and the trainer waits for them; later ones are there at
// once.
TEST(Trainer, CountsTheWaitingOfAllItsEpochs) {
  const TempDir dir;
  Learner first, second;
  data::LoaderOptions slow{.batch = 32};
  slow.workers = 0;
  auto made = std::make_shared<int>(0);
  slow.transform = [made](data::Example e, Rng&) {
    if ((*made)++ < 320) std::this_thread::sleep_for(std::chrono::microseconds(500));
    return e;
  };
  data::Loader train(circle(320, 1), slow);
  FitOptions options{.epochs = 2, .out = dir / "run"};
  const FitResult fit = first.trainer.fit(train, nullptr, options);
  EXPECT_GT(fit.waiting * fit.run.seconds, 0.1);
  options.resume = true, options.epochs = 3;
  const FitResult more = second.trainer.fit(train, nullptr, options);
  EXPECT_EQ(more.evaluations.size(), 1u);
  EXPECT_GT(more.waiting * more.run.seconds, 0.1);
}

}  // namespace
}  // namespace veldt::train
