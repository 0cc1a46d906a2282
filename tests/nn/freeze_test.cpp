// What freeze() keeps: batch norms with their statistics; and which parameters an optimizer is given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "veldt/nn/activations.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/graph.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/ops/operators.h"

namespace veldt::nn {
namespace {

Sequential normed_network() {
  Rng rng(3);
  return Sequential{{"body", Sequential(Conv2d(3, 4, 3, rng), BatchNorm2d(4), ReLU())},
                    {"neck", Sequential(Conv2d(4, 4, 1, rng), BatchNorm2d(4))}};
}

Tensor pictures(std::uint64_t seed) {
  Rng rng(seed);
  return randn({4, 3, 6, 6}, rng, 2, 3);
}

std::vector<float> running_means(const Module& net, const std::string& prefix) {
  for (const NamedTensor& b : net.named_buffers())
    if (b.name == prefix + ".1.running_mean") return b.tensor.values<float>();
  return {};
}

TEST(Freeze, AFrozenBatchNormKeepsItsStatisticsInTraining) {
  Sequential net = normed_network();
  net(pictures(1));
  net.freeze("body");
  const auto body = running_means(net, "body"), neck = running_means(net, "neck");
  const Tensor before = net["body"](pictures(2));
  net(pictures(2));
  EXPECT_EQ(running_means(net, "body"), body);
  EXPECT_NE(running_means(net, "neck"), neck);
  net.eval();
  EXPECT_EQ(max(abs(net["body"](pictures(2)) - before)).item(), 0);  // as in evaluation
}

TEST(Freeze, UnfrozenItLearnsAgain) {
  Sequential net = normed_network();
  net.freeze();
  EXPECT_TRUE(net.frozen());
  const auto before = running_means(net, "body");
  net(pictures(1));
  EXPECT_EQ(running_means(net, "body"), before);
  net.requires_grad(true);
  EXPECT_FALSE(net.frozen());
  net(pictures(1));
  EXPECT_NE(running_means(net, "body"), before);
}

// As in torch: what only gets no gradients is in training all the same.
TEST(Freeze, RequiresGradAloneLeavesTheStatisticsLearning) {
  Sequential net = normed_network();
  net.requires_grad(false, "body");
  const auto before = running_means(net, "body");
  net(pictures(1));
  EXPECT_NE(running_means(net, "body"), before);
}

// As in torch: only what it has learned stays.
TEST(Freeze, DropoutGoesOnInAFrozenPart) {
  Rng rng(3);
  Sequential net{{"body", Sequential(Dropout(0.5, rng))}};
  net.freeze();
  EXPECT_NE(max(abs(net(ones({100})) - 1)).item(), 0);
  net.eval();
  EXPECT_EQ(max(abs(net(ones({100})) - 1)).item(), 0);
}

TEST(Freeze, ACloneIsFrozenToo) {
  Sequential net = normed_network();
  net.freeze("body");
  const Sequential copy = clone(net);
  const auto before = running_means(copy, "body");
  copy(pictures(1));
  EXPECT_EQ(running_means(copy, "body"), before);
}

TEST(Freeze, TrainedParametersAreTheOthers) {
  Sequential net = normed_network();
  EXPECT_EQ(net.trained_parameters().size(), 8u);
  net.freeze("body");
  const NamedTensors left = net.trained_parameters();
  ASSERT_EQ(left.size(), 4u);
  EXPECT_EQ(left[0].name, "neck.0.weight");
  EXPECT_EQ(net.trained_parameters("neck.1").size(), 2u);
  EXPECT_EQ(net.trained_parameters("nec").size(), 0u);
  EXPECT_EQ(net.named_parameters().size(), 8u);
}

TEST(Freeze, StochasticDepthLeavesOutWholeExamples) {
  Rng rng(5);
  StochasticDepth layer(0.25, rng);
  const Tensor y = layer(ones({1000, 2, 3}));
  const std::vector<float> sums = sum(y, {1, 2}).values<float>();
  int kept = 0;
  for (const float s : sums) {
    EXPECT_TRUE(s == 0 || std::abs(s - 6 / 0.75F) < 1e-4F) << s;
    kept += s > 0 ? 1 : 0;
  }
  EXPECT_NEAR(kept, 750, 50);
  layer.eval();
  EXPECT_EQ(max(abs(layer(ones({3, 2})) - 1)).item(), 0);
}

// A graph may hold one module under no name of its own, so that its parameters keep theirs.
TEST(Freeze, AnEmptyNameAddsNothingToThoseBelowIt) {
  Graph graph;
  graph.add("", normed_network(), {0});
  EXPECT_EQ(graph.named_parameters()[0].name, "body.0.weight");
  graph.freeze("body");
  EXPECT_EQ(graph.trained_parameters().size(), 4u);
  EXPECT_TRUE(graph.load_state_dict(normed_network().state_dict()).complete());
  try {
    graph(zeros({1, 5, 6, 6}));
    ADD_FAILURE() << "took five channels";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("in body.0 (Conv2d"));
  }
}

}  // namespace
}  // namespace veldt::nn
