// A network that looks at one pixel: only windows over it count.
#include "veldt/explain/occlusion.h"

#include <gtest/gtest.h>

#include "veldt/core/error.h"
#include "veldt/nn/containers.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::explain {
namespace {

TEST(ExplainOcclusion, FindsThePixelThatIsLookedAt) {
  const nn::Lambda net([](const Tensor& x) { return reshape(x(Slice{}, 0, 2, 3), {-1, 1}) * 5.0; });
  const Tensor x = ones({1, 2, 5, 6});
  const Tensor found = occlusion(net, x, {0}, {.window = 1, .stride = 1});
  ASSERT_EQ(found.shape(), (Shape{1, 1, 5, 6}));
  EXPECT_EQ(found(0, 0, 2, 3).item(), 5);
  EXPECT_EQ(sum(found).item(), 5);
  // Windows that hang over the edge, and the mean of those that cover a pixel.
  const Tensor wide = occlusion(net, x, {0}, {.window = 4, .stride = 3});
  EXPECT_EQ(wide(0, 0, 0, 0).item(), 5);
  EXPECT_EQ(wide(0, 0, 0, 5).item(), 5);
  EXPECT_EQ(wide(0, 0, 4, 0).item(), 0);
  // What it is covered with, and that it can be stopped.
  EXPECT_EQ(occlusion(net, x, {0}, {.window = 1, .stride = 1, .cover = full({1}, 2)})(0, 0, 2, 3).item(), -5);
  EXPECT_FALSE(occlusion(net, x, {0}, {.heard = [](auto, auto) { return false; }}).defined());
}

TEST(ExplainOcclusion, RefusesOtherWindows) {
  const nn::Lambda net([](const Tensor& x) { return mean(x, {2, 3}); });
  const Tensor x = ones({1, 1, 4, 8});
  EXPECT_THROW(occlusion(net, x, {0}, {.window = 5}), ConfigError);
  EXPECT_THROW(occlusion(net, x, {0}, {.window = 2, .stride = 3}), ConfigError);
  EXPECT_THROW(occlusion(net, x, {0}, {.window = -1}), ConfigError);
  EXPECT_THROW(occlusion(net, ones({4, 8}), {0}), ShapeError);
}

}  // namespace
}  // namespace veldt::explain
