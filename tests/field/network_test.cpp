// The network starts as in the papers, and coordinates are where files place them.
#include "veldt/field/network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/field/pictures.h"
#include "veldt/field/coordinates.h"
#include "veldt/ops/create.h"

namespace veldt::field {
namespace {

using test::small_options;

NamedTensors parameters_of(const FieldOptions& options, std::uint64_t seed = 1) {
  Rng rng(seed);
  return Network(options, rng).named_parameters();
}

struct Spread {
  double largest = 0, deviation = 0;
};

Spread spread_of(const Tensor& t) {
  Spread s;
  double squares = 0;
  for (const float v : t.values<float>()) {
    s.largest = std::max(s.largest, std::abs(static_cast<double>(v)));
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  s.deviation = std::sqrt(squares / static_cast<double>(t.numel()));
  return s;
}

FieldOptions wide(Activation activation) {
  FieldOptions o = small_options(64, 64, 3);
  o.activation = activation;
  o.widths = {256, 256};
  o.omega = 25;
  return o;
}

// Uniform within +-bound: nothing beyond it, and values up to close below.
void expect_uniform(const Tensor& t, double bound, double closeness = 0.98) {
  const Spread s = spread_of(t);
  EXPECT_LE(s.largest, bound * (1 + 1e-6));
  EXPECT_GT(s.largest, bound * closeness);
  EXPECT_NEAR(s.deviation, bound / std::sqrt(3.0), bound * 0.05);
}

TEST(Network, StartsWithinTheBoundsOfSiren) {
  for (const Activation a : {Activation::siren, Activation::finer}) {
    const auto p = parameters_of(wide(a));
    ASSERT_EQ(p.size(), 6u);
    EXPECT_EQ(p[0].name, "layers.0.weight");
    EXPECT_EQ(p[5].name, "layers.2.bias");
    expect_uniform(p[0].tensor, 0.5);  // 1 / 2 inputs
    expect_uniform(p[2].tensor, std::sqrt(6.0 / 256) / 25);
    expect_uniform(p[4].tensor, std::sqrt(6.0 / 256) / 25);  // the head too
    expect_uniform(p[1].tensor, 1 / std::sqrt(2.0), 0.95);
    expect_uniform(p[3].tensor, 1 / 16.0, 0.95);
  }
}

TEST(Network, StartsAsTheOtherActivationsWantIt) {
  expect_uniform(parameters_of(wide(Activation::relu))[2].tensor, std::sqrt(6.0 / 256));
  expect_uniform(parameters_of(wide(Activation::gauss))[2].tensor, std::sqrt(6.0 / 512));
  EXPECT_NEAR(spread_of(parameters_of(wide(Activation::tanh))[2].tensor).deviation, 25 * std::sqrt(2.0 / 512),
              0.025);
}

// The first layer's slopes [units, 2] and shifts, wherever the latter are kept.
void expect_ridges(const FieldOptions& o) {
  const auto p = parameters_of(o);
  const std::vector<float> w = p[0].tensor.values<float>();
  const std::vector<float> b = o.constant_input ? std::vector<float>() : p[1].tensor.values<float>();
  const auto inputs = static_cast<std::size_t>(o.inputs());
  const auto side = static_cast<double>(std::max(o.width, o.height));
  double steepest = 0, gentlest = o.first_omega;
  int rising = 0, outside_half = 0;
  for (std::size_t unit = 0; unit < 256; ++unit) {
    const double x = static_cast<double>(w[unit * inputs]), y = static_cast<double>(w[unit * inputs + 1]);
    const double shift = static_cast<double>(o.constant_input ? w[unit * inputs + 2] : b[unit]);
    // The largest and smallest w . x + b over the picture: its line crosses the picture.
    const double reach = std::abs(x) * static_cast<double>(o.width) / side +
                         std::abs(y) * static_cast<double>(o.height) / side;
    EXPECT_LE(std::abs(shift), reach * (1 + 1e-5)) << unit;
    outside_half += std::abs(shift) > reach / 2;
    rising += x > 0;
    steepest = std::max(steepest, std::hypot(x, y));
    gentlest = std::min(gentlest, std::hypot(x, y));
  }
  EXPECT_LE(steepest, o.first_omega * (1 + 1e-6));
  EXPECT_GT(steepest, o.first_omega * 0.98);
  EXPECT_LT(gentlest, o.first_omega * 0.25);
  EXPECT_NEAR(rising, 128, 40);
  EXPECT_GT(outside_half, 25);  // all over the picture, not through its middle alone
}

TEST(Network, StartsATanhAsRidgesAcrossThePicture) {
  FieldOptions o = wide(Activation::tanh);
  o.first_omega = 20;
  expect_ridges(o);
  o.height = 16;
  expect_ridges(o);
  o.bias = false;
  o.constant_input = true;
  expect_ridges(o);
}

TEST(Network, StartsTheOriginalRecipeAsGlorotAndBengio) {
  FieldOptions o = wide(Activation::tanh);
  o.coordinates = Coordinates::corners;
  const auto p = parameters_of(o);
  EXPECT_NEAR(spread_of(p[0].tensor).deviation, std::sqrt(2.0 / 258), 0.01);
  EXPECT_NEAR(spread_of(p[2].tensor).deviation, std::sqrt(2.0 / 512), 1e-3);
}

TEST(Network, IsTheSameForTheSameSeedAlone) {
  const auto a = parameters_of(wide(Activation::siren), 1), b = parameters_of(wide(Activation::siren), 1);
  const auto c = parameters_of(wide(Activation::siren), 2);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tensor.values<float>(), b[i].tensor.values<float>());
    EXPECT_NE(a[i].tensor.values<float>(), c[i].tensor.values<float>());
  }
}

TEST(Network, GivesOneNumberAChannelForEachPoint) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    for (const bool constant : {false, true}) {
      FieldOptions o = small_options(8, 8, channels);
      o.constant_input = constant;
      Rng rng(1);
      EXPECT_EQ(Network(o, rng)(zeros({5, constant ? 3 : 2})).shape(), Shape({5, channels}));
    }
  }
}

