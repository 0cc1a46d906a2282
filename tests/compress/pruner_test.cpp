// Pruning during a fit: the schedule, what stays away, what may come back, and a run that is resumed.
#include "veldt/compress/pruner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/train/trainer.h"

namespace veldt::compress {
namespace {

using test::error_of;
using testing::HasSubstr;

// Whether points of the plane lie within a circle, learned by a small network that is pruned meanwhile.
struct PrunedFit {
  explicit PrunedFit(const PrunerOptions& options,
                     train::TrainerOptions trained = {.metrics = {train::accuracy()}})
      : model{nn::Linear(2, 32, rng), nn::Tanh(), nn::Linear(32, 16, rng), nn::Tanh(),
              nn::Linear(16, 2, rng)},
        pruner(model, options),
        adam(model.named_parameters(), {.lr = 0.02}),
        train(points(320, 1), {.batch = 32, .shuffle = true, .seed = 3}),
        validation(points(200, 2), {.batch = 64}),
        trainer(model, adam, std::move(trained)) {}

  static data::DatasetPtr points(std::int64_t n, std::uint64_t seed) {
    Rng random(seed);
    const Tensor x = rand({n, 2}, random, -1, 1);
    return data::from_tensors({x, to(less(sum(square(x), {1}), full({}, 0.5)), DType::i64)});
  }

  train::FitResult fit(train::FitOptions o) {
    o.follower = &pruner;
    o.record = true;
    return trainer.fit(train, &validation, o);
  }

  std::vector<float> values() const {
    std::vector<float> every;
    for (const Tensor& p : model.parameters())
      for (const float v : p.values<float>()) every.push_back(v);
    return every;
  }
  double zeros() const { return pruned_share(masks_of_zeros(prunable(model))); }

  Rng rng{5};
  nn::Sequential model;
  Pruner pruner;
  optim::Adam adam;
  data::Loader train, validation;
  train::Trainer trainer;
};

TEST(Pruner, TheShareRisesByZhuAndGuptasCubic) {
  PrunedFit s({.what = {.share = 0.8}, .begin = 100, .end = 300});
  EXPECT_EQ(s.pruner.share_after(0), 0);
  EXPECT_EQ(s.pruner.share_after(100), 0);
  EXPECT_DOUBLE_EQ(s.pruner.share_after(200), 0.8 + (0 - 0.8) * std::pow(1 - 0.5, 3));
  EXPECT_EQ(s.pruner.share_after(300), 0.8);
  EXPECT_EQ(s.pruner.share_after(1000), 0.8);
  EXPECT_FALSE(s.pruner.settled(299));
  EXPECT_TRUE(s.pruner.settled(300));
}

TEST(Pruner, WeightsGoWhileTheNetworkLearns) {
  PrunedFit s({.what = {.share = 0.6}, .begin = 20, .end = 100, .every = 10});
  const train::FitResult result = s.fit({.epochs = 40, .evaluate_every = 10});
  EXPECT_NEAR(s.zeros(), 0.6, 1e-3);
  EXPECT_GT(train::score(result.best->scores, "accuracy"), 0.9);
  EXPECT_GE(result.best->step, 100);  // those before had more weights
  for (const train::Evaluation& e : result.evaluations) EXPECT_FALSE(e.best && e.step < 100);
}

TEST(Pruner, MovementPruningMayBringWeightsBack) {
  PrunedFit s(
      {.what = {.share = 0.5}, .method = PruneMethod::movement, .begin = 10, .end = 200, .every = 10});
  NamedTensors half_way;
  const train::FitResult result = s.fit({.epochs = 40});
  EXPECT_NEAR(s.zeros(), 0.5, 1e-3);
  EXPECT_GT(train::score(result.best->scores, "accuracy"), 0.9);
}

TEST(Pruner, MovementFollowsWeightsTimesGradients) {
  // One step of plain numbers: the score is -w g, so the weight that grows in size stays.
  nn::Linear net(2, 1, {.bias = false});
  net.weight().detach().assign(Tensor::of({1, 2}, {0.1, 1}));
  Pruner pruner(net,
                {.what = {.share = 0.5}, .method = PruneMethod::movement, .begin = 1, .end = 1, .every = 1});
  pruner.begin(0);
  // The loss wants the first weight larger, and the second smaller.
  sum(net(Tensor::of({1, 2}, {-1, 1}))).backward();
  pruner.stepped(1);
  const std::vector<float> left = net.weight().values<float>();
  EXPECT_FLOAT_EQ(left[0], 0.1F);
  EXPECT_EQ(left[1], 0);
}

TEST(Pruner, APatternIsPutOnAndKept) {
  PrunedFit s({.what = {.keep = 2, .of = 4}, .begin = 50, .end = 50});
  const train::FitResult result = s.fit({.epochs = 20});
  const std::vector<float> w = s.model.named_parameters().at(2).tensor.values<float>();  // [16, 32]
  for (std::size_t i = 0; i < w.size(); i += 4)
    EXPECT_EQ((w[i] == 0) + (w[i + 1] == 0) + (w[i + 2] == 0) + (w[i + 3] == 0), 2);
  EXPECT_GE(result.best->step, 50);
}

TEST(Pruner, WhatWasZeroStaysZero) {
  PrunedFit s({.what = {.share = 0}, .begin = 0, .end = 0, .keep_zeros = true});
  apply_masks(s.model, masks_of(magnitudes(prunable(s.model)), {.share = 0.5}));
  const NamedTensors before = masks_of_zeros(prunable(s.model));
  s.fit({.epochs = 10});
  const NamedTensors after = masks_of_zeros(prunable(s.model));
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i].tensor.values<float>(), after[i].tensor.values<float>());
  EXPECT_NEAR(s.zeros(), 0.5, 1e-3);
}

