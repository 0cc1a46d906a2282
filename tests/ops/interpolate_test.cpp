// What a table of numbers does not show of interpolate().
#include "veldt/ops/interpolate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt {
namespace {

// In every rank; PyTorch's nearest does in two dimensions, and in three where channels come last.
TEST(Interpolate, NearestLeavesASideWhoseSizeStays) {
  const InterpolateOptions none_grows{.scale_factor = {1.3}};
  const Tensor picture = reshape(arange(6, DType::f32), {1, 1, 2, 3});
  EXPECT_EQ(interpolate(picture, none_grows).values<float>(), picture.values<float>());
  EXPECT_THAT(interpolate(picture, {.scale_factor = {2, 1.3}}).values<float>(),
              ::testing::ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  const Tensor volume = reshape(arange(18, DType::f32), {1, 1, 2, 3, 3});
  EXPECT_EQ(interpolate(volume, none_grows).values<float>(), volume.values<float>());
  EXPECT_EQ(interpolate(volume, {.scale_factor = {1, 1.3, 2}}).values<float>(),
            repeat_interleave(volume, 2, -1).values<float>());
}

}  // namespace
}  // namespace veldt
