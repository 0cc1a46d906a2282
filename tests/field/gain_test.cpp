// The estimated gain of a redraw without the truth.
#include "veldt/field/gain.h"

#include <gtest/gtest.h>

#include "tests/field/pictures.h"
#include "veldt/core/rng.h"
#include "veldt/data/resample.h"
#include "veldt/field/prior.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::field {
namespace {

// Of the redraw itself.
double told(const Tensor& picture) {
  const Prior prior = load_prior(VELDT_SOURCE "/assets/prior.safetensors");
  const Tensor drawn = contiguous(permute(redraw(prior, contiguous(permute(picture, {2, 0, 1}))), {1, 2, 0}));
  return expected_gain(Signal(picture), prior, drawn, drawn).value();
}

TEST(ExpectedGain, OfContoursIsLargeAndOfNoiseSmall) {
  const Tensor disc = test::draw(192, 192, 1, [](double x, double y, int) {
    return std::hypot(x - 90, y - 97) < 60 || std::abs(x - y) < 9 ? 0.1 : 0.9;
  });
  EXPECT_GT(told(data::resample(disc, {48, 48}, data::Filter::area)), 3);
  Rng rng(3);
  for (const double width : {0.4, 1.5}) {
    const Tensor noise = clamp(affine(rand({40, 40, 3}, rng), width, 0.5 - width / 2), 0, 1);
    EXPECT_LT(told(noise), 1) << width;
    EXPECT_GT(told(noise), -0.1) << width;
  }
}

}  // namespace
}  // namespace veldt::field
