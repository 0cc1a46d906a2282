// Every operator, called with inputs and attributes that do not fit: an Error, or a result, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/onnx/cases.h"
#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/onnx/network.h"
#include "veldt/onnx/operators.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {
namespace {

// Gives back what it was given, and sometimes less.
struct EchoingBodies final : Bodies {
  explicit EchoingBodies(Rng& r) : rng(r) {}
  Values run(std::string_view, Values inputs) override {
    if (++runs > 20) throw Error("the body has run 20 times", "a loop may go on for ever", "stop here");
    if (rng.next_below(4) == 0 && !inputs.empty()) inputs.pop_back();
    return inputs;
  }
  const std::vector<ValueInfo>& outputs(std::string_view) override {
    declared.resize(rng.next_below(6));
    for (ValueInfo& info : declared) {
      info.type.element = static_cast<ElementType>(rng.next_below(kElementTypes));
      info.type.dimensions.resize(rng.next_below(12));
      for (Dimension& d : info.type.dimensions) d.size = static_cast<std::int64_t>(rng.next_below(4)) - 1;
    }
    return declared;
  }
  Rng& rng;
  std::vector<ValueInfo> declared;
  int runs = 0;
};

template <class T> const T& one_of(Rng& rng, const std::vector<T>& list) {
  return list[static_cast<std::size_t>(rng.next_below(list.size()))];
}

const std::vector<std::int64_t>& odd_integers() {
  static const std::vector<std::int64_t> values = {0,
                                                   1,
                                                   1,
                                                   2,
                                                   2,
                                                   3,
                                                   4,
                                                   -1,
                                                   -2,
                                                   7,
                                                   16,
                                                   1000,
                                                   65536,
                                                   std::int64_t{1} << 31,
                                                   std::int64_t{1} << 40,
                                                   std::numeric_limits<std::int64_t>::max(),
                                                   std::numeric_limits<std::int64_t>::min()};
  return values;
}
const std::vector<double>& odd_reals() {
  static const std::vector<double> values = {0,
                                             0.5,
                                             1,
                                             2,
                                             -1,
                                             1e-30,
                                             1e30,
                                             -1e30,
                                             std::numeric_limits<double>::infinity(),
                                             std::numeric_limits<double>::quiet_NaN()};
  return values;
}

Value odd_input(Rng& rng) {
  const std::uint64_t kind = rng.next_below(12);
  if (kind == 0) return {};
  if (kind == 1) return Value(Texts{{2}, {"a b", ""}});
  if (kind == 2) return Value::sequence({Value(ones({2, 3})), Value(zeros({2}))});
  if (kind == 3) return Value::optional({});
  Shape shape;
  const auto rank = static_cast<int>(rng.next_below(6));
  for (int d = 0; d < rank; ++d) shape.push_back(one_of<std::int64_t>(rng, {1, 2, 2, 3, 4, 4, 0}));
  if (kind <= 6) {  // sizes, axes, indices
    std::vector<std::int64_t> values;
    if (rng.next_below(2) == 0) shape = {static_cast<std::int64_t>(rng.next_below(5))};
    for (std::int64_t i = 0; i < numel(shape); ++i) values.push_back(one_of(rng, odd_integers()));
    return Value(Tensor::from<std::int64_t>(shape, values));
  }
  if (kind == 7)
    return fitted(randint(shape, rng, -200, 200),
                  one_of<ElementType>(rng, {ElementType::uint8, ElementType::int8, ElementType::int32,
                                            ElementType::int4, ElementType::uint16}));
  if (kind == 8) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < numel(shape); ++i) values.push_back(one_of(rng, odd_reals()));
    return Value(to(Tensor::from<double>(shape, values), DType::f32));
  }
  if (kind == 9) return Value(to(randint(shape, rng, 0, 2), DType::boolean));
  return Value(to(randn(shape, rng),
                  one_of<DType>(rng, {DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16})));
}

