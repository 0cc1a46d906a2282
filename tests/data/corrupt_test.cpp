// Corruptions of pictures: each changes them by its strength, the same for the same draw.
#include "veldt/data/corrupt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor after(const Transform& t, const Tensor& picture, std::uint64_t seed = 1) {
  Rng rng(seed);
  return contiguous(t({picture}, rng)[0]);
}

// One white pixel in the middle of 11 x 11.
Tensor white_dot() {
  const Tensor picture = zeros({1, 11, 11});
  picture.data<float>()[60] = 1;
  return picture;
}

TEST(Corrupt, ShiftsByWholePixelsInAllDirections) {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Tensor moved = after(shift(3), white_dot(), seed);
    ASSERT_EQ(sum(moved).item(), 1) << seed;
    const std::int64_t at = argmax(reshape(moved, {121}), 0).item<std::int64_t>();
    seen.insert({at / 11 - 5, at % 11 - 5});
    EXPECT_NEAR(std::hypot(at / 11 - 5, at % 11 - 5), 3, 0.71);
  }
  EXPECT_EQ(seen.size(), 24u);  // the pixels that a circle of radius 3 crosses
  EXPECT_TRUE(seen.contains({0, 3}) && seen.contains({-3, 0}) && seen.contains({2, -2}));
  // Channels stay what they are, and what came in is black.
  const Tensor colours = cat({full({1, 4, 4}, 0.25), full({1, 4, 4}, 0.5)}, 0);
  const Tensor moved = after(shift(1), colours);
  EXPECT_THAT(max(moved, {1, 2}).values<float>(), ElementsAre(0.25f, 0.5f));
  EXPECT_LT(sum(moved).item(), sum(colours).item());
  EXPECT_EQ(after(shift(0), colours).values<float>(), colours.values<float>());
  EXPECT_EQ(sum(after(shift(1000), colours)).item(), 0);
}

TEST(Corrupt, RotatesToEitherSide) {
  // A dot to the right of the middle goes up or down.
  const Tensor picture = zeros({1, 11, 11});
  picture.data<float>()[5 * 11 + 9] = 1;
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Tensor turned = after(rotate(90), picture, seed);
    EXPECT_NEAR(sum(turned).item(), 1, 1e-5);
    seen.insert(argmax(reshape(turned, {121}), 0).item<std::int64_t>());
  }
  EXPECT_EQ(seen, (std::set<std::int64_t>{1 * 11 + 5, 9 * 11 + 5}));
  EXPECT_EQ(after(rotate(0), white_dot()).values<float>(), white_dot().values<float>());
}

TEST(Corrupt, ErasesASquare) {
  std::set<std::vector<float>> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Tensor x = after(erase(3), ones({2, 4, 5}), seed);
    EXPECT_EQ(sum(x).item(), 40 - 18);
    seen.insert(x.values<float>());
  }
  EXPECT_EQ(seen.size(), 2u * 3u);  // each place
  EXPECT_EQ(sum(after(erase(9), ones({1, 4, 5}))).item(), 0);
}

TEST(Corrupt, DimsAndFlattens) {
  const Tensor x = Tensor::of({1, 2, 2}, {0, 0.25, 0.5, 1});
  EXPECT_THAT(after(brightness(0.5), x).values<float>(), ElementsAre(0, 0.125f, 0.25f, 0.5f));
  EXPECT_THAT(after(brightness(3), x).values<float>(), ElementsAre(0, 0.75f, 1, 1));
  EXPECT_THAT(after(contrast(0.5), x).values<float>(),
              ElementsAre(0.21875f, 0.34375f, 0.46875f, 0.71875f));  // about 0.4375
  EXPECT_THAT(after(contrast(0), x).values<float>(), testing::Each(0.4375f));
  // The mean of colours is of their brightness.
  const Tensor blue = cat({zeros({2, 1, 1}), ones({1, 1, 1})}, 0);
  EXPECT_THAT(after(contrast(0), blue).values<float>(), testing::Each(testing::FloatNear(0.114f, 1e-6f)));
}

