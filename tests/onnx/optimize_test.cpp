// Networks that only run: the same results from fewer steps, for all that a Conv and what follows it can be.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/onnx/make_model.h"
#include "tests/support/temp_dir.h"
#include "tests/support/threads_scope.h"
#include "veldt/onnx/export.h"
#include "veldt/onnx/frozen_convolution.h"
#include "veldt/onnx/network.h"
#include "veldt/ops/close.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"
#include "veldt/tensor/profile.h"

namespace veldt::onnx {
namespace {

using namespace test;  // NOLINT: its names are those of messages
using veldt::test::ThreadsScope;

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
  EXPECT_EQ(steps_of(net), "Conv ");
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

std::string signed_noise(const char* name, const std::vector<std::int64_t>& dims) {
  static Rng rng(11);
  std::int64_t count = 1;
  for (const std::int64_t d : dims) count *= d;
  return floats(name, dims, rand({count}, rng, -1, 1).values<float>());
}
std::string number(const char* name, float value) { return floats(name, {}, {value}); }

// x of any sizes -> y, and what else is named.
Network net_of(const std::vector<std::string>& nodes, const std::vector<std::string>& initializers,
               const std::vector<std::string>& outputs = {"y"}, std::int64_t opset = 17,
               const std::vector<std::string>& inputs = {"x"}) {
  GraphParts parts{.nodes = nodes, .initializers = initializers};
  for (const std::string& name : inputs) parts.inputs.push_back(plain_value(name));
  for (const std::string& name : outputs) parts.outputs.push_back(plain_value(name));
  return Network(parse_model(model(graph(parts), {}, opset), "x.onnx"));
}

const std::vector<std::string> kWeights = {signed_noise("w", {4, 3, 3, 3}), signed_noise("b", {4}),
                                           number("low", -0.25F), number("high", 0.5F)};
const std::string kConv = node("Conv", {"x", "w", "b"}, {"c"}, {list_attribute("pads", {1, 1, 1, 1})});
// From 3 channels to 4, and from these to 4 again.
const std::vector<std::string> kTwoWeights = {
    signed_noise("w", {4, 3, 3, 3}), signed_noise("v", {4, 4, 1, 1}), signed_noise("u", {4, 3, 1, 1})};

Tensor picture(std::int64_t n = 2, std::int64_t height = 9, std::int64_t width = 7,
               std::int64_t channels = 3) {
  static Rng rng(5);
  return randn({n, channels, height, width}, rng);
}

// The operators that run, after its results were held against the plain network's.
std::string frozen_steps(const Network& net, const Values& inputs = {Value(picture())}) {
  const NoGrad off;
  std::string steps;
  const Values got = net.frozen().run(inputs, [&](const Node& n, const Values&) { steps += n.op + ' '; });
  const Values want = net.run(inputs);
  EXPECT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(allclose(got[i].tensor(), want[i].tensor(), 1e-5, 1e-5)) << steps << i;
  return steps;
}

TEST(OnnxFrozenConvolution, TakesInTheBoundsThatFollow) {
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Relu", {"c"}, {"y"})}, kWeights)), "Conv ");
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Clip", {"c", "low", "high"}, {"y"})}, kWeights)), "Conv ");
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Clip", {"c", "low"}, {"y"})}, kWeights)), "Conv ");
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Clip", {"c", "", "high"}, {"y"})}, kWeights)), "Conv ");
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Clip", {"c"}, {"y"})}, kWeights)), "Conv ");
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Clip", {"c"}, {"y"},
                                             {float_attribute("min", -0.25F), float_attribute("max", 0.5F)})},
                                kWeights, {"y"}, 10)),
            "Conv ");
}

// Bounds that no one knows yet, bounds the wrong way round, and a second pair.
TEST(OnnxFrozenConvolution, LeavesOtherBounds) {
  const Network given =
      net_of({kConv, node("Clip", {"c", "bound"}, {"y"})}, kWeights, {"y"}, 17, {"x", "bound"});
  EXPECT_EQ(frozen_steps(given, {Value(picture()), Value(full({}, 0.1))}), "Conv Clip ");
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Clip", {"c", "high", "low"}, {"y"})}, kWeights)), "Conv Clip ");
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Relu", {"c"}, {"r"}), node("Clip", {"r", "", "high"}, {"y"})},
                                kWeights)),
            "Conv Clip ");
}