TEST(CoordinateMap, PutsPixelCentresBetweenMinusOneAndOne) {
  const CoordinateMap map(small_options(4, 4));
  EXPECT_EQ(map.inputs(), 2);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(map.x((i + 0.5) / 4), static_cast<float>(2 * (i + 0.5) / 4 - 1));
    EXPECT_FLOAT_EQ(map.y((i + 0.5) / 4), static_cast<float>(2 * (i + 0.5) / 4 - 1));
  }
}

TEST(CoordinateMap, MakesAUnitAsLongAcrossAsDown) {
  const CoordinateMap wide(small_options(300, 100)), high(small_options(100, 300));
  EXPECT_FLOAT_EQ(wide.x(0), -1);
  EXPECT_FLOAT_EQ(wide.x(1), 1);
  EXPECT_FLOAT_EQ(wide.y(0), -1.0f / 3);
  EXPECT_FLOAT_EQ(wide.y(1), 1.0f / 3);
  EXPECT_FLOAT_EQ(high.x(1), 1.0f / 3);
  EXPECT_FLOAT_EQ(high.y(1), 1);
}

TEST(CoordinateMap, PutsTheOuterPixelsOnTheCornersWhenAsked) {
  FieldOptions o = small_options(5, 3);
  o.coordinates = Coordinates::corners;
  o.constant_input = true;
  const CoordinateMap map(o);
  EXPECT_EQ(map.inputs(), 3);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(map.x((i + 0.5) / 5), i / 4.0, 1e-7);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(map.y((i + 0.5) / 3), i / 2.0, 1e-7);
}

TEST(CoordinateMap, IsFiniteForPicturesOfOnePixel) {
  for (const Coordinates c : {Coordinates::centres, Coordinates::corners}) {
    FieldOptions o = small_options(1, 1);
    o.coordinates = c;
    const CoordinateMap map(o);
    EXPECT_EQ(map.x(0.5), 0);
    EXPECT_EQ(map.y(0.5), 0);
  }
}

TEST(LevelsFrom, IsUndoneByTargetsFrom) {
  const Tensor levels = Tensor::of({5, 1}, {0, 0.25, 0.5, 0.75, 1});
  EXPECT_LT(test::largest_difference(levels_from(targets_from(levels, Head::clamp), Head::clamp), levels),
            1e-7);
  // Of a sigmoid the target is the level itself, and of ink its complement.
  const Tensor logits = Tensor::of({3, 1}, {-30, 0, 30});
  EXPECT_LT(test::largest_difference(levels_from(logits, Head::sigmoid), Tensor::of({3, 1}, {0, 0.5, 1})),
            1e-6);
  EXPECT_LT(test::largest_difference(levels_from(logits, Head::ink), Tensor::of({3, 1}, {1, 0.5, 0})), 1e-6);
  EXPECT_LT(
      test::largest_difference(targets_from(levels, Head::ink), Tensor::of({5, 1}, {1, 0.75, 0.5, 0.25, 0})),
      1e-7);
  EXPECT_TRUE(test::all_levels(levels_from(Tensor::of({2, 1}, {-5, 7}), Head::clamp)));
}

}  // namespace
}  // namespace veldt::field
