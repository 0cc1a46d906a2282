// A graph as a module: its parameters, its gradients, bodies, functions, and what it refuses.
#include "veldt/onnx/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <thread>

#include "tests/onnx/make_model.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/onnx/export.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {
namespace {

using namespace test;  // NOLINT: its names are those of messages

Network made(const GraphParts& parts, const std::vector<std::string>& functions = {},
             std::int64_t opset = 17) {
  return Network(parse_model(model(graph(parts), functions, opset), "x.onnx"));
}

// y = relu(x w + b)
Network small_layer() {
  return made({.nodes = {node("MatMul", {"x", "layer.weight"}, {"h"}),
                         node("Add", {"h", "layer.bias"}, {"s"}), node("Relu", {"s"}, {"y"})},
               .initializers = {floats("layer.weight", {2, 3}, {1, 2, 3, 4, 5, 6}),
                                floats("layer.bias", {3}, {0, -100, 1})},
               .inputs = {value("x", {-1, 2})},
               .outputs = {value("y", {-1, 3})}});
}

std::string what(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing was refused)";
}

TEST(OnnxNetwork, ComputesWhatTheGraphSays) {
  const Network net = small_layer();
  EXPECT_EQ(net(Tensor::of({1, 2}, {1, 1})).values<float>(), (std::vector<float>{5, 0, 10}));
  EXPECT_EQ(net.opset(), 17);
  EXPECT_EQ(net.title(), "onnx::Network g");
}

TEST(OnnxNetwork, ItsWeightsAreParameters) {
  Network net = small_layer();
  ASSERT_EQ(net.named_parameters().size(), 2U);
  EXPECT_EQ(net.named_parameters()[0].name, "layer.weight");
  EXPECT_EQ(net.parameter_count(), 9);
  const Tensor x = Tensor::of({1, 2}, {1, 2});
  sum(net(x)).backward();
  EXPECT_EQ(net.named_parameters()[0].tensor.grad().values<float>(), (std::vector<float>{1, 0, 1, 2, 0, 2}));
  EXPECT_EQ(net.named_parameters()[1].tensor.grad().values<float>(), (std::vector<float>{1, 0, 1}));
}

// The statistics of a norm, a bound, a number of a formula.
TEST(OnnxNetwork, OtherConstantsAreBuffers) {
  Network net =
      made({.nodes = {node("BatchNormalization", {"x", "scale", "shift", "mean", "variance"}, {"n"}),
                      node("Mul", {"n", "half"}, {"y"})},
            .initializers = {floats("scale", {2}, {1, 1}), floats("shift", {2}, {0, 0}),
                             floats("mean", {2}, {0, 0}), floats("variance", {2}, {1, 1}),
                             floats("half", {}, {0.5F})},
            .inputs = {value("x", {-1, 2})},
            .outputs = {value("y", {-1, 2})}});
  std::vector<std::string> names;
  for (const NamedTensor& p : net.named_parameters()) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{"scale", "shift"}));
  EXPECT_EQ(net.named_buffers().size(), 3U);
}

TEST(OnnxNetwork, ACloneHasItsOwnWeights) {
  Network net = small_layer();
  Network copy = clone(net);
  NoGrad off;
  copy.named_parameters()[0].tensor.assign(zeros({2, 3}));
  EXPECT_EQ(net(Tensor::of({1, 2}, {1, 1})).values<float>(), (std::vector<float>{5, 0, 10}));
  EXPECT_EQ(copy(Tensor::of({1, 2}, {1, 1})).values<float>(), (std::vector<float>{0, 0, 1}));
}

TEST(OnnxNetwork, ComputesInTheTypeToWhichItIsConverted) {
  Network net = small_layer();
  net.to(DType::f64);
  const Tensor y = net(Tensor::of({1, 2}, {1, 1}, DType::f64));
  EXPECT_EQ(y.dtype(), DType::f64);
  EXPECT_EQ(y.values<double>(), (std::vector<double>{5, 0, 10}));
  EXPECT_THAT(what([&] { net(zeros({1, 2}, DType::f16)); }), testing::HasSubstr("cannot be float16[1,2]"));
}

