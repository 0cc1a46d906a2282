// Modules one after the other: numbers, copies, and layers that are shared.
#include "veldt/nn/sequential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/ops/create.h"

namespace veldt::nn {
namespace {

TEST(Sequential, NumbersItsLayers) {
  const Sequential m(Linear(2, 8), Tanh(), Linear(8, 1));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : m.named_parameters()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("0.weight", "0.bias", "2.weight", "2.bias"));
}

TEST(Sequential, GrowsInALoop) {
  Sequential m;
  for (int i = 0; i < 3; ++i) m.add(Linear(4, 4)).add(ReLU());
  m.add(std::make_shared<Linear>(4, 2));
  EXPECT_EQ(m.size(), 7u);
  EXPECT_EQ(m(ones({5, 4})).shape(), (Shape{5, 2}));
}

TEST(Sequential, SharesParametersWithTheLayersGiven) {
  const Linear layer(2, 2);
  const Sequential m(layer, Tanh());
  EXPECT_EQ(m.parameters()[0].impl(), layer.weight().impl());
}

TEST(Sequential, OfOneSequentialIsACopyAndEmptyIsTheIdentity) {
  Sequential inner(Linear(2, 2));
  Sequential copy(inner);
  EXPECT_EQ(copy.named_parameters()[0].name, "0.weight");
  EXPECT_EQ(Sequential()(ones({3})).values<float>(), std::vector<float>(3, 1.0f));
}

TEST(Sequential, BracesDrawFromTheFirstLayerToTheLast) {
  seed(5);
  const Sequential at_once{Linear(3, 4), Linear(4, 2)};
  seed(5);
  Sequential in_turn;
  in_turn.add(Linear(3, 4)).add(Linear(4, 2));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(at_once.parameters()[i].values<float>(), in_turn.parameters()[i].values<float>());
}

TEST(Sequential, RefusesNullLayersAndPositionsBeyondTheEnd) {
  Sequential m;
  EXPECT_THROW(m.add(std::shared_ptr<Linear>()), Error);
  EXPECT_THROW(m[0], Error);
}

}  // namespace
}  // namespace veldt::nn
