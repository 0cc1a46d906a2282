// Attention and the layers of transformers against PyTorch (tests/golden/attention.json), and what they
// refuse.
#include "veldt/nn/attention.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/golden/nn_and_optim.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/index.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {
namespace {

using nlohmann::json;
using test::error_of;
using testing::HasSubstr;

struct AttentionCase {
  const json& g;
  NamedTensors inputs = {};

  bool option(const char* name, bool absent = false) const {
    return g.at("options").contains(name) ? g.at("options").at(name).get<bool>() : absent;
  }
  Tensor input(const char* name) {
    inputs.push_back({name, test::tensor_of(g.at("inputs").at(name), DType::f64).set_requires_grad()});
    return inputs.back().tensor;
  }
  Tensor mask(const char* name) const {
    return g.at("masks").contains(name) ? veldt::to(test::tensor_of(g.at("masks").at(name)), DType::boolean)
                                        : Tensor();
  }
  TransformerLayerOptions layer_options() const {
    return {.dim_feedforward = 5,
            .dropout = 0,
            .gelu = option("gelu"),
            .norm_first = option("norm_first"),
            .batch_first = option("batch_first"),
            .dtype = DType::f64};
  }
};

// The layer with the state of the case.
template <class Layer> Layer loaded(Layer layer, const json& g) {
  NamedTensors state;
  for (const auto& [name, values] : g.at("state").items()) state.push_back({name, test::tensor_of(values)});
  layer.load_state_dict(state);
  return layer;
}

void expect_gradients(const Module& layer, const AttentionCase& c, const Tensor& y) {
  EXPECT_TRUE(test::near(y, c.g.at("output"), 1e-12)) << layer.title();
  std::vector<double> weights;
  for (std::int64_t i = 0; i < y.numel(); ++i) weights.push_back(0.5 + 0.1 * static_cast<double>(i % 7));
  sum(y * Tensor::from<double>(y.shape(), weights)).backward();
  for (const auto& [name, x] : c.inputs)
    EXPECT_TRUE(test::near(x.grad(), c.g.at("gradients").at(name), 1e-11)) << layer.title() << ' ' << name;
  const NamedTensors parameters = layer.named_parameters();
  EXPECT_EQ(parameters.size() + c.inputs.size(), c.g.at("gradients").size());
  for (const auto& [name, p] : parameters)
    EXPECT_TRUE(test::near(p.grad(), c.g.at("gradients").at(name), 1e-11)) << layer.title() << ' ' << name;
}

TEST(GoldenAttention, ResultsAndGradientsAreTorchs) {
  const json golden = test::read_golden("attention.json");
  ASSERT_EQ(golden.at("cases").size(), 11u);
  for (const json& g : golden.at("cases")) {
    AttentionCase c{g};
    const Tensor given = c.mask("mask");
    const bool numbers = given.defined() && is_float(given.dtype());
    const AttentionMask mask{.may_attend = numbers ? Tensor() : given,
                             .added = numbers ? given : Tensor(),
                             .valid_keys = c.mask("padding"),
                             .causal = c.option("causal")};
    const auto kind = g.at("layer").get<std::string>();
    if (kind == "MultiheadAttention") {
      const MultiheadAttention layer = loaded(
          MultiheadAttention(
              6, 2,
              {.bias = c.option("bias", true), .batch_first = c.option("batch_first"), .dtype = DType::f64}),
          g);
      const bool itself = g.at("inputs").contains("x");
      const Tensor query = c.input(itself ? "x" : "query"), key = itself ? query : c.input("key"),
                   value = itself ? query : c.input("value");
      expect_gradients(layer, c, layer.attend(query, key, value, mask));
    } else if (kind == "TransformerEncoderLayer") {
      const TransformerEncoderLayer layer = loaded(TransformerEncoderLayer(4, 2, c.layer_options()), g);
      expect_gradients(layer, c, layer(c.input("x")));
    } else if (kind == "TransformerEncoder") {
      const TransformerEncoder stack =
          loaded(TransformerEncoder(2, 4, 2, {.layer = c.layer_options(), .norm = c.option("norm")}), g);
      expect_gradients(stack, c, stack.encode(c.input("x"), mask));
    } else if (kind == "TransformerDecoder") {
      const TransformerDecoder stack =
          loaded(TransformerDecoder(2, 4, 2, {.layer = c.layer_options(), .norm = c.option("norm")}), g);
      const Tensor x = c.input("x");
      expect_gradients(stack, c, stack.decode(x, c.input("memory"), mask));
    } else {
      const TransformerDecoderLayer layer = loaded(TransformerDecoderLayer(4, 2, c.layer_options()), g);
      const Tensor x = c.input("x");
      expect_gradients(layer, c, layer.decode(x, c.input("memory"), mask));
    }
  }
}

TEST(Attention, OfAQueryThatMayLookAtNothingIsZero) {
  Rng rng(4);
  Tensor q = randn({2, 3}, rng).set_requires_grad();
  const Tensor k = randn({4, 3}, rng), seen = veldt::to(Tensor::of({2, 1}, {0, 1}), DType::boolean);
  const Tensor y = scaled_dot_product_attention(q, k, k, {.mask = seen});
  EXPECT_EQ(sum(abs(select(y, 0, 0))).item(), 0);
  EXPECT_GT(sum(abs(select(y, 0, 1))).item(), 0);
  sum(y).backward();
  EXPECT_EQ(sum(abs(select(q.grad(), 0, 0))).item(), 0);
}

TEST(Attention, OfPaddingBesideAMaskOfNumbersIsThatBesideBooleans) {
  const auto booleans = [](const Tensor& t) { return veldt::to(t, DType::boolean); };
  const Tensor seen = tril(ones({3, 3}, DType::boolean)),
               valid = booleans(Tensor::of({2, 3}, {0, 1, 1, 0, 0, 0}));
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    Rng rng(4);
    const MultiheadAttention layer(4, 2, {.batch_first = true, .dtype = dtype}, rng);
    const Tensor x = veldt::to(randn({2, 3, 4}, rng), dtype),
                 numbers = masked_fill(zeros({3, 3}, dtype), logical_not(seen), -INFINITY);
    const Tensor wanted = layer.attend(x, x, x, {.may_attend = seen, .valid_keys = valid}),
                 found = layer.attend(x, x, x, {.added = numbers, .valid_keys = valid});
    EXPECT_TRUE(all(isfinite(found)).item<bool>()) << dtype;
    EXPECT_EQ(max(abs(found - wanted)).item(), 0) << dtype;
  }
}