TEST(Corrupt, BlursByADeviation) {
  const Tensor x = after(gaussian_blur(1), white_dot());
  EXPECT_NEAR(sum(x).item(), 1, 1e-5);
  const auto at = [&](int y, int i) { return x.values<float>()[static_cast<std::size_t>(y * 11 + i)]; };
  // exp(-1 / 2) beside it in both directions, and the product of both aside.
  EXPECT_NEAR(at(5, 6) / at(5, 5), std::exp(-0.5), 1e-5);
  EXPECT_NEAR(at(4, 5) / at(5, 5), std::exp(-0.5), 1e-5);
  EXPECT_NEAR(at(4, 6) / at(5, 5), std::exp(-1.0), 1e-5);
  double variance = 0;
  for (int y = 0; y < 11; ++y)
    for (int i = 0; i < 11; ++i) variance += static_cast<double>(at(y, i)) * (y - 5) * (y - 5);
  EXPECT_NEAR(variance, 1, 0.03);
  // A picture of one colour has no border.
  EXPECT_LT(max(abs(after(gaussian_blur(20), full({3, 5, 7}, 0.3)) - 0.3)).item(), 1e-6);
}

TEST(Corrupt, IsCodedAsAJpeg) {
  Rng rng(4);
  const Tensor ramp = expand(reshape(linspace(0, 1, 24), {1, 1, 24}), {3, 16, 24});
  double before = 0;
  for (const int quality : {100, 50, 5}) {
    const Tensor coded = after(jpeg(quality), contiguous(ramp));
    ASSERT_EQ(coded.shape(), (Shape{3, 16, 24}));
    const double error = mean(abs(coded - ramp)).item();
    EXPECT_GT(error, before) << quality;
    EXPECT_LT(error, quality == 100 ? 0.005 : 0.1) << quality;
    before = error;
  }
  EXPECT_EQ(after(jpeg(50), full({1, 9, 7}, 0.5)).shape(), (Shape{1, 9, 7}));
  EXPECT_THAT(error_of<ShapeError>([] { after(jpeg(50), zeros({2, 8, 8})); }), HasSubstr("2 channels"));
}

TEST(Corrupt, DrawsTheSameForTheSameStreamAndLeavesTheOriginal) {
  const Tensor picture = reshape(linspace(0, 1, 3 * 64), {3, 8, 8});
  const std::vector<float> original = picture.values<float>();
  for (const Transform& t :
       {shift(2), rotate(15), erase(3), brightness(0.5), contrast(0.5), gaussian_blur(1), jpeg(10)}) {
    EXPECT_EQ(after(t, picture, 5).values<float>(), after(t, picture, 5).values<float>());
    EXPECT_NE(after(t, picture, 5).values<float>(), original);
    EXPECT_EQ(picture.values<float>(), original);
  }
}

TEST(Corrupt, RefusesStrengthsThatAreNone) {
  EXPECT_THROW(shift(-1), ConfigError);
  EXPECT_THROW(rotate(-1), ConfigError);
  EXPECT_THROW(rotate(std::nan("")), ConfigError);
  EXPECT_THROW(erase(0), ConfigError);
  EXPECT_THROW(brightness(-0.5), ConfigError);
  EXPECT_THROW(brightness(INFINITY), ConfigError);
  EXPECT_THROW(contrast(-1), ConfigError);
  EXPECT_THROW(gaussian_blur(0), ConfigError);
  EXPECT_THROW(gaussian_blur(1e6), ConfigError);
  EXPECT_THROW(jpeg(0), ConfigError);
  EXPECT_THROW(jpeg(101), ConfigError);
  EXPECT_THAT(error_of<ShapeError>([] { after(shift(1), zeros({4, 4})); }), HasSubstr("[4, 4]"));
}

}  // namespace
}  // namespace veldt::data
