// Teaching from batches: it learns, measures, stops early, puts the best back, and a resumed run is the run
// that was never stopped.
#include "veldt/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/io/faults.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
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

namespace veldt::train {
namespace {

using test::bytes_of;
using test::error_of;
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
  recorded.trainer.fit(recorded.train, nullptr, {.epochs = 3});
  plain.trainer.fit(plain.train, nullptr, {.epochs = 3, .record = false});
  EXPECT_EQ(recorded.weights(), plain.weights());
}

TEST(Trainer, ResumesInTheMiddleOfAnEpoch) {
  for (const bool average : {false, true}) {
    const TrainerOptions options{.metrics = {accuracy()}, .ema_decay = average ? 0.9 : 0};
    const TempDir whole_dir, cut_dir;
    Learner whole(32, options);
    FitOptions fit{.epochs = 6, .out = whole_dir.path()};
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
    // Seconds and waiting aside.
    const auto shape_of = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
    EXPECT_EQ(shape_of(bytes_of(whole_dir / "metrics.csv")), 7);
    EXPECT_EQ(shape_of(bytes_of(cut_dir / "metrics.csv")), 7);
  }
}

TEST(Trainer, StopsWhenItGetsNoBetter) {
  Learner s;
  // A loss whose gradient is no more than a sign at random leads nowhere.
  const FitResult result =
      s.trainer.fit(s.train, &s.validation, {.epochs = 50, .schedule = optim::Constant{0}, .patience = 3});
  EXPECT_EQ(result.run.stop, Stop::goal_met);
  EXPECT_EQ(result.evaluations.size(), 4u);
  EXPECT_EQ(result.best->step, 10);
}

TEST(Trainer, AccumulatesTheMeanOfBatches) {
  TrainerOptions four;
  four.accumulate = 4;
  Learner one(64), parts(16, four);
  for (Learner* s : {&one, &parts}) {
    s->model[2].eval();
    s->train = data::Loader(circle(320, 1), {.batch = s == &one ? 64 : 16});
    s->trainer.fit(s->train, nullptr, {.steps = 5});
  }
  const std::vector<float> a = one.weights(), b = parts.weights();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.02) << i;  // apart from dropout
}

TEST(Trainer, WarnsOfParametersThatCannotLearn) {
  Learner s(32, {.forward = [](const nn::Module& m, const data::Batch& b) { return m(b[0]) * 0.0; }});
  std::string said;
  Events events;
  events.on_warning = [&](const std::string& text) { said = text; };
  s.trainer.fit(s.train, nullptr, {.steps = 2}, events);
  EXPECT_THAT(said, testing::AllOf(HasSubstr("after the first step"), HasSubstr("0.weight")));
}

TEST(Trainer, SaysWhatItCannotTrainOn) {
  Learner s(48);  // 320 is no multiple of it
  EXPECT_THAT(error_of<ConfigError>([&] { s.trainer.fit(s.train, nullptr, {.epochs = 2, .record = true}); }),
              HasSubstr("set FitOptions::record to false"));
  EXPECT_NO_THROW(s.trainer.fit(s.train, nullptr, {.epochs = 1}));
  EXPECT_THAT(error_of<ConfigError>([&] { s.trainer.fit(s.train, nullptr, {}); }), HasSubstr("needs an end"));
  EXPECT_THAT(error_of<ConfigError>(
                  [&] { s.trainer.fit(s.train, &s.validation, {.epochs = 1, .watch = "acuracy"}); }),
              HasSubstr("loss, accuracy"));
  Learner bad(32, {.loss = [](const Tensor& y, const data::Batch&) { return y; }});
  EXPECT_THAT(error_of<ShapeError>([&] { bad.trainer.fit(bad.train, nullptr, {.steps = 1}); }),
              HasSubstr("[32, 2]"));
}

}  // namespace
}  // namespace veldt::train