TEST(Attention, ByRotaryPositionsDependsOnTheDistanceAlone) {
  Rng rng(4);
  const Tensor q = randn({1, 8}, rng), k = randn({1, 8}, rng);
  const auto product = [&](std::int64_t at_q, std::int64_t at_k) {
    return sum(rotary_embedding(q, at_q) * rotary_embedding(k, at_k)).item();
  };
  EXPECT_NEAR(product(3, 1), product(12, 10), 1e-5);
  EXPECT_GT(std::abs(product(3, 1) - product(5, 1)), 1e-3);
  EXPECT_NEAR(product(0, 0), sum(q * k).item(), 1e-6);
}

// Heads of a size of their own: two of three numbers in a stream of eight.
TEST(Attention, HeadsMayHaveASizeOfTheirOwn) {
  Rng rng(8);
  nn::MultiheadAttention attention(8, 2, {.batch_first = true, .head_dim = 3}, rng);
  EXPECT_EQ(attention.heads(), 2);
  EXPECT_EQ(attention.state_dict()[0].tensor.shape(), Shape({18, 8}));
  EXPECT_EQ(attention.title(), "MultiheadAttention(8, 2 of 3)");
  const Tensor x = randn({2, 5, 8}, rng);
  const Tensor self = attention(x);
  EXPECT_EQ(self.shape(), Shape({2, 5, 8}));
  // The way of three different inputs gives the same.
  EXPECT_LT(max(abs(attention.attend(x, clone(x), clone(x)) - self)).item(), 1e-5);
  EXPECT_THAT(error_of<ConfigError>([&] { nn::MultiheadAttention(8, 3); }), HasSubstr("divides"));
  EXPECT_NO_THROW(nn::MultiheadAttention(8, 3, {.head_dim = 2}));
}