TEST(OnnxFrozenConvolution, TakesInWhatIsAdded) {
  const std::string first = node("Conv", {"x", "w"}, {"c"}, {list_attribute("pads", {1, 1, 1, 1})});
  const std::string second = node("Conv", {"r", "v"}, {"d"}), side = node("Conv", {"x", "u"}, {"s"});
  EXPECT_EQ(frozen_steps(net_of({first, node("Relu", {"c"}, {"r"}), second, node("Add", {"r", "d"}, {"y"})},
                                kTwoWeights)),
            "Conv Conv ");
  // As a residual network has it: two convolutions are added, the one that is computed later takes the other.
  EXPECT_EQ(frozen_steps(net_of({first, node("Relu", {"c"}, {"r"}), second, side,
                                 node("Add", {"d", "s"}, {"a"}), node("Relu", {"a"}, {"y"})},
                                kTwoWeights)),
            "Conv Conv Conv ");
  EXPECT_EQ(
      frozen_steps(net_of({side, first, node("Relu", {"c"}, {"r"}), second, node("Add", {"s", "d"}, {"a"}),
                           node("Clip", {"a"}, {"z"}), node("Add", {"z", "r"}, {"y"})},
                          kTwoWeights)),
      "Conv Conv Conv Add ")
      << "an Add after bounds";
  EXPECT_EQ(frozen_steps(net_of({first, node("Add", {"c", "c"}, {"y"})}, kTwoWeights)), "Conv Add ")
      << "itself";
}

// Only the sizes tell that this is broadcast.
TEST(OnnxFrozenConvolution, AddsWhatIsBroadcast) {
  const Network net = net_of({kConv, node("Add", {"more", "c"}, {"a"}), node("Relu", {"a"}, {"y"})}, kWeights,
                             {"y"}, 17, {"x", "more"});
  for (const Shape& shape : {Shape{2, 4, 9, 7}, Shape{4, 1, 1}, Shape{1, 1, 9, 7}, Shape{3, 1, 4, 9, 7}}) {
    const Tensor x = shape.rank() == 5 ? picture(1) : picture();
    EXPECT_EQ(frozen_steps(net, {Value(x), Value(randn(shape))}), "Conv ") << shape;
  }
}

TEST(OnnxFrozenConvolution, IsAloneIfOthersReadIt) {
  EXPECT_EQ(frozen_steps(net_of({kConv, node("Relu", {"c"}, {"y"})}, kWeights, {"y", "c"})), "Conv Relu ");
  EXPECT_EQ(
      frozen_steps(net_of({kConv, node("Relu", {"c"}, {"r"}), node("Sub", {"r", "c"}, {"y"})}, kWeights)),
      "Conv Relu Sub ");
}

// Every op reads what lies in memory with its channels last.
TEST(OnnxFrozenConvolution, IsReadByAnyOperator) {
  const std::vector<std::string> window = {list_attribute("kernel_shape", {2, 2})};
  frozen_steps(net_of({kConv, node("MaxPool", {"c"}, {"y"}, window)}, kWeights));
  frozen_steps(net_of({kConv, node("AveragePool", {"c"}, {"y"}, window)}, kWeights));
  frozen_steps(
      net_of({kConv, node("GlobalAveragePool", {"c"}, {"p"}), node("Flatten", {"p"}, {"y"})}, kWeights));
  frozen_steps(net_of({kConv, node("Flatten", {"c"}, {"y"})}, kWeights));
  frozen_steps(net_of({kConv, node("Transpose", {"c"}, {"y"})}, kWeights));
  frozen_steps(net_of({kConv, node("Concat", {"c", "x"}, {"y"}, {int_attribute("axis", 1)})}, kWeights));
  frozen_steps(net_of({kConv, node("Softmax", {"c"}, {"y"}, {int_attribute("axis", 1)})}, kWeights));
  frozen_steps(net_of({kConv, node("HardSwish", {"c"}, {"h"}), node("Mul", {"h", "c"}, {"y"})}, kWeights));
}

