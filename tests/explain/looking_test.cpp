// Filters as tiles, and the inputs that drive a channel.
#include "veldt/explain/looking.h"

#include <gtest/gtest.h>

#include "veldt/core/error.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"

namespace veldt::explain {
namespace {

TEST(ExplainLooking, FiltersAreTilesOnOneScale) {
  const nn::Conv2d layer(1, 3, 2, {.bias = false});
  Tensor(layer.weight()).detach().assign(Tensor::of({3, 1, 2, 2}, {4, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, -4}));
  const Tensor picture = first_layer_filters(layer);
  ASSERT_EQ(picture.shape(), (Shape{7, 7, 1}));  // two by two tiles of two pixels, and lines
  EXPECT_FLOAT_EQ(picture(1, 1, 0).item<float>(), 1);
  EXPECT_FLOAT_EQ(picture(1, 5, 0).item<float>(), 0.75F);
  EXPECT_FLOAT_EQ(picture(5, 2, 0).item<float>(), 0);
  EXPECT_FLOAT_EQ(picture(0, 0, 0).item<float>(), 0.5F);
  EXPECT_EQ(first_layer_filters(nn::Conv2d(3, 5, 4)).shape(), (Shape{11, 16, 3}));
  EXPECT_EQ(first_layer_filters(nn::Conv2d(2, 2, 3)).shape(), (Shape{9, 9, 1}));
  EXPECT_THROW(first_layer_filters(nn::Identity()), ConfigError);
}

TEST(ExplainLooking, TheMostActivatingInputsComeFirst) {
  nn::Sequential net{nn::Identity()};
  int batch = 0;
  const auto next = [&]() -> Tensor {
    if (batch == 3) return {};
    const Tensor x = zeros({2, 2, 2, 2});
    Tensor(x(1, 1, 1, 0)).assign(full({}, ++batch == 2 ? 9 : batch));
    return x;
  };
  const std::vector<Activation> found = most_activating(net, net[0], 1, next, 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].value, 9);
  EXPECT_EQ(found[0].index, 3);
  EXPECT_EQ(found[0].place, 2);
  EXPECT_EQ(found[1].index, 5);
  batch = 0;
  EXPECT_THROW(most_activating(net, net[0], 2, next), ConfigError);
  EXPECT_THROW(most_activating(net, net[0], 0, next, 0), ConfigError);
}

}  // namespace
}  // namespace veldt::explain
