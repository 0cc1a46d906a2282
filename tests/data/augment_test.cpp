// Transforms of pictures: exact if there is only one outcome, within bounds otherwise, and the same for the
// same draw.
#include "veldt/data/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/data/mixing.h"
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

// Pixel i is i, channel after channel.
Tensor ramp(const Shape& shape) { return reshape(arange(0, static_cast<double>(numel(shape))), shape); }

std::vector<float> done(const Transform& t, const Tensor& picture, std::uint64_t seed = 1) {
  Rng rng(seed);
  return contiguous(t({picture}, rng)[0]).values<float>();
}

TEST(Augment, FlipsAndCrops) {
  EXPECT_THAT(done(horizontal_flip(1), ramp({1, 2, 3})), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(done(vertical_flip(1), ramp({1, 2, 3})), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_THAT(done(horizontal_flip(0), ramp({1, 2, 3})), ElementsAre(0, 1, 2, 3, 4, 5));
  std::set<std::vector<float>> seen;
  for (std::uint64_t seed = 0; seed < 64; ++seed)
    seen.insert(done(random_crop({2, 2}), ramp({1, 3, 3}), seed));
  EXPECT_EQ(seen.size(), 4u);  // each place, and no other
  EXPECT_TRUE(seen.contains({4, 5, 7, 8}));
  seen.clear();
  for (std::uint64_t seed = 0; seed < 64; ++seed)
    seen.insert(done(random_crop({1, 1}, 1), ones({1, 1, 1}), seed));
  EXPECT_EQ(seen, (std::set<std::vector<float>>{{0}, {1}}));
}

// The edge itself is not repeated: 4 3 | 4 5 would be replication's.
TEST(Augment, ACropsPaddingCanReflect) {
  std::set<std::vector<float>> seen;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    seen.insert(done(random_crop({3, 1}, 1, PadMode::reflect), ramp({1, 2, 3}), seed));
  const std::set<std::vector<float>> middle = {{1, 0, 1}, {0, 1, 2}, {1, 2, 1},
                                               {4, 3, 4}, {3, 4, 5}, {4, 5, 4}};
  EXPECT_EQ(seen, middle);
}

TEST(Augment, DrawsTheSameForTheSameStream) {
  const Transform all =
      sequence({random_resized_crop({6, 5}), random_rotation(30), colour_jitter({0.2, 0.2, 0.2, 0.1}),
                random_erasing(), gaussian_noise(0.1), maybe(0.5, vertical_flip(1))});
  const Tensor picture = ramp({3, 8, 9}) / 216.0;
  EXPECT_EQ(done(all, picture, 5), done(all, picture, 5));
  EXPECT_NE(done(all, picture, 5), done(all, picture, 6));
  EXPECT_EQ(done(all, picture, 5).size(), 90u);
}

TEST(Augment, TurnsAboutTheMiddle) {
  // By -180 or 180 degrees and what lies between; the middle stays where it is.
  const Tensor dot = to(equal(arange(0, 25), full({}, 12.0)), DType::f32);
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_NEAR(done(random_rotation(180), reshape(dot, {1, 5, 5}), seed)[12], 1, 1e-6);
  // A number of degrees that is drawn with certainty: none.
  EXPECT_EQ(done(random_rotation(0), ramp({2, 4, 5})), ramp({2, 4, 5}).values<float>());
  // Twice as large: the middle 3 x 3 of 5 x 5, with the places between filled in.
  const std::vector<float> large = done(random_affine({.scale = {2, 2}}), ramp({1, 5, 5}));
  EXPECT_NEAR(large[0], 6, 1e-5);
  EXPECT_NEAR(large[1], 6.5, 1e-5);
  EXPECT_NEAR(large[24], 18, 1e-5);
  // Smaller: what comes from outside is the fill.
  EXPECT_EQ(done(random_affine({.scale = {0.5, 0.5}, .fill = 0.25}), ones({1, 8, 8}))[0], 0.25f);
}

TEST(Augment, MovesByAShareOfTheSides) {
  double most = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<float> x = done(random_affine({.translate = 0.25}), ones({1, 8, 8}), seed);
    // A row in the middle loses as much as it was moved by.
    most = std::max(most, 8 - std::accumulate(x.begin() + 32, x.begin() + 40, 0.0));
  }
  EXPECT_GT(most, 1.8);
  EXPECT_LE(most, 2.001);
}

TEST(Augment, ChangesColours) {
  const Tensor picture = ramp({3, 2, 2}) / 12.0;
  // Ranges of one outcome: a factor of 1 .. 1, and brightness or hue that is clamped to 0.
  EXPECT_EQ(done(colour_jitter({}), picture), picture.values<float>());
  Rng rng(3);
  const Tensor bright = colour_jitter({.brightness = 0.5})({picture}, rng)[0];
  const double factor = select(select(select(bright, 0, 1), 0, 0), 0, 0).item() / (4 / 12.0);
  EXPECT_GE(factor, 0.5);
  EXPECT_LE(factor, 1.5);
  EXPECT_NE(factor, 1);
  // Hues keep the largest and the smallest channel; grey has none.
  const Tensor turned = colour_jitter({.hue = 0.5})({picture}, rng)[0];
  EXPECT_NEAR(max(abs(max(turned, {0}) - max(picture, {0}))).item(), 0, 1e-6);
  EXPECT_NEAR(max(abs(min(turned, {0}) - min(picture, {0}))).item(), 0, 1e-6);
  EXPECT_GT(max(abs(turned - picture)).item(), 0.01);
  EXPECT_EQ(done(colour_jitter({.saturation = 0.5, .hue = 0.3}), full({1, 2, 2}, 0.4)),
            std::vector<float>(4, 0.4f));
}

TEST(Augment, ErasesARectangle) {
  const std::vector<float> x =
      done(random_erasing({.p = 1, .area = {0.25, 0.25}, .ratio = {1, 1}, .value = 7}), zeros({2, 8, 8}));
  EXPECT_EQ(std::count(x.begin(), x.end(), 7.0f), 32);
  EXPECT_EQ(std::count(x.begin(), x.begin() + 64, 7.0f), 16);
}

TEST(Augment, NormalisesEachChannel) {
  EXPECT_THAT(done(normalise({1, 10}, {2, 4}), ramp({2, 1, 2}) * 10.0), ElementsAre(-0.5, 4.5, 2.5, 5));
  const std::vector<float> noise = done(gaussian_noise(0.5), zeros({1, 100, 100}));
  double squares = 0;
  for (const float v : noise) squares += static_cast<double>(v * v);
  EXPECT_NEAR(squares / 10000, 0.25, 0.02);
}

TEST(Augment, RefusesWhatItCannotDo) {
  EXPECT_THAT(error_of<ConfigError>([] { horizontal_flip(1.5); }), HasSubstr("probability of 1.5"));
  EXPECT_THAT(error_of<ConfigError>([] { random_affine({.scale = {2, 1}}); }), HasSubstr("scale of 2 to 1"));
  EXPECT_THAT(error_of<ConfigError>([] { normalise({0}, {0}); }), HasSubstr("normalise"));
  EXPECT_THAT(error_of<ShapeError>([] {
                done(random_crop({5, 5}), zeros({1, 4, 8}));
              }),
              HasSubstr("[1, 4, 8]"));
  EXPECT_THAT(error_of<ShapeError>([] { done(vertical_flip(1), zeros({4, 8})); }), HasSubstr("f32 [4, 8]"));
}

std::vector<Example> two_pictures() {
  return {{zeros({1, 4, 4}), full({}, 0.0, DType::i64)}, {ones({1, 4, 4}), full({}, 2.0, DType::i64)}};
}

// What is mixed into the inputs is mixed into the labels by the same share.
void expect_shares(const Collate& collate) {
  std::set<float> shares;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const Batch batch = collate(two_pictures(), rng);
    ASSERT_EQ(batch[1].shape(), (Shape{2, 3}));
    const std::vector<float> share = mean(batch[0], {1, 2, 3}).values<float>(), y = batch[1].values<float>();
    EXPECT_NEAR(y[2], share[0], 1e-5);
    EXPECT_NEAR(y[5], share[1], 1e-5);
    EXPECT_NEAR(y[0] + y[2], 1, 1e-5);
    EXPECT_EQ(y[1], 0);
    shares.insert(share[0]);
  }
  EXPECT_GT(shares.size(), 5u);
}

TEST(Mixing, MixesLabelsAsItMixesPictures) {
  expect_shares(mixup(1, 3));
  expect_shares(cutmix(1, 3));
  EXPECT_THAT(error_of<ConfigError>([] { mixup(0, 3); }), HasSubstr("alpha of 0"));
}

}  // namespace
}  // namespace veldt::data