// All names of attributes that operators read.
const std::vector<std::string>& attribute_names() {
  static const std::vector<std::string> names = {"axis",
                                                 "axes",
                                                 "keepdims",
                                                 "mode",
                                                 "to",
                                                 "dtype",
                                                 "shape",
                                                 "perm",
                                                 "kernel_shape",
                                                 "strides",
                                                 "dilations",
                                                 "pads",
                                                 "auto_pad",
                                                 "group",
                                                 "ceil_mode",
                                                 "count_include_pad",
                                                 "storage_order",
                                                 "output_padding",
                                                 "output_shape",
                                                 "direction",
                                                 "hidden_size",
                                                 "layout",
                                                 "activations",
                                                 "activation_alpha",
                                                 "clip",
                                                 "reduction",
                                                 "ignore_index",
                                                 "alpha",
                                                 "beta",
                                                 "gamma",
                                                 "epsilon",
                                                 "p",
                                                 "size",
                                                 "blocksize",
                                                 "block_size",
                                                 "batch_dims",
                                                 "split",
                                                 "num_outputs",
                                                 "start",
                                                 "end",
                                                 "allowzero",
                                                 "coordinate_transformation_mode",
                                                 "nearest_mode",
                                                 "antialias",
                                                 "exclude_outside",
                                                 "keep_aspect_ratio_policy",
                                                 "cubic_coeff_a",
                                                 "scales",
                                                 "align_corners",
                                                 "padding_mode",
                                                 "q_num_heads",
                                                 "kv_num_heads",
                                                 "num_heads",
                                                 "is_causal",
                                                 "scale",
                                                 "softcap",
                                                 "qk_matmul_output_mode",
                                                 "left_window_size",
                                                 "interleaved",
                                                 "rotary_embedding_dim",
                                                 "update_rule",
                                                 "output_height",
                                                 "output_width",
                                                 "sampling_ratio",
                                                 "spatial_scale",
                                                 "pooled_shape",
                                                 "center_point_box",
                                                 "offset_group",
                                                 "inverse",
                                                 "onesided",
                                                 "periodic",
                                                 "output_datatype",
                                                 "output_dtype",
                                                 "precision",
                                                 "seed",
                                                 "sample_size",
                                                 "low",
                                                 "high",
                                                 "ngram_counts",
                                                 "ngram_indexes",
                                                 "min_gram_length",
                                                 "max_gram_length",
                                                 "max_skip_count",
                                                 "pool_int64s",
                                                 "weights",
                                                 "pattern",
                                                 "delimiter",
                                                 "maxsplit",
                                                 "case_change_action",
                                                 "stopwords",
                                                 "equation",
                                                 "num_scan_inputs",
                                                 "num_groups",
                                                 "keys_strings",
                                                 "values_int64s",
                                                 "keys_int64s",
                                                 "values_floats",
                                                 "nodes_modes",
                                                 "nodes_splits",
                                                 "nodes_featureids",
                                                 "nodes_truenodeids",
                                                 "nodes_falsenodeids",
                                                 "nodes_trueleafs",
                                                 "nodes_falseleafs",
                                                 "leaf_targetids",
                                                 "leaf_weights",
                                                 "tree_roots",
                                                 "n_targets",
                                                 "threshold",
                                                 "offset",
                                                 "norm",
                                                 "imputed_value_floats",
                                                 "pixel_format",
                                                 "activation",
                                                 "new_axis",
                                                 "qkv_hidden_sizes",
                                                 "unidirectional",
                                                 "transA",
                                                 "transB",
                                                 "linear_before_reset",
                                                 "value",
                                                 "k",
                                                 "largest",
                                                 "sorted",
                                                 "fmod"};
  return names;
}

Attribute odd_attribute(Rng& rng, const std::string& name) {
  Attribute a;
  a.name = name;
  using Kind = Attribute::Kind;
  a.kind = one_of<Kind>(rng, {Kind::integer, Kind::integer, Kind::integer, Kind::integers, Kind::integers,
                              Kind::real, Kind::reals, Kind::text, Kind::texts, Kind::value});
  a.integer = one_of(rng, odd_integers());
  a.real = one_of(rng, odd_reals());
  const std::vector<std::string> texts = {"",
                                          "linear",
                                          "cubic",
                                          "nearest",
                                          "max",
                                          "reverse",
                                          "bidirectional",
                                          "SAME_UPPER",
                                          "add",
                                          "TF",
                                          "Relu",
                                          "Tanh",
                                          "ij,jk->ik",
                                          "(a*)*b",
                                          "reflection",
                                          "circular",
                                          "gated",
                                          "tf_crop_and_resize",
                                          "align_corners"};
  a.text = one_of(rng, texts);
  for (std::uint64_t i = rng.next_below(5); i > 0; --i) {
    a.integers.push_back(one_of(rng, odd_integers()));
    a.reals.push_back(one_of(rng, odd_reals()));
    a.texts.push_back(one_of(rng, texts));
  }
  Value value = odd_input(rng);
  a.values.push_back(value.present() ? value : Value(zeros({1})));
  return a;
}

