// Layers that change sizes: what they are called, their place in a network, and that a Plan records them.
#include "veldt/nn/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Resize, LeadsFromSmallPicturesToLargeOnes) {
  const Sequential model{Pad({1, 1, 1, 1}, PadMode::reflect),
                         Conv2d(2, 8, 3),
                         PixelShuffle(2),
                         Upsample({.scale_factor = {1.5, 2}, .mode = Interpolation::linear}),
                         Upsample({.size = 24, .mode = Interpolation::cubic, .align_corners = true}),
                         Pad({0, 1}, 0.5),
                         Pad({0, 1}),
                         PixelUnshuffle(2)};
  EXPECT_EQ(model(zeros({5, 2, 4, 6})).shape(), (Shape{5, 8, 12, 13}));
  EXPECT_THAT(model.description(),
              testing::AllOf(HasSubstr("Pad([1, 1, 1, 1], reflect)"), HasSubstr("PixelShuffle(2)"),
                             HasSubstr("Upsample(by [1.5, 2], linear)"),
                             HasSubstr("Upsample(size [24], cubic, corners aligned)"),
                             HasSubstr("Pad([0, 1], 0.5)"), HasSubstr("PixelUnshuffle(2)")));
}

TEST(Resize, PadsByAValueOrByWhatIsThere) {
  const Tensor x = Tensor::of({3}, {1, 2, 3});
  EXPECT_THAT(Pad({1, 0})(x).values<float>(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Pad({1, 0}, -1)(x).values<float>(), ElementsAre(-1, 1, 2, 3));
  EXPECT_THAT(Pad({1, 0}, PadMode::zeros)(x).values<float>(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Pad({1, 0}, PadMode::reflect)(x).values<float>(), ElementsAre(2, 1, 2, 3));
  EXPECT_THAT(Pad({1, 0}, PadMode::replicate)(x).values<float>(), ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(Pad({1, 0}, PadMode::circular)(x).values<float>(), ElementsAre(3, 1, 2, 3));
}

TEST(Resize, IsRecordedWithItsGradient) {
  Tensor x = Tensor::of({1, 1, 2, 2}, {1, 2, 3, 4}).set_requires_grad();
  const auto step = [&] {
    x.zero_grad();
    sum(square(interpolate(x, {.scale_factor = {2}, .mode = Interpolation::linear}))).backward();
  };
  step();
  const std::vector<float> eager = x.grad().values<float>();
  Plan plan(step);
  x.assign(zeros({1, 1, 2, 2}));
  plan.replay();
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(0, 0, 0, 0));
  x.assign(Tensor::of({1, 1, 2, 2}, {1, 2, 3, 4}));
  plan.replay();
  EXPECT_EQ(x.grad().values<float>(), eager);
}

TEST(Resize, SaysInWhichLayerASizeDoesNotFit) {
  EXPECT_THAT(test::error_of<ShapeError>([] {
                PixelShuffle(2)(zeros({1, 3, 4, 4}));
              }),
              HasSubstr("PixelShuffle(2)"));
}

}  // namespace
}  // namespace veldt::nn
