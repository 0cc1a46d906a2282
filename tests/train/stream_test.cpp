// A Trainer on a stream: its batches one after the other, epoch after epoch, also where a run was stopped.
#include "veldt/data/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "tests/train/measures.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/train/trainer.h"

namespace veldt::train {
namespace {

using test::error_of;
using test::measures;
using testing::HasSubstr;

// 40 to 42 examples, which differ from epoch to epoch, as does their number.
data::Stream waves(std::int64_t epoch) {
  return [epoch, i = std::int64_t{0}]() mutable -> std::optional<data::Example> {
    if (i == 40 + epoch % 3) return std::nullopt;
    Rng rng(static_cast<std::uint64_t>(1000 * epoch + i++));
    const Tensor x = rand({1}, rng, -2, 2);
    return data::Example{x, sin(x)};
  };
}

struct Reader {
  explicit Reader(TrainerOptions options = {},
                  data::StreamOptions stream = {.batch = 8, .shuffle_buffer = 20})
      : rng(5),
        model{nn::Linear(1, 16, rng), nn::Tanh(), nn::Linear(16, 1, rng)},
        adam(model.named_parameters(), {.lr = 0.02}),
        train(waves, std::move(stream)),
        validation(data::from_function(60,
                                       [](std::int64_t i) {
                                         const Tensor x = full({1}, static_cast<double>(i) / 15 - 2);
                                         return data::Example{x, sin(x)};
                                       })),
        trainer(model, adam, with_loss(std::move(options))) {}

  static TrainerOptions with_loss(TrainerOptions options) {
    options.loss = [](const Tensor& y, const data::Batch& b) { return mse_loss(y, b.back()); };
    return options;
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Tensor& p : model.parameters())
      for (const float v : p.values<float>()) all.push_back(v);
    return all;
  }

  Rng rng;
  nn::Sequential model;
  optim::Adam adam;
  data::StreamLoader train;
  data::Loader validation;
  Trainer trainer;
};

TEST(TrainerStream, LearnsWhatComes) {
  Reader s;
  const FitResult fit = s.trainer.fit(s.train, &s.validation, {.steps = 400, .evaluate_every = 100});
  EXPECT_EQ(fit.evaluations.size(), 4u);
  EXPECT_LT(score(fit.best->scores, "loss"), 0.01);
  // Epochs are of 5, 6 and 6 batches; the last one has not ended.
  EXPECT_EQ(fit.evaluations.back().epoch, 70);
  EXPECT_GT(fit.waiting, 0);
}

TEST(TrainerStream, TakesTheStepsOfALoopWrittenByHand) {
  for (const bool record : {false, true}) {
    Reader s, hand;
    s.trainer.fit(s.train, nullptr, {.steps = 40, .record = record});
    std::int64_t epoch = 0, number = 0;
    for (int step = 0; step < 40; ++step) {
      std::optional<data::Batch> batch = hand.train.batch(epoch, number++);
      if (!batch) batch = hand.train.batch(++epoch, 0), number = 1;
      hand.adam.zero_grad();
      mse_loss(hand.model((*batch)[0]), (*batch)[1]).backward();
      hand.adam.step();
    }
    EXPECT_EQ(s.weights(), hand.weights());
  }
}

TEST(TrainerStream, ResumesAtItsPlaceToTheSameBits) {
  for (const std::int64_t accumulate : {1, 3}) {
    const test::TempDir whole_dir, cut_dir;
    const TrainerOptions options{.accumulate = accumulate};
    Reader whole(options);
    FitOptions fit{.steps = 40, .evaluate_every = 9, .restore_best = false, .out = whole_dir.path()};
    whole.trainer.fit(whole.train, &whole.validation, fit);
    fit.out = cut_dir.path();
    for (const std::int64_t stop : {3, 17, 1000}) {
      Reader part(options);
      std::int64_t steps = 0;
      Events events;
      events.on_step = [&](std::int64_t step, double) { steps = step; };
      events.should_stop = [&] { return steps >= stop; };
      part.trainer.fit(part.train, &part.validation, fit, events);
      fit.resume = true;
      if (stop == 1000) {
        EXPECT_EQ(part.weights(), whole.weights());
      }
    }
    EXPECT_EQ(measures(cut_dir / "metrics.csv"), measures(whole_dir / "metrics.csv"));
  }
}

TEST(TrainerStream, RefusesWhatALengthWouldBeNeededFor) {
  Reader s;
  const auto error = [&](const FitOptions& options, data::Loader* validation = nullptr) {
    return error_of<ConfigError>([&] { s.trainer.fit(s.train, validation, options); });
  };
  EXPECT_THAT(error({.epochs = 2}), HasSubstr("give steps or seconds"));
  EXPECT_THAT(error({.epochs = 2, .steps = 20}), HasSubstr("for 2 epochs"));
  EXPECT_THAT(error({.steps = 20}, &s.validation), HasSubstr("FitOptions::evaluate_every"));
  data::StreamLoader empty([](std::int64_t) { return [] { return std::optional<data::Example>(); }; });
  EXPECT_THAT(error_of<ConfigError>([&] { s.trainer.fit(empty, nullptr, {.steps = 1}); }),
              HasSubstr("the stream of epoch 0 has no batch"));
}

TEST(TrainerStream, RefusesToResumeWithAnotherOne) {
  const test::TempDir dir;
  Reader first, other({}, {.batch = 4, .shuffle_buffer = 20});
  first.trainer.fit(first.train, nullptr, {.steps = 3, .out = dir.path()});
  const FitOptions more{.steps = 6, .out = dir.path(), .resume = true};
  EXPECT_THAT(error_of<ConfigError>([&] { other.trainer.fit(other.train, nullptr, more); }),
              HasSubstr("trainer.batch was 8 and is 4"));
  EXPECT_THAT(error_of<ConfigError>([&] { other.trainer.fit(other.validation, nullptr, more); }),
              HasSubstr("trainer.shuffle_buffer was 20 and is not set"));
}

}  // namespace
}  // namespace veldt::train
