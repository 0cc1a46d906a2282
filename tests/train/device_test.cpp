// The trainer on another device, see tests/support/device_under_test.h: what it learns there is what it
// learns on the CPU, up to rounding, and a resumed run has the same bits.
#include <gtest/gtest.h>

#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/temp_dir.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/sgd.h"
#include "veldt/train/trainer.h"

namespace veldt::train {
namespace {

using test::kEmulated;

// Pictures whose left or right half is brighter.
data::DatasetPtr halves(std::int64_t n, std::uint64_t seed) {
  Rng rng(seed);
  const Tensor labels = randint({n}, rng, 0, 2), x = rand({n, 1, 6, 6}, rng);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto first = 3 * static_cast<std::int64_t>(select(labels, 0, i).item());
    Tensor half = slice(select(select(x, 0, i), 0, 0), 1, first, first + 3);
    half.assign(half + 0.7);
  }
  return data::from_tensors({x, labels});
}

// Sequences of tokens, and the first of each.
data::DatasetPtr firsts(std::int64_t n, std::uint64_t seed) {
  Rng rng(seed);
  const Tensor x = randint({n, 5}, rng, 0, 4);
  return data::from_tensors({x, contiguous(select(x, 1, 0))});
}

nn::Sequential reader(Rng& rng) {
  return nn::Sequential{nn::Conv2d(1, 4, 3, {.padding = 1}, rng),
                        nn::BatchNorm2d(4),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Flatten(),
                        nn::Dropout(0.2, rng),
                        nn::Linear(36, 2, rng)};
}

nn::Sequential listener(Rng& rng) {
  return nn::Sequential{
      nn::Embedding(4, 8, rng),
      nn::PositionEmbedding(5, 8, rng),
      nn::TransformerEncoderLayer(
          8, 2, {.dim_feedforward = 16, .dropout = 0, .norm_first = true, .batch_first = true}, rng),
      nn::LSTM(8, 8, {.batch_first = true}, rng),
      nn::LastStep(),
      nn::Linear(8, 4, rng)};
}

struct Outcome {
  Scores scores;
  std::vector<float> weights;
};

Outcome taught(nn::Sequential (*make)(Rng&), data::DatasetPtr (*set)(std::int64_t, std::uint64_t),
               Device device, TrainerOptions options = {}, FitOptions fit = {.epochs = 4}) {
  Rng rng(3);
  nn::Sequential model = make(rng);
  model.to(device);
  // Not Adam, which makes full steps of a rounding: a bias before a batch norm has a gradient of 0.
  optim::SGD sgd(model.named_parameters(), {.lr = 0.05, .momentum = 0.9});
  data::Loader train(set(64, 1), {.batch = 16, .shuffle = true}), validation(set(50, 2), {.batch = 25});
  options.metrics = {accuracy()};
  Trainer trainer(model, sgd, options);
  fit.restore_best = false;
  trainer.fit(train, &validation, fit);
  Outcome out{trainer.evaluate(validation), {}};
  for (const Tensor& p : model.parameters())
    for (const float v : to(p, Device{}).values<float>()) out.weights.push_back(v);
  return out;
}

class TrainerOnADevice : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::use_device_under_test(); }

  static void expect_near(const Outcome& there, const Outcome& here, double tolerance) {
    EXPECT_NEAR(score(there.scores, "loss"), score(here.scores, "loss"), tolerance);
    ASSERT_EQ(there.weights.size(), here.weights.size());
    double furthest = 0;
    for (std::size_t i = 0; i < there.weights.size(); ++i)
      furthest = std::max(furthest, std::abs(static_cast<double>(there.weights[i] - here.weights[i])));
    EXPECT_LT(furthest, tolerance);
  }
};

TEST_F(TrainerOnADevice, LearnsPicturesAsTheCpuDoes) {
  const Outcome here = taught(reader, halves, {}), there = taught(reader, halves, kEmulated);
  EXPECT_GT(score(there.scores, "accuracy"), 0.9);
  expect_near(there, here, 2e-2);
}

TEST_F(TrainerOnADevice, LearnsSequencesAsTheCpuDoes) {
  const Outcome here = taught(listener, firsts, {}), there = taught(listener, firsts, kEmulated);
  expect_near(there, here, 2e-2);
}

TEST_F(TrainerOnADevice, LearnsInHalfFloats) {
  const Outcome there = taught(reader, halves, kEmulated, {.autocast = DType::bf16}, {.epochs = 6});
  EXPECT_GT(score(there.scores, "accuracy"), 0.9);
  const Outcome scaled = taught(reader, halves, kEmulated, {.autocast = DType::f16}, {.epochs = 6});
  EXPECT_GT(score(scaled.scores, "accuracy"), 0.9);
}

TEST_F(TrainerOnADevice, ResumesToTheSameBits) {
  const test::TempDir dir;
  const Outcome whole =
      taught(reader, halves, kEmulated, {.ema_decay = 0.9}, {.epochs = 4, .out = dir / "whole"});
  taught(reader, halves, kEmulated, {.ema_decay = 0.9}, {.steps = 7, .out = dir / "run"});
  const Outcome resumed = taught(reader, halves, kEmulated, {.ema_decay = 0.9},
                                 {.epochs = 4, .out = dir / "run", .resume = true});
  EXPECT_EQ(resumed.weights, whole.weights);
}

TEST_F(TrainerOnADevice, TakesTurnsAndResumesToTheSameBits) {
  const auto played = [](Device device, FitOptions fit, std::int64_t steps) {
    Rng rng(3);
    nn::Sequential model = reader(rng);
    model.to(device);
    optim::SGD first(model[0].named_parameters(), {.lr = 0.02, .momentum = 0.9});
    optim::SGD last(model[6].named_parameters(), {.lr = 0.05, .momentum = 0.9});
    const auto wrong = [](const Tensor& y, const data::Batch& b) { return cross_entropy(y, b.back()); };
    Trainer trainer(model,
                    {{.name = "first", .optimizer = first, .loss = wrong},
                     {.name = "last", .optimizer = last, .loss = wrong}},
                    {.ema_decay = 0.9});
    data::Loader train(halves(64, 1), {.batch = 16, .shuffle = true});
    fit.steps = steps, fit.restore_best = false;
    fit.schedules = {{"last", optim::Linear{0.05, 0.01, 12}}};
    trainer.fit(train, nullptr, fit);
    Outcome out{{{"loss", 0}}, {}};
    for (const Tensor& p : model.parameters())
      for (const float v : to(p, Device{}).values<float>()) out.weights.push_back(v);
    return out;
  };
  const test::TempDir dir;
  const Outcome whole = played(kEmulated, {}, 12), recorded = played(kEmulated, {.record = true}, 12);
  EXPECT_EQ(recorded.weights, whole.weights);
  expect_near(whole, played({}, {}, 12), 2e-2);
  played(kEmulated, {.out = dir / "run", .record = true}, 5);
  EXPECT_EQ(played(kEmulated, {.out = dir / "run", .resume = true, .record = true}, 12).weights,
            whole.weights);
}

}  // namespace
}  // namespace veldt::train
