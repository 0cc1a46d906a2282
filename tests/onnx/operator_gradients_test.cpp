// Gradients of ONNX's operators against differences: of those that are written from several ops of Veldt.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/gradients.h"
#include "veldt/core/rng.h"
#include "veldt/onnx/operators.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"

namespace veldt::onnx {
namespace {

struct NoBodies final : Bodies {
  Values run(std::string_view, Values) override { return {}; }
  const std::vector<ValueInfo>& outputs(std::string_view) override { return none; }
  std::vector<ValueInfo> none;
};

Attribute attribute_of(const char* name, Attribute::Kind kind) {
  Attribute a;
  a.name = name;
  a.kind = kind;
  return a;
}
Attribute integer_of(const char* name, std::int64_t value) {
  Attribute a = attribute_of(name, Attribute::Kind::integer);
  a.integer = value;
  return a;
}
Attribute real_of(const char* name, double value) {
  Attribute a = attribute_of(name, Attribute::Kind::real);
  a.real = value;
  return a;
}
Attribute reals_of(const char* name, std::vector<double> values) {
  Attribute a = attribute_of(name, Attribute::Kind::reals);
  a.reals = std::move(values);
  return a;
}
Attribute text_of(const char* name, const char* value) {
  Attribute a = attribute_of(name, Attribute::Kind::text);
  a.text = value;
  return a;
}
Attribute texts_of(const char* name, std::vector<std::string> values) {
  Attribute a = attribute_of(name, Attribute::Kind::texts);
  a.texts = std::move(values);
  return a;
}

struct GradientRow {
  const char* what;
  const char* op;
  std::vector<Attribute> attributes;
  std::vector<Shape> inputs;           // drawn, differentiated
  std::vector<Tensor> constants = {};  // after these; undefined ones are left out
  double low = -1, high = 1;
  std::size_t outputs = 1;
  std::int64_t opset = 22;
};

void check(const GradientRow& row) {
  SCOPED_TRACE(row.what);
  Rng draws(7);
  std::vector<veldt::test::GradientInput> inputs;
  for (const Shape& shape : row.inputs) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < numel(shape); ++i)
      values.push_back(row.low + (row.high - row.low) * static_cast<double>(draws.next_uniform()));
    inputs.push_back({{shape, values}, DType::f64});
  }
  Node node;
  node.op = row.op;
  node.attributes = row.attributes;
  for (std::size_t i = 0; i < row.outputs; ++i) node.outputs.push_back("y" + std::to_string(i));
  const OperatorEntry* entry = operators().find("", row.op);
  ASSERT_NE(entry, nullptr);
  const auto fn = [&](const std::vector<Tensor>& given) {
    Values values(given.begin(), given.end());
    for (const Tensor& constant : row.constants)
      values.push_back(constant.defined() ? Value(constant) : Value());
    NoBodies bodies;
    Rng rng(0);
    const Values out = entry->run(Call(node, row.opset, values, bodies, rng));
    Tensor total;  // all results, weighted differently
    for (std::size_t i = 0; i < row.outputs; ++i) {
      const Tensor part = sum(mul(out.at(i).tensor(), 1.0 + static_cast<double>(i)));
      total = total.defined() ? add(total, part) : part;
    }
    return row.outputs == 1 ? out[0].tensor() : total;
  };
  const veldt::test::GradientReport report = veldt::test::check_gradients(fn, inputs, 1);
  EXPECT_TRUE(report.ok) << report.message;
}

Tensor sizes(std::initializer_list<double> values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values, DType::i64);
}