TEST(OnnxOperators, NeverDoMoreThanThrow) {
  Rng rng(11 + static_cast<std::uint64_t>(testing::GTEST_FLAG(random_seed)));
  std::size_t results = 0, errors = 0;
  for (const std::string& full : operators().names()) {
    const std::size_t colon = full.find(':');
    const std::string domain = colon == std::string::npos ? "" : full.substr(0, colon);
    const std::string name = colon == std::string::npos ? full : full.substr(colon + 1);
    SCOPED_TRACE(full);
    for (int round = 0; round < 60; ++round) {
      Node node;
      node.op = name;
      node.domain = domain;
      Values inputs;
      for (std::uint64_t i = rng.next_below(7); i > 0; --i) inputs.push_back(odd_input(rng));
      std::set<std::string> taken;
      for (std::uint64_t i = rng.next_below(70); i > 0; --i) {
        const std::string& attribute = one_of(rng, attribute_names());
        if (taken.insert(attribute).second) node.attributes.push_back(odd_attribute(rng, attribute));
      }
      for (std::uint64_t i = rng.next_below(4); i > 0; --i) node.outputs.push_back("y" + std::to_string(i));
      EchoingBodies bodies(rng);
      try {
        operators()
            .find(domain, name)
            ->run(Call(node, one_of<std::int64_t>(rng, {1, 7, 9, 11, 13, 18, 21, 25}), inputs, bodies, rng));
        ++results;
      } catch (const Error&) {
        ++errors;
      } catch (const std::exception& other) {
        ADD_FAILURE() << "round " << round << " threw no Error but " << other.what();
      }
    }
  }
  EXPECT_GT(results, 200U);
  EXPECT_GT(errors, 2000U);
}

// A node of ONNX's cases with one thing changed: an attribute, an input, or what an input holds.
void change(Rng& rng, Graph& graph, Values& inputs) {
  Node& node = graph.nodes[static_cast<std::size_t>(rng.next_below(graph.nodes.size()))];
  const std::uint64_t kind = rng.next_below(5);
  if (kind <= 1 && !node.attributes.empty()) {
    Attribute& a = node.attributes[static_cast<std::size_t>(rng.next_below(node.attributes.size()))];
    const Attribute odd = odd_attribute(rng, a.name);
    a.integer = odd.integer;
    a.real = odd.real;
    if (rng.next_below(3) == 0) a.text = odd.text;
    if (!a.integers.empty())
      a.integers[static_cast<std::size_t>(rng.next_below(a.integers.size()))] = odd.integer;
    if (!a.reals.empty()) a.reals[static_cast<std::size_t>(rng.next_below(a.reals.size()))] = odd.real;
    if (rng.next_below(4) == 0 && a.integers.size() > 1) a.integers.pop_back();
  } else if (kind == 2) {
    node.attributes.push_back(odd_attribute(rng, one_of(rng, attribute_names())));
  } else if (!inputs.empty()) {
    Value& input = inputs[static_cast<std::size_t>(rng.next_below(inputs.size()))];
    if (kind == 3 || !input.is_tensor() || input.tensor().numel() == 0 || is_float(input.tensor().dtype())) {
      input = odd_input(rng);
    } else {  // one of its numbers
      std::vector<std::int64_t> values = to(input.tensor(), DType::i64).values<std::int64_t>();
      values[static_cast<std::size_t>(rng.next_below(values.size()))] = one_of(rng, odd_integers());
      input = fitted(Tensor::from<std::int64_t>(input.shape(), values), input.type());
    }
  }
}

TEST(SlowOnnxOperators, CasesOnOddPathsDoNotMoreThanThrow) {
  const char* given = std::getenv("VELDT_ONNX_CASES");
  const std::vector<std::string> folders =
      cases_in(given != nullptr ? given : "/usr/share/libonnx-testdata/data/node");
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not here";
  const auto seed = static_cast<std::uint64_t>(testing::GTEST_FLAG(random_seed));
  std::size_t results = 0, errors = 0;
  for (const std::string& folder : folders) {
    SCOPED_TRACE(folder);
    const Model whole = read_model(folder + "/model.onnx");
    // A Loop may go on for ever: that is its right.
    const auto loops = [](const Node& node) { return node.op == "Loop"; };
    if (std::any_of(whole.graph.nodes.begin(), whole.graph.nodes.end(), loops)) continue;
    for (std::uint64_t round = 0; round < 8; ++round) {
      Rng rng(seed * 100 + round);
      Model model = whole;
      Values inputs;
      for (std::size_t i = 0; i < model.graph.inputs.size(); ++i) {
        const std::string file = folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb";
        if (!std::filesystem::exists(file)) break;
        inputs.push_back(read_value(file, model.graph.inputs[i].type));
        model.graph.inputs[i].type = {};  // takes anything
      }
      if (model.graph.nodes.empty()) continue;
      for (std::uint64_t i = rng.next_below(3) + 1; i > 0; --i) change(rng, model.graph, inputs);
      if (std::getenv("VELDT_TRACE") != nullptr) std::cerr << folder << ' ' << round << std::endl;
      try {
        const Network network(std::move(model));
        network.run(std::move(inputs));
        ++results;
      } catch (const Error&) {
        ++errors;
      } catch (const std::exception& other) {
        ADD_FAILURE() << "round " << round << " threw no Error but " << other.what();
      }
    }
  }
  EXPECT_GT(results, 500U);
  EXPECT_GT(errors, 500U);
}

}  // namespace
}  // namespace veldt::onnx