TEST(Attention, OfADetachedSelfHasTheGradientsOfTheRest) {
  Rng rng(5);
  const MultiheadAttention layer(8, 2, {.batch_first = true}, rng);
  const Tensor values = randn({2, 3, 8}, rng);
  const auto gradient = [&](const std::array<bool, 3>& cut, bool copied) {
    Tensor x = parameter(values.detach());
    const auto part = [&](std::size_t i) {
      if (!cut[i]) return x;
      return copied ? x.detach() * 1.0 : x.detach();
    };
    return grad(sum(square(layer.attend(part(0), part(1), part(2)))), {x})[0].values<float>();
  };
  const std::array<bool, 3> query{true, false, false}, rest{false, true, true};
  for (const auto& cut : {query, rest}) EXPECT_EQ(gradient(cut, false), gradient(cut, true));
}

TEST(Attention, DropsWeightsInTrainingAlone) {
  Rng rng(2);
  MultiheadAttention layer(4, 2, {.dropout = 0.5, .batch_first = true}, rng);
  const Tensor x = randn({2, 6, 4}, rng);
  EXPECT_GT(max(abs(layer(x) - layer(x))).item(), 1e-4);
  layer.eval();
  EXPECT_EQ(max(abs(layer(x) - layer(x))).item(), 0);
}

TEST(Attention, OfAStackStartsEachLayerWithValuesOfItsOwn) {
  Rng rng(3);
  TransformerEncoder stack(2, 8, 2, {.layer = {.dim_feedforward = 16}}, rng);
  const NamedTensors state = stack.state_dict();
  EXPECT_EQ(stack.title(), "TransformerEncoder(2, 8, 2)");
  const auto named = [&](const std::string& name) {
    for (const auto& [n, t] : state)
      if (n == name) return t;
    ADD_FAILURE() << name;
    return Tensor();
  };
  for (const char* part : {"linear1.weight", "self_attn.in_proj_weight", "dropout.rng"})
    EXPECT_NE(sum(abs(named(str("layers.0.", part)) - named(str("layers.1.", part)))).item(), 0) << part;
  named("norm.weight");
  // A clone's layers are its own.
  const TransformerEncoder copy = clone(stack);
  Tensor(named("layers.1.linear1.bias")).detach().assign(ones({16}));
  stack.eval();
  TransformerEncoder other = copy;
  other.eval();
  const Tensor x = randn({3, 1, 8}, rng);
  EXPECT_GT(max(abs(stack(x) - other(x))).item(), 1e-4);
}

TEST(Attention, IsRecorded) {
  Rng rng(2);
  TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 16, .batch_first = true}, rng);
  layer.eval();
  const Tensor x = randn({2, 5, 8}, rng);
  const auto step = [&] { return sum(layer.encode(x, {.causal = true})); };
  NoGrad off;
  Plan plan(step);
  plan.replay();
  EXPECT_EQ(plan.output().item(), step().item());
}

TEST(Attention, OfAllPartsOfAMaskIsWhatEachAllows) {
  const auto booleans = [](const Tensor& t) { return veldt::to(t, DType::boolean); };
  Rng rng(4);
  const MultiheadAttention layer(4, 2, {.batch_first = true}, rng);
  const Tensor x = randn({1, 3, 4}, rng);
  const Tensor seen = booleans(Tensor::of({3, 3}, {1, 1, 0, 1, 1, 0, 1, 1, 1})),
               bent = Tensor::of({3, 3}, {0, 2, 0, 0, 0, 0, 0, -1, 0});
  const AttentionMask all{.may_attend = seen,
                          .added = bent,
                          .valid_keys = booleans(Tensor::of({1, 3}, {1, 1, 0})),
                          .causal = true};
  const Tensor one = Tensor::of({3, 3}, {0, -INFINITY, -INFINITY, 0, 0, -INFINITY, 0, -1, -INFINITY});
  EXPECT_LT(max(abs(layer.attend(x, x, x, all) - layer.attend(x, x, x, {.added = one}))).item(), 1e-6);
}