TEST(OnnxOperatorGradients, PicturesAndWindows) {
  const Tensor none;
  check({"linear", "Resize", {text_of("mode", "linear")}, {{1, 2, 4, 3}}, {none, none, sizes({1, 2, 7, 5})}});
  check({"cubic, smaller, antialiased",
         "Resize",
         {text_of("mode", "cubic"), integer_of("antialias", 1)},
         {{1, 1, 7, 5}},
         {none, none, sizes({1, 1, 3, 4})}});
  check({"nearest, odd coordinates",
         "Resize",
         {text_of("mode", "nearest"), text_of("coordinate_transformation_mode", "tf_half_pixel_for_nn")},
         {{1, 1, 3, 3}},
         {none, none, sizes({1, 1, 5, 4})}});
  for (const char* padding : {"zeros", "border", "reflection"})
    for (const char* mode : {"linear", "cubic"})
      check({padding,
             "GridSample",
             {text_of("mode", mode), text_of("padding_mode", padding)},
             {{2, 2, 3, 4}, {2, 2, 3, 2}},
             {},
             -0.9,
             0.9});
  check({"3-D", "GridSample", {}, {{1, 1, 3, 2, 3}, {1, 1, 2, 2, 3}}, {}, -0.9, 0.9});
  check({"affine", "AffineGrid", {}, {{2, 2, 3}}, {sizes({2, 1, 3, 4})}});
  check({"deformed",
         "DeformConv",
         {integer_of("offset_group", 2)},
         {{1, 2, 4, 4}, {3, 2, 2, 2}, {1, 16, 3, 3}},
         {none, none},
         0.05,
         0.45});
  check({"windows back", "Col2Im", {}, {{1, 8, 6}}, {sizes({3, 4}), sizes({2, 2})}});
  check({"regions",
         "RoiAlign",
         {integer_of("output_height", 2), integer_of("output_width", 3)},
         {{2, 2, 5, 6}},
         {Tensor::of({2, 4}, {0.3, 0.4, 4.1, 3.7, -1, 1, 9, 4}, DType::f64), sizes({1, 0})}});
}

TEST(OnnxOperatorGradients, LossesAndSpectra) {
  check({"likelihood",
         "NegativeLogLikelihoodLoss",
         {integer_of("ignore_index", 1)},
         {{3, 4, 2}},
         {Tensor::of({3, 2}, {0, 1, 3, 2, 1, 1}, DType::i64), Tensor::of({4}, {0.5, 1, 2, 3}, DType::f64)}});
  check({"cross entropy",
         "SoftmaxCrossEntropyLoss",
         {text_of("reduction", "sum")},
         {{3, 4}},
         {sizes({0, 3, 1})},
         -1,
         1,
         2});
  check({"odd length", "DFT", {}, {{1, 6, 2}}, {sizes({7}), sizes({1})}});
  check({"of several factors", "DFT", {integer_of("onesided", 1)}, {{1, 70, 1}}, {Tensor(), sizes({1})}});
  check({"back to real",
         "DFT",
         {integer_of("onesided", 1), integer_of("inverse", 1)},
         {{1, 4, 2}},
         {Tensor(), sizes({1})}});
  check({"frames", "STFT", {}, {{2, 9, 1}}, {sizes({2}), Tensor(), sizes({4})}});
  check({"determinant", "Det", {}, {{2, 3, 3}}});
}

TEST(OnnxOperatorGradients, AttentionAndRecurrence) {
  check({"grouped heads, capped",
         "Attention",
         {real_of("softcap", 2), integer_of("is_causal", 1)},
         {{1, 2, 3, 4}, {1, 1, 3, 4}, {1, 1, 3, 2}}});
  check({"turned", "RotaryEmbedding", {integer_of("interleaved", 1)}, {{1, 2, 3, 4}, {1, 3, 2}, {1, 3, 2}}});
  check({"state",
         "LinearAttention",
         {integer_of("q_num_heads", 2), integer_of("kv_num_heads", 1)},
         {{1, 3, 4}, {1, 3, 2}, {1, 3, 2}, {1, 1, 2, 2}, {1, 3, 1}, {1, 3, 1}},
         {},
         -1,
         1,
         1,
         27});
  const Shape x{4, 2, 3};
  check({"own op",
         "LSTM",
         {text_of("direction", "bidirectional")},
         {x, {2, 8, 3}, {2, 8, 2}, {2, 16}},
         {},
         -1,
         1,
         3});
  check({"peepholes, lengths, clip",
         "LSTM",
         {text_of("direction", "reverse"), real_of("clip", 3)},
         {x, {1, 8, 3}, {1, 8, 2}, {1, 16}},
         {sizes({2, 4}), Tensor(), Tensor(), Tensor::of({1, 6}, {1, 2, -1, 0.5, 0.3, -0.2}, DType::f64)},
         -1,
         1,
         3});
  check({"reset after",
         "GRU",
         {integer_of("linear_before_reset", 1)},
         {x, {1, 6, 3}, {1, 6, 2}, {1, 12}},
         {sizes({3, 4})},
         -1,
         1,
         2});
  check({"scaled tanh",
         "RNN",
         {texts_of("activations", {"ScaledTanh"}), reals_of("activation_alpha", {0.7}),
          reals_of("activation_beta", {1.3})},
         {x, {1, 2, 3}, {1, 2, 2}}});
}

}  // namespace
}  // namespace veldt::onnx
