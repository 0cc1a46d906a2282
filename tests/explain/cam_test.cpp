// Class activation maps of networks whose maps are known.
#include "veldt/explain/cam.h"

#include <gtest/gtest.h>

#include "tests/explain/networks.h"
#include "veldt/core/error.h"
#include "veldt/nn/containers.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::explain {
namespace {

TEST(ExplainCam, OfMeansThatAreWeighedIsCam) {
  // Means of planes, and a linear layer: the gradient of each place is weight / places (Zhou et al. 2016).
  Rng rng(1);
  nn::Sequential net{nn::Conv2d(1, 3, 3, {.padding = 1}, rng), nn::ReLU(), nn::Lambda([](const Tensor& x) {
                       return mean(x, {2, 3});
                     }),
                     nn::Linear(3, 2, rng)};
  const Tensor x = randn({2, 1, 5, 4}, rng), planes = net[1](net[0](x)).detach();
  const Tensor weights = reshape(static_cast<nn::Linear&>(net[3]).weight().detach()[1], {1, 3, 1, 1}) / 20.0;
  const Tensor wanted = sum(weights * planes, {1}, true);
  const Tensor found = grad_cam(net, net[1], x, {1}, {.relu = false});
  ASSERT_EQ(found.shape(), (Shape{2, 1, 5, 4}));
  EXPECT_LT(max(abs(found - wanted)).item(), 1e-6);
  EXPECT_LT(max(abs(grad_cam(net, net[1], x, {1}) - relu(wanted))).item(), 1e-6);
  EXPECT_GE(min(grad_cam_plus_plus(net, net[1], x, {1})).item(), 0);
}

TEST(ExplainCam, PlusPlusWeighsPlacesByPowersOfGradients) {
  // Planes (2, 4) whose gradients are (3, -1): the share of the first is 9 / (2 9 + (2 + 4) 27) = 0.05, its
  // weight 3 0.05, and the second's is 0.
  const nn::Sequential net{nn::Identity(), nn::Lambda([](const Tensor& x) {
                             return reshape(sum(x * Tensor::of({1, 1, 1, 2}, {3, -1}), {1, 2, 3}), {1, 1});
                           })};
  const Tensor found = grad_cam_plus_plus(net, net[0], Tensor::of({1, 1, 1, 2}, {2, 4}));
  EXPECT_NEAR(found(0, 0, 0, 0).item(), 0.3, 1e-6);
  EXPECT_NEAR(found(0, 0, 0, 1).item(), 0.6, 1e-6);
}

TEST(ExplainCam, FindsTheLastConvolution) {
  Rng rng(2);
  const nn::Sequential net = picture_network(rng);
  EXPECT_EQ(last_convolution(net, randn({1, 3, 12, 12}, rng)).name, "4");  // after the relu, before the pool
  const nn::Sequential none{nn::Flatten(), nn::Linear(4, 2, rng)};
  EXPECT_THROW(last_convolution(none, ones({1, 1, 2, 2})), ConfigError);
}

TEST(ExplainCam, RefusesLayersWithoutAMap) {
  Rng rng(3);
  const nn::Sequential net = picture_network(rng);
  const Tensor x = randn({1, 3, 12, 12}, rng);
  EXPECT_THROW(grad_cam(net, net[7], x, {0}), ShapeError);
  nn::Conv2d twice(3, 3, 1, rng);
  const nn::Lambda shared([&](const Tensor& t) { return mean(twice(twice(t)), {2, 3}); });
  EXPECT_THROW(grad_cam(shared, twice, x, {0}), ConfigError);
  nn::Conv2d stranger(1, 1, 1, rng);
  EXPECT_THROW(grad_cam(net, stranger, x, {0}), ConfigError);
}

}  // namespace
}  // namespace veldt::explain
