// What an exported file holds: the nodes of known networks, names, sizes that follow the batch; what is
// refused; the same bytes each time.
#include "veldt/onnx/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/onnx/parsed_file.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/mlp.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/grid_encoding.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {
namespace {

using namespace nn;
using test::ParsedFile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using veldt::test::TempDir;

Sequential small_network() {
  Rng rng(7);
  Conv2d conv(1, 2, 3, ConvLayerOptions{.padding = 1}, rng);
  Linear last(8, 3, rng);
  return Sequential{std::move(conv), BatchNorm2d(2),    ReLU(),         MaxPool2d(2),
                    Flatten(),       Dropout(0.5, rng), std::move(last)};
}

// Of bytes: each output is the larger number of the input times `weight`.
Linear byte_layer(double weight) {
  const NoGrad off;
  Linear net(2, 2, {.bias = false});
  net.weight().assign(eye(2) * weight);
  net.weights().front().weight->quantize({.input = QuantizedInput::fixed}, 0, 1);
  return net;
}

ParsedFile exported(Module& module, const TensorList& inputs, const ExportOptions& options = {}) {
  const TempDir dir;
  export_model(dir / "x.onnx", module, inputs, options);
  return test::parsed_file(io::read_file(dir / "x.onnx"));
}

ParsedFile exported_function(const std::function<Tensor(const Tensor&)>& function, const Tensor& input) {
  Lambda module(function);
  return exported(module, {input});
}

// The message of the Error that exporting it throws.
std::string refused(Module& module, const TensorList& inputs) {
  try {
    exported(module, inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was exported";
}

TEST(Export, ASmallNetworkHasItsLayersAsNodes) {
  Sequential net = small_network();
  const ParsedFile file = exported(net, {zeros({1, 1, 4, 4})}, {.metadata = {{"made", "here"}}});
  EXPECT_EQ(file.ops(), "Conv BatchNormalization Relu MaxPool Reshape Gemm");
  EXPECT_EQ(file.opset, 18);
  EXPECT_EQ(file.metadata.at("made"), "here");
  EXPECT_EQ(file.nodes[0].name, "0/Conv");
  EXPECT_THAT(file.nodes[0].inputs, ElementsAre("input", "0.weight", "0.bias"));
  EXPECT_THAT(file.nodes[0].whole.at("pads"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(file.nodes[1].inputs,
              ElementsAre("0/Conv_output", "1.weight", "1.bias", "1.running_mean", "1.running_var"));
  EXPECT_THAT(file.nodes[5].outputs, ElementsAre("output"));
  EXPECT_THAT(file.shapes.at("input"), ElementsAre("batch", "1", "4", "4"));
  EXPECT_THAT(file.shapes.at("output"), ElementsAre("batch", "3"));
  EXPECT_THAT(file.initializers.at("6.weight").dims, ElementsAre(3, 8));
  const auto weight = net.state_dict().front().tensor.bytes();
  EXPECT_EQ(file.initializers.at("0.weight").raw,
            std::string(reinterpret_cast<const char*>(weight.data()), weight.size()));
}

// Its moments are found by the graph; the file is run before it is written.
TEST(Export, ABatchNormWithoutStatisticsNormalisesByItsBatch) {
  Rng rng(7);
  Sequential net{Conv2d(1, 2, 3, ConvLayerOptions{.padding = {PerDim(0), PerDim(1)}}, rng),
                 BatchNorm2d(2, {.track_running_stats = false}), ReLU()};
  const ParsedFile file = exported(net, {rand({3, 1, 4, 5}, rng)});
  EXPECT_THAT(file.ops(), HasSubstr("ReduceMean"));
  EXPECT_THAT(file.nodes[0].whole.at("pads"), ElementsAre(0, 0, 1, 1));
}

TEST(Export, AModuleIsInTrainingAgainAfterwards) {
  Sequential net = small_network();
  net.train();
  exported(net, {zeros({1, 1, 4, 4})});
  for (const NamedModule& inner : net.named_modules()) EXPECT_TRUE(inner.module->training()) << inner.name;
}

TEST(Export, AFixedBatchHasItsSize) {
  Sequential net = small_network();
  const ParsedFile file = exported(net, {zeros({4, 1, 4, 4})}, {.dynamic_batch = false});
  EXPECT_THAT(file.shapes.at("input"), ElementsAre("4", "1", "4", "4"));
  EXPECT_THAT(file.shapes.at("output"), ElementsAre("4", "3"));
}

TEST(Export, NamesOfInputsAndOutputsCanBeGiven) {
  Linear net(2, 3);
  const ParsedFile file = exported(net, {zeros({1, 2})}, {.input_names = {"x"}, .output_names = {"logits"}});
  EXPECT_THAT(file.nodes[0].inputs, ElementsAre("x", "weight", "bias"));
  EXPECT_THAT(file.nodes[0].outputs, ElementsAre("logits"));
}

TEST(Export, NamesAreOfOneValueEach) {
  Linear net(2, 3);
  const auto why = [&](const ExportOptions& options) {
    return veldt::test::error_of<ConfigError>([&] { exported(net, {zeros({1, 2})}, options); });
  };
  EXPECT_THAT(why({.input_names = {"a", "b"}}), HasSubstr("2 names for 1 inputs"));
  EXPECT_THAT(why({.output_names = {"a", "b"}}), HasSubstr("2 names for 1 outputs"));
  EXPECT_THAT(why({.input_names = {""}}), HasSubstr("it is empty"));
  EXPECT_THAT(why({.input_names = {"a"}, .output_names = {"a"}}),
              HasSubstr("'a' is no name of one of the outputs"));
  EXPECT_THAT(refused(net, {zeros({0, 2})}), HasSubstr("[0, 2] is no example"));
}

// Views of memory, and parts put together, as the operators that say so.
TEST(Export, ViewsAreOperatorsOfShapes) {
  const Tensor x = zeros({1, 4, 6});
  const auto ops = [&](const std::function<Tensor(const Tensor&)>& function) {
    return exported_function(function, x).ops();
  };
  EXPECT_EQ(ops([](const Tensor& t) { return transpose(t, 1, 2); }), "Transpose");
  EXPECT_EQ(ops([](const Tensor& t) { return slice(t, 2, 1, 5); }), "Slice");
  EXPECT_EQ(ops([](const Tensor& t) { return slice(t, 1, 0, 4, 2); }), "Slice");
  EXPECT_EQ(ops([](const Tensor& t) { return flip(t, {1}); }), "Slice");
  EXPECT_EQ(ops([](const Tensor& t) { return reshape(t, {t.size(0), 2, 12}); }), "Reshape");
  EXPECT_EQ(ops([](const Tensor& t) { return unsqueeze(t, 1); }), "Unsqueeze");
  EXPECT_EQ(ops([](const Tensor& t) { return cat({t, t, t}, 1); }), "Concat");
  EXPECT_EQ(ops([](const Tensor& t) { return pad(t, {1, 2}); }), "Pad");
  EXPECT_EQ(ops([](const Tensor& t) {
              return expand(unsqueeze(t, 1), {t.size(0), 3, 4, 6});
            }),
            "Unsqueeze Expand");
  EXPECT_EQ(ops([](const Tensor& t) { return select(t, 1, 2); }), "Slice Squeeze");
  EXPECT_EQ(ops([](const Tensor& t) { return diagonal(t, 0, 1, 2); }), "Reshape Slice Gather");
  EXPECT_EQ(ops([](const Tensor& t) { return t; }), "Identity");
}

// Two columns of a concatenation are one input of it, not a slice of the whole.
TEST(Export, PartsAreTakenFromWhereTheyCame) {
  const ParsedFile file = exported_function(
      [](const Tensor& t) {
        return narrow(cat({t * 2.0, t}, 1), 1, 0, t.size(1));
      },
      zeros({1, 3}));
  EXPECT_EQ(file.ops(), "Mul");
}

TEST(Export, NumbersThatDependOnNoInputAreConstants) {
  const Tensor table = rand({3, 2});
  const ParsedFile file =
      exported_function([&](const Tensor& t) { return t + sum(table * 2.0, {0}) + 1.0; }, zeros({1, 2}));
  EXPECT_EQ(file.ops(), "Add Add");
}

// Such as the token in front of a transformer's, of zeros before it is taught.
TEST(Export, ACopiedParameterKeepsItsName) {
  const TempDir dir;
  const Tensor token = zeros({1, 1, 4});
  const Exportable in_front = [&](const TensorList& in) {
    return TensorList{cat({expand(token, {in[0].size(0), 1, 4}), in[0]}, 1)};
  };
  export_function(dir / "x.onnx", in_front, {{"token", token}}, {zeros({1, 3, 4})});
  const ParsedFile file = test::parsed_file(io::read_file(dir / "x.onnx"));
  EXPECT_TRUE(file.initializers.contains("token"));
  EXPECT_EQ(file.nodes.back().op, "Concat");
  EXPECT_THAT(file.shapes.at("output"), ElementsAre("batch", "4", "4"));
}

TEST(Export, AnLstmIsOneNodeADirection) {
  Rng rng(3);
  LSTM lstm(4, 3, {.batch_first = true, .bidirectional = true}, rng);
  const ParsedFile file = exported(lstm, {zeros({1, 5, 4})});
  EXPECT_EQ(std::count_if(file.nodes.begin(), file.nodes.end(), [](const auto& n) { return n.op == "LSTM"; }),
            2);
  EXPECT_TRUE(file.initializers.contains("weight_ih_l0.iofc"));
}

// More steps than their products with the inputs take at once, which depends on the batch.
TEST(Export, LongGrusAndRnnsAreNodesToo) {
  Rng rng(3);
  GRU gru(4, 3, {.num_layers = 2, .batch_first = true}, rng);
  const ParsedFile file = exported(gru, {zeros({1, 150, 4})});
  EXPECT_EQ(file.ops(), "Transpose GRU Squeeze GRU Squeeze Transpose");
  EXPECT_TRUE(file.initializers.contains("weight_hh_l1.zrh"));
  RNN rnn(4, 3, {.bidirectional = true}, rng);
  EXPECT_THAT(exported(rnn, {zeros({7, 2, 4})}, {.batch_dims = {1}}).ops(), HasSubstr("RNN"));
}

// All levels of a kind at a time: as many nodes for sixteen as for two.
TEST(Export, AHashGridIsAFewNodes) {
  const GridOptions options{
      .dims = 2, .levels = 8, .features = 2, .log2_entries = 6, .coarsest = 4, .finest = 64};
  const GridLayout grid = grid_layout(options);
  const Tensor table = rand({grid.entries(), 2});
  const ParsedFile file =
      exported_function([&](const Tensor& x) { return grid_encoding(x, table, grid); }, rand({3, 2}));
  EXPECT_THAT(file.ops(), HasSubstr("BitwiseXor"));
  EXPECT_LT(file.nodes.size(), 100u);
  EXPECT_THAT(file.shapes.at("output"), ElementsAre("batch", "16"));
}

TEST(Export, ASirenIsItsLayersAndSines) {
  Rng rng(3);
  MLP siren({2, 16, 16, 3}, {.activation = MlpActivation::sine}, rng);
  EXPECT_EQ(exported(siren, {zeros({1, 2})}).ops(), "Gemm Mul Sin Gemm Mul Sin Gemm");
}

// What a hook does to a layer's output is part of the network.
TEST(Export, HooksAreTraced) {
  Rng rng(3);
  GRU gru(4, 3, {.batch_first = true}, rng);
  gru.register_forward_hook([](const Module&, const TensorList&, TensorList& out) { out[0] = out[0] * 2.0; });
  const ParsedFile file = exported(gru, {zeros({1, 2, 4})});
  EXPECT_THAT(file.ops(), Not(HasSubstr("GRU")));
  EXPECT_EQ(file.nodes.back().op, "Mul");
}

TEST(Export, SizesThatFollowTheBatchAreComputed) {
  const ParsedFile file = exported_function(
      [](const Tensor& t) {
        const std::int64_t n = t.size(0);
        return matmul(cat({t, zeros({n, 2})}, 1), ones({3, 1})) * to(arange(n), DType::f32);
      },
      zeros({1, 1}));
  EXPECT_THAT(file.shapes.at("output"), ElementsAre("batch", "batch"));
}

TEST(Export, WhatHasNoFormIsListedWithItsModules) {
  const Residual inner(Lambda([](const Tensor& t) { return t + rand(t.shape()); }));
  Sequential net{Linear(2, 2), inner, Lambda([](const Tensor& t) { return t * sum(t).item(); })};
  const std::string said = refused(net, {zeros({2, 2})});
  EXPECT_THAT(said, HasSubstr("the network cannot be exported"));
  EXPECT_THAT(said, HasSubstr("random in 1."));
  EXPECT_THAT(said, HasSubstr("item() in 2"));
}

TEST(Export, StepsThatDependOnTheBatchAreRefused) {
  Sequential net{Linear(2, 2), Lambda([](const Tensor& t) { return t.size(0) > 2 ? t * t : t + t; })};
  EXPECT_THAT(refused(net, {zeros({2, 2})}), HasSubstr("for every batch size, because of 1"));
  Sequential odd{
      Lambda([](const Tensor& t) { return expand(reshape(sum(t), {1}), {t.size(0) * t.size(0)}); })};
  EXPECT_THAT(refused(odd, {zeros({2, 2})}), HasSubstr("does not grow evenly"));
}

// An error names the batch that the user gave, not only those that the export tries.
TEST(Export, ANetworkOfOneBatchSaysSo) {
  const auto without_batch = [](const Tensor& x) { return matmul(x, ones({4, 3})); };
  Sequential row{Lambda([](const Tensor& x) { return reshape(x, {4}); }), Lambda(without_batch)};
  const std::string said = refused(row, {zeros({4})});
  EXPECT_THAT(said, HasSubstr("it takes the example of [4], but not 2 of them"));
  EXPECT_THAT(said, HasSubstr("dynamic_batch = false"));
  const ParsedFile none = exported(row, {zeros({4})}, {.batch_dims = {-1}});
  EXPECT_THAT(none.shapes.at("input"), ElementsAre("4"));
  EXPECT_THAT(none.shapes.at("output"), ElementsAre("3"));
  // What the module does not take at all is its own error.
  Linear net(4, 3);
  EXPECT_THAT(refused(net, {zeros({1, 5})}), AllOf(HasSubstr("[1, 5]"), Not(HasSubstr("every batch"))));
}

// A table beside the examples is no batch.
TEST(Export, InputsThatCountOtherThingsAreAskedFor) {
  const TempDir dir;
  const Exportable likeness = [](const TensorList& in) {
    return TensorList{matmul(in[0], transpose(in[1]))};
  };
  const TensorList inputs{rand({8, 3}), rand({5, 3})};
  const auto write = [&](const ExportOptions& options) {
    export_function(dir / "x.onnx", likeness, {}, inputs, options);
    return test::parsed_file(io::read_file(dir / "x.onnx"));
  };
  try {
    write({});
    FAIL() << "it was written";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("they differ: [8, 3], [5, 3]"));
  }
  const ParsedFile file = write({.batch_dims = {0, -1}});
  EXPECT_THAT(file.shapes.at("input_0"), ElementsAre("batch", "3"));
  EXPECT_THAT(file.shapes.at("input_1"), ElementsAre("5", "3"));
  EXPECT_THAT(file.shapes.at("output"), ElementsAre("batch", "5"));
  EXPECT_THROW(write({.batch_dims = {0, -1, 0}}), ShapeError);
  EXPECT_THROW(write({.batch_dims = {0, -2}}), ShapeError);
  EXPECT_THAT(write({.dynamic_batch = false}).shapes.at("output"), ElementsAre("8", "5"));
}

TEST(Export, ParametersOfLargeModelsAreInAFileOfTheirOwn) {
  const TempDir dir;
  Linear net(40, 30);
  const Exported result = export_model(dir / "x.onnx", net, {zeros({1, 40})}, {.most_inside = 1000});
  const ParsedFile file = test::parsed_file(io::read_file(dir / "x.onnx"));
  const auto& weight = file.initializers.at("weight");
  EXPECT_EQ(weight.external.at("location"), "x.onnx.data");
  EXPECT_EQ(weight.external.at("length"), "4800");
  const std::string data = io::read_file(dir / "x.onnx.data");
  const auto bytes = net.weight().bytes();
  EXPECT_EQ(data.substr(std::stoull(weight.external.at("offset")), 4800),
            std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  EXPECT_EQ(result.bytes, data.size() + io::read_file(dir / "x.onnx").size());
}

TEST(Export, AFileThatGivesOtherNumbersIsNotWritten) {
  const TempDir dir;
  Linear net(2, 2);
  ExportOptions options;
  int calls = 0;
  options.run = [&](const std::string& bytes, const TensorList& inputs) {
    ++calls;
    EXPECT_EQ(test::parsed_file(bytes).ops(), "Gemm");
    return TensorList{net(inputs[0])};
  };
  export_model(dir / "good.onnx", net, {ones({1, 2})}, options);
  EXPECT_EQ(calls, 3);
  options.run = [&](const std::string&, const TensorList& inputs) {
    return TensorList{net(inputs[0]) + 1.0};
  };
  EXPECT_THROW(export_model(dir / "bad.onnx", net, {ones({1, 2})}, options), Error);
  EXPECT_THROW(io::read_file(dir / "bad.onnx"), IoError);
}

// Bytes may be rounded to the other side, but a tolerance that is given is the one that holds.
TEST(Export, AGivenToleranceHoldsForBytesToo) {
  const NoGrad off;
  const TempDir dir;
  Linear net = byte_layer(1);
  ExportOptions options;
  double apart = 0.01;
  options.run = [&](const std::string&, const TensorList& inputs) {
    return TensorList{net(inputs[0]) + apart};
  };
  export_model(dir / "near.onnx", net, {ones({1, 2})}, options);
  for (const double tolerance : {1e-4, 1e-3}) {
    options.tolerance = tolerance;
    EXPECT_THROW(export_model(dir / "far.onnx", net, {ones({1, 2})}, options), Error) << tolerance;
  }
  apart = 0.05;
  options.tolerance.reset();
  EXPECT_THROW(export_model(dir / "far.onnx", net, {ones({1, 2})}, options), Error);
}

// 0.01 would be within the tolerance of numbers of 1 or more.
TEST(Export, BytesOfSmallNumbersAreHeldAgainstTheirLargest) {
  const NoGrad off;
  const TempDir dir;
  Linear net = byte_layer(0.1);
  double apart = 0.001;
  const ExportOptions options = {.run = [&](const std::string&, const TensorList& inputs) {
    return TensorList{net(inputs[0]) + apart};
  }};
  EXPECT_NEAR(export_model(dir / "near.onnx", net, {ones({1, 2})}, options).largest_difference, 0.01, 1e-3);
  apart = 0.01;
  EXPECT_THROW(export_model(dir / "far.onnx", net, {ones({1, 2})}, options), Error);
  net = byte_layer(0);
  apart = 0;
  EXPECT_EQ(export_model(dir / "zero.onnx", net, {ones({1, 2})}, options).largest_difference, 0);
}

// onnxruntime adds pairs of products of u8 and i8 in 16 bits where a processor has no VNNI, and these bounds
// do not hold 2 x 255 x 127; products of u8 and u8 it adds in 32 bits.
TEST(Export, ProductsOfBytesHaveNoSign) {
  const NoGrad off;
  Linear net(3, 2, {.bias = false});
  net.weight().assign(Tensor::of({2, 3}, {127, 127, -127, 64, -64, 127}));
  net.weights().front().weight->quantize({.input = QuantizedInput::dynamic});
  const Tensor x = Tensor::of({2, 3}, {1, 1, 0, -1, 1, 0.5});
  const ParsedFile file = exported(net, {x});
  const auto product = std::find_if(file.nodes.begin(), file.nodes.end(),
                                    [](const auto& node) { return node.op == "MatMulInteger"; });
  ASSERT_NE(product, file.nodes.end());
  ASSERT_EQ(product->inputs.size(), 4u);
  const auto raw = [&](std::size_t input) { return file.initializers.at(product->inputs[input]).raw; };
  EXPECT_EQ(raw(1), std::string("\xff\xc0\xff\x40\x01\xff"));  // [depth, columns], 128 more than the integers
  EXPECT_EQ(raw(2), std::string(1, '\0'));
  EXPECT_EQ(raw(3), "\x80");
}

// VELDT_WRITE_GOLDEN=1 writes it again, after a change on purpose.
TEST(GoldenExport, TheSameNetworkGivesTheSameBytes) {
  const std::string golden = VELDT_SOURCE "/tests/golden/small_network.onnx";
  const TempDir dir;
  for (const char* name : {"a.onnx", "b.onnx"}) {
    Sequential net = small_network();
    export_model(dir / name, net, {zeros({1, 1, 4, 4})});
  }
  if (std::getenv("VELDT_WRITE_GOLDEN")) io::write_file(golden, io::read_file(dir / "a.onnx"));
  EXPECT_EQ(io::read_file(dir / "a.onnx"), io::read_file(dir / "b.onnx"));
  EXPECT_EQ(io::read_file(dir / "a.onnx"), io::read_file(golden));
}

}  // namespace
}  // namespace veldt::onnx
