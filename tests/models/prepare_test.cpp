// Pictures as networks take them: resized, cut, normalised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "veldt/models/model_file.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::models {
namespace {

TEST(Prepare, TakesTheMiddleOfThePictureAndNormalisesIt) {
  const Preprocessing p{
      .shorter_side = 8, .height = 4, .width = 6, .mean = {0.5, 0, 0}, .deviation = {0.25, 1, 2}};
  // A ramp from left to right, of the size to which it would be resized.
  Tensor picture = zeros({8, 12, 3});
  for (std::int64_t x = 0; x < 12; ++x)
    for (std::int64_t c = 0; c < 3; ++c)
      select(select(picture, 1, x), 1, c).assign(full({8}, static_cast<double>(x) / 16));
  const Tensor out = prepare(p, picture);
  EXPECT_EQ(out.shape(), (Shape{1, 3, 4, 6}));
  const std::vector<float> values = out.values<float>();
  for (std::size_t x = 0; x < 6; ++x) {
    const double pixel = (static_cast<double>(x) + 3) / 16;
    EXPECT_NEAR(values[x], (pixel - 0.5) / 0.25, 1e-5);
    EXPECT_NEAR(values[24 + x], pixel, 1e-5);
    EXPECT_NEAR(values[48 + x], pixel / 2, 1e-5);
  }
}

TEST(Prepare, ResizesTheShorterSideAndKeepsTheProportion) {
  const Preprocessing p{.shorter_side = 10, .height = 10, .width = 10, .mean = {0}, .deviation = {1}};
  const Tensor bright = ones({40, 25, 3});  // to 16 x 10
  const Tensor out = prepare(p, bright);
  EXPECT_EQ(out.shape(), (Shape{1, 1, 10, 10}));
  EXPECT_NEAR(max(abs(out - 1)).item(), 0, 1e-6);
}

// 694 * (256 / 347) is a little less than 512 in floating point.
TEST(Prepare, SidesAreWholeNumbers) {
  const Preprocessing p{.shorter_side = 256, .height = 4, .width = 508, .mean = {0}, .deviation = {1}};
  Tensor ramp = zeros({347, 694, 1});
  const Tensor line = reshape(arange(694, DType::f32) / 694.0, {1, 694, 1});
  ramp.assign(expand(line, {347, 694, 1}));
  const std::vector<float> values = prepare(p, ramp).values<float>();
  for (const std::size_t x : {std::size_t{10}, std::size_t{490}}) {
    const double place = (static_cast<double>(x) + 2 + 0.5) * 694 / 512 - 0.5;  // two columns are cut off
    EXPECT_NEAR(values[x], place / 694, 2e-4) << x;
  }
}

TEST(Prepare, ANetworksOwnSizeFollowsItsOptions) {
  Rng rng(1);
  const Model model = make_model("mobilenet_v3_small", {{"width", 0.25}, {"in_channels", 1}}, rng);
  EXPECT_EQ(model.preprocessing.mean.size(), 1u);
  EXPECT_NEAR(model.preprocessing.mean[0], (0.485 + 0.456 + 0.406) / 3, 1e-9);
  EXPECT_EQ(prepare(model.preprocessing, ones({300, 400, 4})).shape(), (Shape{1, 1, 224, 224}));
}

}  // namespace
}  // namespace veldt::models
