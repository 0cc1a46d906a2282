// Networks that only run: the same results from fewer steps.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/onnx/make_model.h"
#include "veldt/onnx/network.h"
#include "veldt/ops/close.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {
namespace {

using namespace test;  // NOLINT: its names are those of messages

std::string noise(const char* name, const std::vector<std::int64_t>& dims, double low = 0.5) {
  static Rng rng(7);
  std::int64_t count = 1;
  for (const std::int64_t d : dims) count *= d;
  return floats(name, dims, rand({count}, rng, low, 1.5).values<float>());
}

Network picture_net(const std::vector<std::string>& nodes, const std::vector<std::string>& initializers) {
  return Network(parse_model(model(graph({.nodes = nodes,
                                          .initializers = initializers,
                                          .inputs = {value("x", {-1, 3, 6, 6})},
                                          .outputs = {value("y", {-1, 4, -1, -1})}})),
                             "x.onnx"));
}

// The operators that run for one input, and the results of both.
std::string steps_of(const Network& net) {
  const Network fast = net.frozen();
  Rng rng(3);
  const Tensor x = rand({2, 3, 6, 6}, rng);
  const NoGrad off;
  std::string steps;
  const Values out = fast.run({Value(x)}, [&](const Node& n, const Values&) { steps += n.op + ' '; });
  EXPECT_TRUE(allclose(out[0].tensor(), net(x), 1e-5, 1e-6));
  return steps;
}

TEST(OnnxFrozen, NormsGoIntoTheConvolution) {
  const Network net = picture_net(
      {node("Conv", {"x", "w"}, {"c"}), node("BatchNormalization", {"c", "s", "b", "m", "v"}, {"n"}),
       node("Relu", {"n"}, {"y"})},
      {noise("w", {4, 3, 3, 3}, -1), noise("s", {4}), noise("b", {4}), noise("m", {4}), noise("v", {4})});
  EXPECT_EQ(steps_of(net), "Conv Relu ");
}

TEST(OnnxFrozen, FactorsAndShiftsOfChannelsDoToo) {
  const Network net = picture_net(
      {node("Conv", {"x", "w", "b"}, {"c"}), node("Mul", {"f", "c"}, {"p"}), node("Add", {"p", "s"}, {"q"}),
       node("Sub", {"q", "one"}, {"r"}), node("Div", {"r", "f"}, {"y"})},
      {noise("w", {4, 3, 3, 3}, -1), noise("b", {4}), noise("f", {4, 1, 1}), noise("s", {1, 4, 1, 1}),
       noise("one", {})});
  EXPECT_EQ(steps_of(net), "Conv ");
}

// Two readers, a factor of places, a division by the convolution.
TEST(OnnxFrozen, WhatIsNotOfChannelsStays) {
  const std::vector<std::string> weights = {noise("w", {4, 3, 3, 3}, -1), noise("f", {4})};
  EXPECT_EQ(steps_of(picture_net({node("Conv", {"x", "w"}, {"c"}), node("Mul", {"c", "f"}, {"y"})}, weights)),
            "Conv Mul ")
      << "[4] is along the width";
  EXPECT_EQ(steps_of(picture_net({node("Conv", {"x", "w"}, {"c"}), node("Mul", {"c", "two"}, {"p"}),
                                  node("Add", {"p", "c"}, {"y"})},
                                 {noise("w", {4, 3, 3, 3}, -1), noise("two", {})})),
            "Conv Mul Add ");
  EXPECT_EQ(steps_of(picture_net({node("Conv", {"x", "w"}, {"c"}), node("Div", {"two", "c"}, {"y"})},
                                 {noise("w", {4, 3, 3, 3}), noise("two", {})})),
            "Conv Div ");
}

TEST(OnnxFrozen, ConstantsAreComputedOnce) {
  const Network net = picture_net(
      {node("Add", {"a", "a"}, {"w"}), node("Identity", {"w"}, {"v"}), node("Conv", {"x", "v"}, {"y"})},
      {noise("a", {4, 3, 3, 3})});
  EXPECT_EQ(steps_of(net), "Conv ");
}

// Small in the file, large as a result.
TEST(OnnxFrozen, WhatGrowsIsNotKept) {
  std::string shape = tensor("shape", 7, {2}, std::string("\0\0\1\0\0\0\0\0\x40\0\0\0\0\0\0\0", 16));
  const Network net(
      parse_model(model(graph({.nodes = {node("ConstantOfShape", {"shape"}, {"big"}),
                                         node("ReduceSum", {"big"}, {"s"}), node("Add", {"x", "s"}, {"y"})},
                               .initializers = {shape},
                               .inputs = {value("x", {1})},
                               .outputs = {value("y", {-1, -1})}})),
                  "x.onnx"));
  const NoGrad off;
  std::string steps;
  net.frozen().run({Value(zeros({1}))}, [&](const Node& n, const Values&) { steps += n.op + ' '; });
  EXPECT_EQ(steps, "ConstantOfShape ReduceSum Add ");
}

TEST(OnnxFrozen, KeepsItsWeightsAsTheyWere) {
  Network net = picture_net({node("Conv", {"x", "w"}, {"y"})}, {noise("w", {4, 3, 3, 3})});
  Network fast = net.frozen();
  EXPECT_TRUE(fast.named_parameters().empty());
  const NoGrad off;
  const Tensor before = fast(ones({1, 3, 6, 6}));
  EXPECT_FALSE(before.requires_grad());
  net.parameters()[0].assign(zeros({4, 3, 3, 3}));
  EXPECT_EQ(sum(net(ones({1, 3, 6, 6}))).item(), 0);
  EXPECT_TRUE(array_equal(fast(ones({1, 3, 6, 6})), before));
}

}  // namespace
}  // namespace veldt::onnx