struct Case {
  std::int64_t in, out, groups;
  std::vector<std::int64_t> kernel, strides, dilations, pads;
};

// Odd sizes, all of the attributes, one network for batches and pictures of many sizes, on 1 to 3 threads.
TEST(OnnxFrozenConvolution, IsTheConvolutionOfAnySizes) {
  const Case cases[] = {
      {3, 5, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},    {3, 17, 1, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {32, 33, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},  {16, 24, 1, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {5, 7, 1, {1, 1}, {1, 1}, {1, 1}, {3, 3, 3, 3}},    {24, 24, 24, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {13, 13, 13, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}}, {6, 12, 6, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {8, 12, 4, {3, 1}, {1, 2}, {1, 1}, {1, 0, 1, 0}},   {4, 4, 1, {3, 3}, {1, 1}, {2, 3}, {2, 3, 2, 3}},
      {4, 6, 2, {2, 3}, {2, 1}, {1, 2}, {0, 1, 1, 2}},    {1, 1, 1, {7, 7}, {3, 3}, {1, 1}, {3, 3, 3, 3}},
      {64, 96, 1, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
  };
  const ThreadsScope scope;
  const NoGrad off;
  for (const Case& c : cases) {
    const std::string conv =
        node("Conv", {"x", "w", "b"}, {"c"},
             {list_attribute("strides", c.strides), list_attribute("dilations", c.dilations),
              list_attribute("pads", c.pads), int_attribute("group", c.groups)});
    const Network net = net_of(
        {conv, node("Relu", {"c"}, {"y"})},
        {signed_noise("w", {c.out, c.in / c.groups, c.kernel[0], c.kernel[1]}), signed_noise("b", {c.out})});
    const Network fast = net.frozen();
    for (int turn = 0; turn < 2; ++turn)
      for (const std::int64_t n : {1, 2, 3, 5, 1})
        for (const auto& [height, width] : {std::pair<int, int>{11, 11}, {28, 15}, {8, 31}}) {
          set_num_threads(turn + static_cast<int>(n % 2) + 1);
          const Tensor x = picture(n, height, width, c.in), got = fast(x);
          EXPECT_TRUE(allclose(got, net(x), 1e-4, 1e-4)) << c.in << " to " << c.out << ", " << x.shape();
          EXPECT_TRUE(array_equal(fast(x), got)) << "the same bits";
        }
  }
}

TEST(OnnxFrozenConvolution, PadsAsTheNodeSays) {
  for (const char* way : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    frozen_steps(net_of({node("Conv", {"x", "w"}, {"y"},
                              {text_attribute("auto_pad", way), list_attribute("strides", {2, 3})})},
                        kWeights));
  frozen_steps(net_of({node("Conv", {"x", "w"}, {"y"}, {list_attribute("pads", {-1, 0, 0, 1})})}, kWeights));
}

TEST(OnnxFrozenConvolution, OfOtherDimensionsIsPlain) {
  const Network line =
      net_of({node("Conv", {"x", "w"}, {"c"}), node("Relu", {"c"}, {"y"})}, {signed_noise("w", {4, 3, 3})});
  EXPECT_EQ(frozen_steps(line, {Value(randn({2, 3, 9}))}), "Conv ");
  const Network space = net_of({node("Conv", {"x", "w"}, {"c"}), node("Relu", {"c"}, {"y"})},
                               {signed_noise("w", {4, 3, 2, 2, 2})});
  EXPECT_EQ(frozen_steps(space, {Value(randn({2, 3, 4, 5, 6}))}), "Conv ");
}

TEST(OnnxFrozenConvolution, OfOtherDtypesIsPlain) {
  for (const DType dtype : {DType::f64, DType::bf16}) {
    Network net = net_of({kConv, node("Relu", {"c"}, {"y"})}, kWeights);
    net.to(dtype);
    const NoGrad off;
    const Tensor x = to(picture(), dtype), y = net.frozen()(x);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_TRUE(array_equal(y, net(x)));
  }
}

TEST(OnnxFrozenConvolution, HasTheErrorsOfTheOperator) {
  const Network net = net_of({kConv, node("Relu", {"c"}, {"y"})}, kWeights);
  EXPECT_THROW(net.frozen()(picture(2, 9, 7, 4)), Error);
  EXPECT_THROW(net_of({node("Conv", {"x", "w"}, {"y"}, {list_attribute("kernel_shape", {2, 2})})}, kWeights)
                   .frozen()(picture()),
               Error);
  EXPECT_THROW(net_of({node("Conv", {"x", "w"}, {"y"})}, kWeights).frozen()(picture(1, 2, 2)), Error);
}

TEST(OnnxFrozenConvolution, LetsGradientsThrough) {
  const Network net = net_of({kConv, node("Relu", {"c"}, {"y"})}, kWeights), fast = net.frozen();
  const Tensor values = picture();
  const auto gradient = [&](const Network& of) {
    Tensor x = clone(values).set_requires_grad();
    return grad(sum(square(of(x))), {x})[0];
  };
  EXPECT_TRUE(allclose(gradient(fast), gradient(net), 1e-4, 1e-4));
}

TEST(OnnxFrozenConvolution, RunsOnSeveralThreadsAtOnce) {
  const Network net =
      net_of({node("Conv", {"x", "w"}, {"c"}, {list_attribute("pads", {1, 1, 1, 1})}),
              node("Relu", {"c"}, {"r"}), node("Conv", {"r", "v"}, {"d"}), node("Add", {"r", "d"}, {"y"})},
             kTwoWeights);
  const Network fast = net.frozen();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      const NoGrad off;
      Rng rng(t);
      for (int i = 0; i < 20; ++i) {
        const Tensor x = randn({1 + i % 3, 3, 30 + i, 40}, rng);
        wrong[t] += allclose(fast(x), net(x), 1e-4, 1e-4) ? 0 : 1;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

// The first steps may run for a few examples at a time: here 11 are 8 and 3, for 2 threads.
TEST(OnnxFrozenConvolution, OfLargeBatchesIsThatOfTheirExamples) {
  const ThreadsScope scope(2);
  const NoGrad off;
  const std::vector<std::string> window = {list_attribute("kernel_shape", {3, 3}),
                                           list_attribute("strides", {2, 2})};
  std::vector<std::string> weights = kWeights;
  weights.push_back(signed_noise("each", {11, 1, 1, 1}));
  weights.push_back(signed_noise("first", {1, 4, 96, 96}));
  weights.push_back(signed_noise("m", {4, 6}));
  const std::string pool = node("MaxPool", {"r"}, {"p"}, window), relu = node("Relu", {"c"}, {"r"});
  const std::string flat = node("Flatten", {"g"}, {"f"}), mean = node("GlobalAveragePool", {"p"}, {"g"});
  const auto along = [](std::int64_t axis) { return int_attribute("axis", axis); };
  struct {
    std::vector<std::string> nodes;
    bool any_batch = true;
  } const nets[] = {
      {{kConv, relu, pool, mean, flat, node("MatMul", {"f", "m"}, {"y"})}},
      {{kConv, relu, pool, node("Sigmoid", {"p"}, {"s"}), node("Mul", {"s", "p"}, {"y"})}},
      {{kConv, relu, pool, mean, node("Sub", {"p", "g"}, {"y"})}},
      {{kConv, relu, node("Concat", {"r", "x"}, {"y"}, {along(-3)})}},
      // The rest mixes examples, or numbers them.
      {{kConv, relu, node("Mul", {"r", "each"}, {"y"})}, false},
      {{kConv, node("Add", {"c", "each"}, {"y"})}, false},
      {{kConv, node("Add", {"c", "first"}, {"y"})}},
      {{kConv, relu, node("Concat", {"r", "r"}, {"y"}, {along(0)})}},
      {{kConv, relu, node("Concat", {"r", "r"}, {"y"}, {along(-4)})}},
      {{kConv, relu, pool, node("Softmax", {"p"}, {"y"}, {along(0)})}},
      {{kConv, relu, pool, node("Flatten", {"p"}, {"f"}, {along(0)}), node("Relu", {"f"}, {"y"})}},
  };
  for (const auto& [nodes, any_batch] : nets) {
    const Network net = net_of(nodes, weights), fast = net.frozen();
    for (const std::int64_t n : {11, 8, 1}) {
      if (n != 11 && !any_batch) continue;
      const Tensor x = picture(n, 96, 96);
      EXPECT_TRUE(allclose(fast(x), net(x), 1e-5, 1e-5)) << net.model().graph.nodes.back().op << ' ' << n;
    }
  }
}

// What is in a convolution's pass already is not taken for its weights.
TEST(OnnxFrozenConvolution, MayBeFrozenAgain) {
  const NoGrad off;
  const Tensor x = picture();
  const std::string relu = node("Relu", {"c"}, {"r"});
  for (const std::string& after :
       {node("Mul", {"r", "high"}, {"y"}), node("Clip", {"r", "", "high"}, {"y"})}) {
    const Network net = net_of({kConv, relu, after}, kWeights);
    EXPECT_TRUE(allclose(net.frozen().frozen()(x), net(x), 1e-5, 1e-5));
  }
  const Network sum =
      net_of({kConv, node("Conv", {"x", "w", "b"}, {"d"}, {list_attribute("pads", {1, 1, 1, 1})}),
              node("Add", {"c", "d"}, {"y"})},
             kWeights);
  EXPECT_TRUE(allclose(sum.frozen().frozen()(x), sum(x), 1e-5, 1e-5));
}

// A NaN, or an infinity that becomes one, is seen in the result: of the input, a weight or a division.
TEST(OnnxFrozenConvolution, HidesNoNan) {
  const NoGrad off;
  const std::vector<std::string> bounded = {kConv, node("Relu", {"c"}, {"y"})};
  const auto has_nan = [](const Network& net, const Tensor& x) { return !all_finite(net.frozen()(x)); };
  const Network net = net_of(bounded, kWeights);
  Tensor bad = picture();
  EXPECT_FALSE(has_nan(net, bad));
  bad.data<float>()[130] = NAN;
  EXPECT_TRUE(has_nan(net, bad));
  EXPECT_TRUE(array_equal(isfinite(net.frozen()(bad)), isfinite(net(bad))));
  EXPECT_TRUE(has_nan(net, full({2, 3, 9, 7}, INFINITY)));
  std::vector<float> weight(static_cast<std::size_t>(4 * 3 * 3 * 3), 0.1F);
  weight[5] = NAN;
  EXPECT_TRUE(has_nan(net_of(bounded, {floats("w", {4, 3, 3, 3}, weight), kWeights[1]}), picture()));
  const Network divided =
      net_of({node("Div", {"x", "x"}, {"q"}), node("Conv", {"q", "w"}, {"c"}), node("Relu", {"c"}, {"y"})},
             kWeights);
  EXPECT_TRUE(has_nan(divided, zeros({2, 3, 9, 7})));
  EXPECT_EQ(frozen_steps(divided), "Div Conv Relu ");
  // In other types, and while it is profiled.
  const Network cast = net_of({node("Cast", {"x"}, {"f"}, {int_attribute("to", 1)}),
                               node("Conv", {"f", "w"}, {"c"}), node("Relu", {"c"}, {"y"})},
                              kWeights);
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16})
    EXPECT_TRUE(has_nan(cast, to(bad, dtype))) << dtype;
  Profile watch;
  EXPECT_TRUE(has_nan(net, bad));
}

// What computes sizes, and means of pictures, keeps numbers finite too: networks are full of it.
TEST(OnnxFrozenConvolution, TakesInBoundsAfterSizesAndMeans) {
  const std::string relu = node("Relu", {"c"}, {"r"}), again = node("Conv", {"q", "v"}, {"d"}),
                    last = node("Relu", {"d"}, {"y"});
  std::vector<std::string> weights = kWeights;
  weights.push_back(kTwoWeights[1]);
  EXPECT_EQ(frozen_steps(net_of(
                {kConv, relu, node("Shape", {"r"}, {"s"}), node("Reshape", {"r", "s"}, {"q"}), again, last},
                weights)),
            "Conv Shape Reshape Conv ");
  EXPECT_EQ(
      frozen_steps(net_of({kConv, relu, node("ReduceMean", {"r"}, {"m"}, {list_attribute("axes", {2, 3})}),
                           node("Sigmoid", {"m"}, {"g"}), node("Mul", {"r", "g"}, {"q"}), again, last},
                          weights)),
      "Conv ReduceMean Sigmoid Mul Conv ");
}

// Before opset 7 a second operand of fewer dimensions begins at an axis; as wide as the channels are many, it
// would fit from the right too.
TEST(OnnxFrozenConvolution, LeavesOldBroadcastsAlone) {
  const std::vector<std::string> along = {int_attribute("broadcast", 1), int_attribute("axis", 1)};
  const Network net =
      net_of({kConv, node("Add", {"c", "b"}, {"d"}, along), node("Mul", {"d", "b"}, {"y"}, along)}, kWeights,
             {"y"}, 6);
  EXPECT_EQ(frozen_steps(net, {Value(picture(2, 9, 4))}), "Conv Add Mul ");
  const std::vector<std::string> of_examples = {int_attribute("broadcast", 1), int_attribute("axis", 0)};
  const Network other = net_of({kConv, node("Mul", {"c", "b"}, {"y"}, of_examples)}, kWeights, {"y"}, 6);
  const Tensor x = picture(4, 300, 300);
  const NoGrad off;
  EXPECT_TRUE(allclose(other.frozen()(x), other(x), 1e-5, 1e-5)) << "a factor for each example";
}

// Converted, it answers by what its weights are then.
TEST(OnnxFrozenConvolution, FollowsItsWeightsThroughConversions) {
  const NoGrad off;
  Network net = net_of({node("Conv", {"x", "w"}, {"y"})}, {kWeights[0]}).frozen();
  const Tensor x = picture();
  const Tensor want = clone(net(x));
  net.to(DType::f64);
  EXPECT_TRUE(allclose(to(net(to(x, DType::f64)), DType::f32), want, 1e-5, 1e-5));
  net.to(DType::bf16);
  EXPECT_ANY_THROW(net(x));
  net(to(x, DType::bf16));
  net.to(DType::f32);
  EXPECT_FALSE(array_equal(net(x), want)) << "the weights were rounded";
  EXPECT_TRUE(allclose(net(x), want, 0.05, 0.05));
}

// Four times as long a chain takes far less than sixteen times as long.
TEST(OnnxFrozen, LongChainsTakeAsLongAsTheyAre) {
  const auto seconds = [](int steps) {
    std::vector<std::string> nodes = {node("Conv", {"x", "w"}, {"v0"})};
    for (int i = 0; i < steps; ++i)
      nodes.push_back(node("Tanh", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}));
    const Network net = net_of(nodes, {kWeights[0]}, {"v" + std::to_string(steps)});
    double best = 1e9;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const auto begin = std::chrono::steady_clock::now();
      net.frozen();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  };
  const double few = seconds(10000);
  EXPECT_LT(seconds(40000), 10 * few);
}

// As the operators that it stands for, and for batches of any size.
TEST(OnnxFrozenConvolution, IsExported) {
  const NoGrad off;
  const veldt::test::TempDir dir;
  const std::string window = node("MaxPool", {"r"}, {"p"}, {list_attribute("kernel_shape", {3, 3})});
  Network fast =
      net_of({kConv, node("Relu", {"c"}, {"r"}), window, node("Sigmoid", {"p"}, {"y"})}, kWeights).frozen();
  export_model(dir / "again.onnx", fast, {picture(20, 96, 96)});
  const Network again = load(dir / "again.onnx");
  const Tensor x = picture(3, 96, 96);
  EXPECT_TRUE(allclose(again(x), fast(x), 1e-5, 1e-5));
}

// What watches the waist sees the call, and a recorded step replays it.
TEST(OnnxFrozenConvolution, PassesTheWaist) {
  const Network fast = net_of({kConv, node("Relu", {"c"}, {"y"})}, kWeights).frozen();
  const NoGrad off;
  const Tensor x = picture();
  const Tensor want = clone(fast(x));
  Plan plan([&] { return fast(x); });
  plan.replay();
  EXPECT_TRUE(array_equal(plan.output(), want));
  const Backend& cpu = kernels(x);
  if (!cpu.freezes_convolutions()) return;
  Profile watch;
  fast(x);
  EXPECT_NE(watch.table().find("convolve_frozen"), std::string::npos);
}

}  // namespace
}  // namespace veldt::onnx
