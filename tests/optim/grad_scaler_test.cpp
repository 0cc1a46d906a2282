// The scaler of losses: steps are those without it, overflows are left out, and the scale follows torch's
// rule.
#include "veldt/optim/grad_scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/plan.h"

namespace veldt::optim {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

struct Scaled {
  explicit Scaled(GradScalerOptions o = {}, AdamOptions adam_options = {.lr = 0.1})
      : w(Tensor::of({2}, {1, -2}).set_requires_grad()), adam({{"w", w}}, adam_options), scaler(o) {}
  void step(const Tensor& x) {
    adam.zero_grad();
    scaler.scale(sum(w * x)).backward();
    scaler.step(adam);
  }
  Tensor w;
  Adam adam;
  GradScaler scaler;
};

TEST(GradScaler, ChangesNoStepWhoseGradientsAreFinite) {
  Scaled s({}, {.lr = 0.1, .clip = {.norm = 0.5}});
  Tensor w = Tensor::of({2}, {1, -2}).set_requires_grad();
  Adam plain({{"w", w}}, {.lr = 0.1, .clip = {.norm = 0.5}});
  for (int i = 0; i < 5; ++i) {
    const Tensor x = Tensor::of({2}, {0.5 + i, 3});
    s.step(x);
    plain.zero_grad();
    sum(w * x).backward();
    plain.step();
    EXPECT_EQ(s.w.values<float>(), w.values<float>());  // the scale is a power of 2
  }
  EXPECT_EQ(s.adam.steps(), 5);
  EXPECT_EQ(s.scaler.skipped(), 0);
}

TEST(GradScaler, LeavesOutAStepThatOverflowsAndHalvesTheScale) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    Scaled s;
    EXPECT_EQ(s.scaler.factor(), 65536);
    s.step(Tensor::of({2}, {bad, 1}));
    EXPECT_THAT(s.w.values<float>(), ElementsAre(1, -2));
    EXPECT_EQ(s.adam.steps(), 0);
    EXPECT_EQ(s.scaler.factor(), 32768);
    EXPECT_EQ(s.scaler.skipped(), 1);
    s.step(ones({2}));
    EXPECT_EQ(s.adam.steps(), 1);
    EXPECT_LT(s.w.values<float>()[0], 1);
  }
}

TEST(GradScaler, GrowsAfterEnoughStepsInARow) {
  Scaled s({.init_scale = 8, .growth_factor = 4, .backoff_factor = 0.25, .growth_interval = 2});
  std::vector<double> factors;
  const Tensor good = ones({2}), bad = full({2}, INFINITY);
  for (const Tensor& x : {good, good, good, bad, good, good}) {
    s.step(x);
    factors.push_back(s.scaler.factor());
  }
  EXPECT_THAT(factors, ElementsAre(8, 32, 32, 8, 8, 32));
}

TEST(GradScaler, NeverLeavesTheRangeOfF32) {
  Scaled up({.init_scale = 1e30, .growth_factor = 1e7, .growth_interval = 1}), down({.init_scale = 1e-37});
  for (int i = 0; i < 4; ++i) {
    up.step(zeros({2}));
    down.step(full({2}, INFINITY));
  }
  EXPECT_TRUE(std::isfinite(static_cast<float>(up.scaler.factor())));
  EXPECT_GT(down.scaler.factor(), 0);
}

TEST(GradScaler, ReplaysInAPlanThatSkipsAndGrows) {
  const GradScalerOptions options{.init_scale = 16, .growth_interval = 2};
  Scaled eager(options), recorded(options);
  Tensor x = ones({2});
  Plan plan([&] { recorded.step(x); });
  for (const double value : {1.0, 2.0, HUGE_VAL, 3.0, 1.0, 1.0, HUGE_VAL, 0.5}) {
    x.assign(full({2}, value));
    eager.step(x);
    plan.replay();
    EXPECT_EQ(recorded.w.values<float>(), eager.w.values<float>()) << value;
    EXPECT_EQ(recorded.scaler.factor(), eager.scaler.factor()) << value;
    EXPECT_EQ(recorded.adam.steps(), eager.adam.steps()) << value;
  }
  EXPECT_EQ(recorded.scaler.skipped(), 2);
}

TEST(GradScaler, GoesOnFromItsState) {
  const GradScalerOptions options{.init_scale = 16, .growth_interval = 3};
  Scaled whole(options), again(options);
  for (int i = 0; i < 4; ++i) whole.step(ones({2}));
  again.scaler.load_state_dict(whole.scaler.state_dict());
  EXPECT_EQ(again.scaler.factor(), 32);
  for (int i = 0; i < 2; ++i) {
    whole.step(ones({2}));
    again.step(ones({2}));
    EXPECT_EQ(again.scaler.factor(), whole.scaler.factor()) << i;
  }
  EXPECT_EQ(again.scaler.factor(), 64);
}

TEST(GradScaler, RefusesAStateThatNoRunCouldHaveLeft) {
  GradScaler scaler;
  NamedTensors state = scaler.state_dict();
  for (const double bad : {0.0, -1.0, std::nan(""), 1e39}) {
    state[0].tensor = full({}, bad);
    EXPECT_THAT(error_of([&] { scaler.load_state_dict(state); }), HasSubstr("its scale is")) << bad;
  }
  state = scaler.state_dict();
  state[1].tensor = full({}, -1, DType::i64);
  EXPECT_THAT(error_of([&] { scaler.load_state_dict(state); }), HasSubstr("growth_tracker"));
  state.pop_back();
  EXPECT_THAT(error_of([&] { scaler.load_state_dict(state); }), HasSubstr("growth_tracker is missing"));
  EXPECT_EQ(scaler.factor(), 65536);
}

TEST(GradScaler, RefusesOptionsOutOfRange) {
  EXPECT_THAT(error_of<ConfigError>([] { GradScaler({.init_scale = 0}); }), HasSubstr("init_scale"));
  EXPECT_THAT(error_of<ConfigError>([] { GradScaler({.growth_factor = 0.5}); }), HasSubstr("growth_factor"));
  EXPECT_THAT(error_of<ConfigError>([] { GradScaler({.backoff_factor = 2}); }), HasSubstr("backoff_factor"));
  EXPECT_THAT(error_of<ConfigError>([] { GradScaler({.growth_interval = 0}); }),
              HasSubstr("growth_interval"));
}

}  // namespace
}  // namespace veldt::optim
