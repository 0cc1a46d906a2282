// Averages of parameters follow their formula, swap in for a scope, and resume with the same bits.
#include "veldt/optim/ema.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/error_of.h"
#include "veldt/ops/create.h"
#include "veldt/optim/sgd.h"

namespace veldt::optim {
namespace {

// A parameter that is 0, 1, 2, .. at the updates, and its average by the formula.
struct Ramp {
  Tensor p = zeros({3}, DType::f64).set_requires_grad();
  SGD sgd{NamedTensors{{"p", p}}, {.lr = 1}};
  double wanted = 0;

  void update(Ema& ema, double value) {
    const double d = ema.decay();
    p.assign(full({3}, value, DType::f64));
    ema.update();
    wanted = d * wanted + (1 - d) * value;
  }
};

double average_of(const Ema& ema) { return ema.state_dict()[1].tensor.values<double>()[0]; }

TEST(Ema, FollowsItsFormula) {
  Ramp ramp;
  Ema ema(ramp.sgd, {.decay = 0.9, .warm_up = false});
  for (int i = 1; i <= 30; ++i) {
    ramp.update(ema, i);
    EXPECT_NEAR(average_of(ema), ramp.wanted, 1e-12);
  }
  EXPECT_EQ(ema.updates(), 30);
}

TEST(Ema, ForgetsTheFirstValuesSoonWhileItWarmsUp) {
  Ramp ramp;
  Ema ema(ramp.sgd, {.decay = 0.5});
  for (int i = 0; i < 20; ++i) {
    EXPECT_DOUBLE_EQ(ema.decay(), std::min(0.5, (1.0 + i) / (10 + i)));
    ramp.update(ema, i);
    EXPECT_NEAR(average_of(ema), ramp.wanted, 1e-12);
  }
}

TEST(Ema, SwapsForAScopeAndRefusesToBeChangedMeanwhile) {
  Ramp ramp;
  Ema ema(ramp.sgd, {.decay = 0.5, .warm_up = false});
  ramp.update(ema, 8);
  {
    const Ema::Swapped averaged(ema);
    EXPECT_EQ(ramp.p.values<double>()[0], 4);
    EXPECT_NE(test::error_of([&] { ema.update(); }), "");
    EXPECT_NE(test::error_of([&] { ema.state_dict(); }), "");
  }
  EXPECT_EQ(ramp.p.values<double>()[0], 8);
  EXPECT_EQ(average_of(ema), 4);
  ema.copy_to_parameters();
  EXPECT_EQ(ramp.p.values<double>()[0], 4);
}

TEST(Ema, ResumesWithTheSameBits) {
  Ramp first, second;
  Ema whole(first.sgd), resumed(second.sgd);
  for (int i = 0; i < 5; ++i) first.update(whole, i);
  resumed.load_state_dict(whole.state_dict());
  for (int i = 5; i < 9; ++i) {
    first.update(whole, i);
    second.update(resumed, i);
  }
  EXPECT_EQ(average_of(resumed), average_of(whole));
  EXPECT_EQ(resumed.updates(), 9);
  EXPECT_NE(test::error_of([&] { resumed.load_state_dict({{"updates", zeros({})}}); }), "");
}

}  // namespace
}  // namespace veldt::optim