TEST(Pruner, ALayersShareAddsToTheZerosThatWereThere) {
  PrunedFit s({.what = {.share = 0.4, .scope = PruneScope::layer}, .begin = 0, .end = 0, .keep_zeros = true});
  const NamedTensors weights = prunable(s.model);
  apply_masks(s.model, masks_of(magnitudes({weights[1]}), {.share = 0.9}));
  s.pruner.begin(0);
  const std::vector<PrunedLayer> rows = pruned_layers(masks_of_zeros(weights), magnitudes(weights));
  EXPECT_EQ(rows[0].kept, 64 - 26);
  EXPECT_EQ(rows[1].kept, 512 - 461);  // 0.9 of them were gone before
}

TEST(Pruner, AResumedRunHasTheBitsOfOneThatNeverStopped) {
  for (const PruneMethod method : {PruneMethod::magnitude, PruneMethod::movement}) {
    const PrunerOptions options{
        .what = {.share = 0.7}, .method = method, .begin = 10, .end = 90, .every = 10};
    test::TempDir dir;
    PrunedFit whole(options);
    whole.fit({.epochs = 12});
    {
      PrunedFit first(options);
      first.fit({.epochs = 12, .pause = 47, .out = dir / "run"});
      EXPECT_GT(first.zeros(), 0.3);
    }
    PrunedFit second(options);
    second.fit({.epochs = 12, .out = dir / "run", .resume = true});
    EXPECT_EQ(whole.values(), second.values());
    PrunerOptions other = options;
    other.what.share = 0.5;
    PrunedFit third(other);
    EXPECT_THAT(error_of<ConfigError>([&] { third.fit({.epochs = 12, .out = dir / "run", .resume = true}); }),
                HasSubstr("this run is not the one"));
  }
}

TEST(Pruner, AMaskOfOtherNumbersThanZeroAndOneIsCorrupt) {
  nn::Sequential net{nn::Linear(4, 3)};
  Pruner pruner(net, {.end = 10});
  NamedTensors state = pruner.state();
  ASSERT_EQ(state.at(0).name, "mask.0.weight");
  state[0].tensor.assign(full({3, 4}, 0.5));
  EXPECT_EQ(test::thrown_by<IoError>([&] { pruner.begin(7); }).kind(), IoError::Kind::corrupt);
}

TEST(Pruner, WhatCannotBeIsRefused) {
  nn::Sequential net{nn::Linear(4, 3)};
  EXPECT_THAT(error_of<ConfigError>([&] { Pruner(net, {.begin = 5, .end = 4}); }),
              HasSubstr("step 5 to step 4"));
  EXPECT_THAT(error_of<ConfigError>([&] { Pruner(net, {.every = 0}); }), HasSubstr("every 0"));
  EXPECT_THAT(error_of<ConfigError>([&] { Pruner(net, {.what = {.share = 2}}); }), HasSubstr("share of 2"));
  EXPECT_THAT(error_of<ConfigError>([&] { Pruner(net, {.except = {"0"}}); }), HasSubstr("nothing to prune"));
  EXPECT_THAT(
      error_of<ConfigError>([&] { Pruner(net, {.method = PruneMethod::movement, .keep_zeros = true}); }),
      HasSubstr("keep weights at 0"));
  nn::Sequential frozen{nn::Linear(4, 3)};
  frozen.freeze();
  EXPECT_THAT(error_of<ConfigError>([&] { Pruner(frozen, {.method = PruneMethod::movement}); }),
              HasSubstr("frozen"));
  PrunedFit averaged({.end = 10}, {.ema_decay = 0.99});
  EXPECT_THAT(error_of<ConfigError>([&] { averaged.fit({.steps = 20}); }), HasSubstr("averages"));
  PrunedFit scaled({.method = PruneMethod::movement, .end = 10}, {.autocast = DType::f16});
  EXPECT_THAT(error_of<ConfigError>([&] { scaled.fit({.steps = 20}); }), HasSubstr("f16"));
}

}  // namespace
}  // namespace veldt::compress