// Sizes are part of the graph; a number of a formula moves with the weights, and is not saved.
TEST(OnnxNetwork, OfItsConstantsTheStateHasWhatComputes) {
  const GraphParts parts{
      .nodes = {node("Mul", {"x", "table"}, {"m"}),
                node("Constant", {}, {"half"}, {message_attribute("value", 5, floats("", {}, {0.5F}))}),
                node("Mul", {"m", "half"}, {"h"}), node("Reshape", {"h", "sizes"}, {"y"})},
      .initializers = {floats("table", {2}, {1, 2}),
                       tensor("sizes", 7, {2}, std::string("\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16))},
      .inputs = {value("x", {2})},
      .outputs = {value("y", {2, 1})}};
  const Model file = parse_model(model(graph(parts)), "x.onnx");
  Network net(file);
  const Network other(file);  // of the same file: it shares nothing that could change
  ASSERT_EQ(net.state_dict().size(), 1U);
  EXPECT_EQ(net.state_dict()[0].name, "table");
  net.to(DType::f64);
  EXPECT_EQ(net(ones({2}, DType::f64)).values<double>(), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(other(ones({2})).values<float>(), (std::vector<float>{0.5, 1}));
  Network fast = other.frozen();
  fast.to(DType::f64);
  EXPECT_EQ(fast(ones({2}, DType::f64)).dtype(), DType::f64) << "what is constant there has no name";
  EXPECT_EQ(other(ones({2})).dtype(), DType::f32);
}

TEST(OnnxNetwork, IsSavedAndLoadedByItsNames) {
  Network net = small_layer(), other = small_layer();
  NoGrad off;
  for (const NamedTensor& p : net.named_parameters()) Tensor(p.tensor).assign(ones(p.tensor.shape()));
  EXPECT_TRUE(other.load_state_dict(net.state_dict()).complete());
  EXPECT_EQ(other(Tensor::of({1, 2}, {1, 1})).values<float>(), (std::vector<float>{3, 3, 3}));
}

TEST(OnnxNetwork, RunsByName) {
  const Network net = made({.nodes = {node("Sub", {"a", "b"}, {"y"})},
                            .inputs = {value("a", {-1}), value("b", {-1})},
                            .outputs = {value("y", {-1})}});
  const Values out = net.run({{"b", Value(Tensor::of({1}, {2}))}, {"a", Value(Tensor::of({1}, {5}))}});
  EXPECT_EQ(out.at(0).tensor().item(), 3);
  EXPECT_THAT(what([&] { net.run({{"c", Value(zeros({1}))}}); }), testing::HasSubstr("its inputs are: a, b"));
  EXPECT_THAT(what([&] {
                net.run({{"a", Value(zeros({1, 1}))}});
              }),
              testing::HasSubstr("the graph takes float[?]"));
  EXPECT_THAT(what([&] {
                net.run({{"a", Value(zeros({1}, DType::i64))}});
              }),
              testing::HasSubstr("cannot be int64[1]"));
  EXPECT_THAT(what([&] {
                net.run({{"a", Value(zeros({1}))}});
              }),
              testing::HasSubstr("the input \"b\" is missing"));
}

TEST(OnnxNetwork, RunsWithoutInputs) {
  const Network net = made({.nodes = {node("Relu", {"w"}, {"y"})},
                            .initializers = {floats("w", {2}, {-1, 2})},
                            .outputs = {value("y", {2})}});
  EXPECT_EQ(net.run({})[0].tensor().values<float>(), (std::vector<float>{0, 2}));
  const Tensor x = Tensor::of({1, 2}, {1, 1});
  EXPECT_THAT(what([] { small_layer().run({}); }), testing::HasSubstr("\"x\" is missing"));
  EXPECT_THAT(what([&] { small_layer().run({{"x", x}, {"x", x}}); }), testing::HasSubstr("given twice"));
}

// As docs/onnx.md says: the last layer is cut off the graph, and a new one follows.
TEST(OnnxNetwork, TakesANewHeadAndIsWrittenWithIt) {
  const auto layer = [](const std::string& x, const std::string& w, const std::string& y) {
    return node("MatMul", {x, w}, {y});
  };
  Model model = parse_model(
      test::model(graph(
          {.nodes = {layer("x", "body", "h"), node("Tanh", {"h"}, {"t"}), layer("t", "head", "y")},
           .initializers = {floats("body", {2, 3}, {1, -2, 3, 4, 5, -6}), floats("head", {3, 1}, {1, 2, 3})},
           .inputs = {value("x", {-1, 2})},
           .outputs = {value("y", {-1, 1})}})),
      "x.onnx");
  model.graph.nodes.pop_back();
  model.graph.outputs = {{model.graph.nodes.back().outputs[0], {}}};
  nn::Sequential net{Network(std::move(model)), nn::Linear(3, 4)};
  net.freeze("0");
  EXPECT_EQ(net.trained_parameters().size(), 2U);
  const Tensor x = Tensor::of({1, 2}, {0.5, 1}), y = net(x);
  EXPECT_EQ(y.shape(), (Shape{1, 4}));
  sum(y * y).backward();
  EXPECT_TRUE(net.trained_parameters()[0].tensor.grad().defined());
  EXPECT_EQ(net.state_dict().size(), 3U) << "the old head is in no state";
  const veldt::test::TempDir dir;
  export_model(dir / "tuned.onnx", net, {x});
  EXPECT_EQ(load(dir / "tuned.onnx")(x).shape(), (Shape{1, 4}));
  nn::Sequential precise = clone(net);
  precise.to(DType::f64);
  EXPECT_EQ(net(x).dtype(), DType::f32);
  EXPECT_EQ(precise(to(x, DType::f64)).dtype(), DType::f64);
}

TEST(OnnxNetwork, AllThatItCannotRunIsToldAtOnce) {
  const std::string text = what([] {
    made({.nodes = {node("Frobnicate", {"x"}, {"a"}, {}, "", "one"),
                    node("Frobnicate", {"a"}, {"b"}, {}, "", "two"),
                    node("Gizmo", {"b"}, {"y"}, {}, "com.acme")},
          .inputs = {value("x", {1})},
          .outputs = {value("y", {1})}});
  });
  for (const char* part : {"2 operators", "Frobnicate (one, two)", "com.acme:Gizmo (-> y)"})
    EXPECT_THAT(text, testing::HasSubstr(part));
}

TEST(OnnxNetwork, AnErrorSaysWhichNode) {
  const Network net = made({.nodes = {node("Add", {"x", "w"}, {"y"}, {}, "", "join")},
                            .initializers = {floats("w", {3}, {1, 2, 3})},
                            .inputs = {value("x", {-1})},
                            .outputs = {value("y", {-1})}});
  EXPECT_THAT(what([&] { net(zeros({2})); }), testing::HasSubstr("in join (Add)"));
}

TEST(OnnxNetwork, BranchesSeeTheValuesAround) {
  const auto branch = [](const char* op) {
    return graph({.nodes = {node(op, {"x"}, {"r"})}, .outputs = {plain_value("r")}});
  };
  const Network net = made({.nodes = {node("ReduceSum", {"x"}, {"s"}, {int_attribute("keepdims", 0)}),
                                      node("Greater", {"s", "zero"}, {"c"}),
                                      node("If", {"c"}, {"y"},
                                           {message_attribute("then_branch", 6, branch("Neg")),
                                            message_attribute("else_branch", 6, branch("Abs"))})},
                            .initializers = {floats("zero", {}, {0})},
                            .inputs = {value("x", {-1})},
                            .outputs = {value("y", {-1})}});
  EXPECT_EQ(net(Tensor::of({2}, {1, 2})).values<float>(), (std::vector<float>{-1, -2}));
  EXPECT_EQ(net(Tensor::of({2}, {-1, -2})).values<float>(), (std::vector<float>{1, 2}));
}

TEST(OnnxNetwork, FunctionsTakeTheAttributesOfTheirCaller) {
  const std::string body = function(
      "Stacked", {"a"}, {"r"}, {node("Concat", {"a", "a"}, {"r"}, {reference("axis", "along")})}, {"along"});
  const Network net = made({.nodes = {node("Stacked", {"x"}, {"y"}, {int_attribute("along", 1)}, "own")},
                            .inputs = {value("x", {1, 2})},
                            .outputs = {value("y", {1, 4})}},
                           {body});
  EXPECT_EQ(net(zeros({1, 2})).shape(), (Shape{1, 4}));
}

TEST(OnnxNetwork, WeightsThatAFunctionUsesAreParameters) {
  const std::string body =
      function("Dense", {"a", "weight"}, {"r"}, {node("MatMul", {"a", "weight"}, {"r"})});
  Network net = made({.nodes = {node("Dense", {"x", "w"}, {"y"}, {}, "own")},
                      .initializers = {floats("w", {2, 1}, {3, 4})},
                      .inputs = {value("x", {1, 2})},
                      .outputs = {value("y", {1, 1})}},
                     {body});
  ASSERT_EQ(net.named_parameters().size(), 1U);
  sum(net(Tensor::of({1, 2}, {5, 6}))).backward();
  EXPECT_EQ(net.parameters()[0].grad().values<float>(), (std::vector<float>{5, 6}));
}

TEST(OnnxNetwork, FunctionsThatNeverEnd) {
  const std::string circle = function("A", {"a"}, {"r"}, {node("A", {"a"}, {"r"}, {}, "own")});
  const GraphParts parts{.nodes = {node("A", {"x"}, {"y"}, {}, "own")},
                         .inputs = {value("x", {1})},
                         .outputs = {value("y", {1})}};
  EXPECT_THAT(what([&] { made(parts, {circle}); }), testing::HasSubstr("calls itself"));
  // Each calls the next one ten times: 10^20 nodes.
  std::vector<std::string> bomb;
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> nodes;
    for (int j = 0; j < 10; ++j)
      nodes.push_back(node(i < 19 ? str("F", i + 1) : "Neg", {j == 0 ? "a" : str("v", j - 1)},
                           {j == 9 ? "r" : str("v", j)}, {}, i < 19 ? "own" : ""));
    bomb.push_back(function(str("F", i), {"a"}, {"r"}, nodes));
  }
  EXPECT_THAT(what([&] {
                made({.nodes = {node("F0", {"x"}, {"y"}, {}, "own")},
                      .inputs = {value("x", {1})},
                      .outputs = {value("y", {1})}},
                     bomb);
              }),
              testing::HasSubstr("more than 250000 nodes"));
}

TEST(OnnxNetwork, GraphsThatDoNotHoldTogether) {
  const auto refused = [](const std::vector<std::string>& nodes) {
    return what([&] { made({.nodes = nodes, .inputs = {value("x", {1})}, .outputs = {value("y", {1})}}); });
  };
  EXPECT_THAT(refused({node("Neg", {"nowhere"}, {"y"})}),
              testing::HasSubstr("nothing defines the value \"nowhere\""));
  EXPECT_THAT(refused({node("Neg", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})}),
              testing::HasSubstr("defined twice"));
  EXPECT_THAT(refused({node("Neg", {"x"}, {"z"})}), testing::HasSubstr("nothing defines the value \"y\""));
}

// Since version 4 of the format a constant that is an input too may be given, and is not when it is not.
TEST(OnnxNetwork, AConstantThatIsAnInputMayBeGiven) {
  const auto net = [](std::int64_t ir_version) {
    const GraphParts parts{.nodes = {node("Mul", {"x", "w"}, {"y"})},
                           .initializers = {floats("w", {2}, {3, 4})},
                           .inputs = {value("w", {2}), value("x", {2})},
                           .outputs = {value("y", {2})}};
    return Network(parse_model(model(graph(parts), {}, 17, ir_version), "x.onnx"));
  };
  const Tensor x = Tensor::of({2}, {1, 2}), w = Tensor::of({2}, {10, 10});
  const Network newer = net(4), older = net(3);
  ASSERT_EQ(newer.inputs().size(), 1U);
  EXPECT_EQ(newer.inputs()[0].name, "x");
  ASSERT_EQ(newer.overridable().size(), 1U);
  EXPECT_EQ(newer.overridable()[0].name, "w");
  EXPECT_EQ(newer(x).values<float>(), (std::vector<float>{3, 8}));
  EXPECT_EQ(newer.run({{"x", Value(x)}, {"w", Value(w)}})[0].tensor().values<float>(),
            (std::vector<float>{10, 20}));
  EXPECT_EQ(newer.run({{"x", Value(x)}})[0].tensor().values<float>(), (std::vector<float>{3, 8}));
  EXPECT_THAT(what([&] {
                newer.run({{"x", Value(x)}, {"w", Value(zeros({3}))}});
              }),
              testing::HasSubstr("the graph takes float[2]"));
  EXPECT_THAT(what([&] { newer({x, w}); }), testing::HasSubstr("was given 2 inputs")) << "by name alone";
  EXPECT_THAT(what([&] { newer(TensorList{}); }), testing::HasSubstr("the input \"x\" is missing"));
  EXPECT_TRUE(older.overridable().empty());
  EXPECT_EQ(older(x).values<float>(), (std::vector<float>{3, 8}));
  EXPECT_TRUE(newer.frozen().overridable().empty()) << "its constants are computed";
}

// What a body would have given, of no steps: its type and sizes.
TEST(OnnxNetwork, ALoopWithoutStepsKnowsItsResults) {
  const std::string body = graph(
      {.nodes = {node("Identity", {"go"}, {"on"}), node("Cast", {"x"}, {"s"}, {int_attribute("to", 7)})},
       .inputs = {plain_value("step"), plain_value("go")},
       .outputs = {plain_value("on"), value("s", {-1, 3}, 7)}});
  const Network net = made({.nodes = {node("Loop", {"steps"}, {"y"}, {message_attribute("body", 6, body)})},
                            .initializers = {tensor("steps", 7, {}, std::string(8, '\0'))},
                            .inputs = {value("x", {2, 3})},
                            .outputs = {plain_value("y")}});
  const Values out = net.run({Value(zeros({2, 3}))});
  EXPECT_EQ(out[0].description(), "int64[0,0,3]");
}

// A function's constant is one weight, however often the function is called.
TEST(OnnxNetwork, CallsOfAFunctionShareItsWeights) {
  const std::string body = function(
      "Dense", {"a"}, {"r"},
      {node("Constant", {}, {"w"}, {message_attribute("value", 5, floats("w", {2, 2}, {1, 2, 3, 4}))}),
       node("MatMul", {"a", "w"}, {"r"})});
  Network net =
      made({.nodes = {node("Dense", {"x"}, {"h"}, {}, "own"), node("Dense", {"h"}, {"y"}, {}, "own")},
            .inputs = {value("x", {1, 2})},
            .outputs = {value("y", {1, 2})}},
           {body});
  EXPECT_EQ(net.parameter_count(), 4);
}

TEST(OnnxNetwork, DrawsNumbersInSeveralThreads) {
  const Network net = made({.nodes = {node("RandomUniformLike", {"x"}, {"y"})},
                            .inputs = {value("x", {16})},
                            .outputs = {value("y", {16})}});
  const Tensor x = zeros({16});
  std::vector<std::vector<float>> drawn(2000);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < drawn.size(); i += 4) drawn[i] = net(x).values<float>();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), drawn.size()) << "two runs drew the same";
}

TEST(OnnxNetwork, TellsOfEachNode) {
  const Network net = small_layer();
  std::string told;
  net.run({Value(zeros({4, 2}))}, [&](const Node& n, const Values& results) {
    told += n.op + ' ' + results[0].description() + "; ";
  });
  EXPECT_EQ(told, "MatMul float[4,3]; Add float[4,3]; Relu float[4,3]; ");
}

}  // namespace
}  // namespace veldt::onnx