TEST(Attention, NamesWhatDoesNotFit) {
  const MultiheadAttention layer(6, 2);
  EXPECT_THAT(error_of<ShapeError>([&] { layer(ones({3, 6})); }), HasSubstr("[3, 6]"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                layer.attend(ones({3, 2, 6}), ones({4, 1, 6}), ones({4, 1, 6}));
              }),
              HasSubstr("[4, 1, 6]"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                layer.attend(ones({3, 2, 6}), ones({4, 2, 6}), ones({4, 2, 6}),
                             {.valid_keys = ones({2, 3}, DType::boolean)});
              }),
              HasSubstr("valid_keys of bool [2, 3]"));
  const auto attend = [&](const AttentionMask& mask) {
    return error_of<ShapeError>([&] {
      layer.attend(ones({3, 2, 6}), ones({4, 2, 6}), ones({4, 2, 6}), mask);
    });
  };
  EXPECT_THAT(attend({.may_attend = zeros({3, 4})}), HasSubstr("numbers as `added`"));
  EXPECT_THAT(attend({.added = ones({3, 4}, DType::boolean)}), HasSubstr("booleans as `may_attend`"));
  EXPECT_THAT(error_of<ConfigError>([] { MultiheadAttention(6, 4); }), HasSubstr("MultiheadAttention(6, 4)"));
  EXPECT_THAT(error_of<ConfigError>([] { TransformerEncoder(0, 6, 2); }),
              HasSubstr("TransformerEncoder(0, 6, 2)"));
  EXPECT_THAT(error_of<ConfigError>([] { TransformerDecoder(-1, 6, 2); }),
              HasSubstr("TransformerDecoder(-1, 6, 2)"));
  EXPECT_THAT(error_of<ShapeError>([] {
                scaled_dot_product_attention(ones({2, 3}), ones({2, 4}), ones({2, 4}));
              }),
              HasSubstr("[2, 3] with keys [2, 4]"));
  EXPECT_THAT(error_of<ShapeError>([] {
                scaled_dot_product_attention(ones({2, 3}), ones({2, 3}), ones({3, 4}));
              }),
              HasSubstr("[3, 4]"));
  EXPECT_THAT(error_of<ShapeError>([] { rotary_embedding(ones({2, 3})); }), HasSubstr("[2, 3]"));
}

TEST(Transformer, ThatIsCausalDoesNotSeeWhatComes) {
  Rng rng(2);
  const TransformerEncoderLayer layer(
      4, 2, {.dim_feedforward = 8, .dropout = 0, .batch_first = true, .causal = true}, rng);
  const Tensor x = randn({1, 3, 4}, rng);
  const Tensor whole = layer(x), part = layer(slice(x, 1, 0, 2));
  EXPECT_LT(max(abs(slice(whole, 1, 0, 2) - part)).item(), 1e-5);
  const TransformerLayerOptions causal{
      .dim_feedforward = 8, .dropout = 0, .batch_first = true, .causal = true};
  const TransformerEncoder stack(2, 4, 2, {.layer = causal}, rng);
  EXPECT_LT(max(abs(slice(stack(x), 1, 0, 2) - stack(slice(x, 1, 0, 2)))).item(), 1e-5);
  const TransformerDecoderLayer decoder(4, 2, causal, rng);
  EXPECT_LT(max(abs(slice(decoder.decode(x, x), 1, 0, 2) - decoder.decode(slice(x, 1, 0, 2), x))).item(),
            1e-5);
}

}  // namespace
}  // namespace veldt::nn
