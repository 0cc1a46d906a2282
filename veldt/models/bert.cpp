// BERT's layers: norms last, gelu by the normal distribution.
#include "veldt/models/bert.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/models/causal_model.h"
#include "veldt/models/config_check.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::models {
namespace {

nn::LayerNorm norm_of(const BertOptions& o) {
  return nn::LayerNorm(o.hidden_size, {.eps = o.layer_norm_eps});
}

const BertOptions& checked(const BertOptions& o) {
  check_sizes("BERT", {{"vocab_size", o.vocab_size},
                       {"hidden_size", o.hidden_size},
                       {"num_attention_heads", o.num_attention_heads},
                       {"intermediate_size", o.intermediate_size},
                       {"max_position_embeddings", o.max_position_embeddings},
                       {"type_vocab_size", o.type_vocab_size}});
  check_layers("BERT", o.num_hidden_layers);
  if (o.position_padding && (*o.position_padding < 0 || *o.position_padding >= o.max_position_embeddings - 1))
    throw ConfigError(str("cannot build BERT with pad_token_id of ", *o.position_padding),
                      str("positions begin after it, and there are ", o.max_position_embeddings),
                      "correct its config.json");
  check_heads("BERT", o.hidden_size, o.num_attention_heads);
  return o;
}

}  // namespace

Bert::Embeddings::Embeddings(const BertOptions& o, Rng& rng)
    : word(o.vocab_size, o.hidden_size, rng),
      position(o.max_position_embeddings, o.hidden_size, rng),
      type(o.type_vocab_size, o.hidden_size, rng),
      norm(norm_of(o)),
      dropout(o.hidden_dropout_prob, rng) {}

void Bert::Embeddings::fields(nn::Fields& f) {
  f("word_embeddings", word)("position_embeddings", position)("token_type_embeddings", type);
  f("LayerNorm", norm)("dropout", dropout);
}

Bert::SelfAttention::SelfAttention(const BertOptions& o, Rng& rng)
    : query(o.hidden_size, o.hidden_size, rng),
      key(o.hidden_size, o.hidden_size, rng),
      value(o.hidden_size, o.hidden_size, rng),
      dropout(o.attention_probs_dropout_prob, rng) {}

Bert::Output::Output(std::int64_t in, const BertOptions& o, Rng& rng)
    : dense(in, o.hidden_size, rng), norm(norm_of(o)), dropout(o.hidden_dropout_prob, rng) {}

Tensor Bert::Output::added(const Tensor& x, const Tensor& before) const {
  return norm(dropout(dense(x)) + before);
}

Bert::Layer::Layer(const BertOptions& o, Rng& rng)
    : attention(o, rng),
      intermediate(o.hidden_size, o.intermediate_size, rng),
      output(o.intermediate_size, o, rng) {}

Bert::Bert(const BertOptions& options, Rng& rng) : options_(checked(options)), embeddings_(options, rng) {
  for (std::int64_t i = 0; i < options.num_hidden_layers; ++i) encoder_.layer.emplace_back(options, rng);
  if (options.pooler) pooler_.emplace(options.hidden_size, options.hidden_size, rng);
  constexpr double kDeviation = 0.02;
  apply([&](nn::Module& module) {
    if (auto* linear = dynamic_cast<nn::Linear*>(&module)) {
      nn::init::normal(linear->weight(), 0, kDeviation, rng);
      nn::init::constant(linear->bias(), 0);
    } else if (auto* table = dynamic_cast<nn::Embedding*>(&module)) {
      nn::init::normal(table->weight(), 0, kDeviation, rng);
    }
  });
}

std::string Bert::title() const {
  return str("Bert(", options_.num_hidden_layers, ", ", options_.hidden_size, ", ",
             options_.num_attention_heads, ')');
}

std::int64_t Bert::max_tokens() const {
  return options_.max_position_embeddings - (options_.position_padding ? *options_.position_padding + 1 : 0);
}

Tensor Bert::positions(const Tensor& ids) const {
  if (!options_.position_padding) return arange(ids.size(1), DType::i64, ids.device());
  const Tensor counted = veldt::to(not_equal(ids, *options_.position_padding), DType::i64);
  return cumsum(counted, 1) * counted + *options_.position_padding;
}

BertOutput Bert::encode(const Tensor& ids, const Tensor& attention_mask, const Tensor& types) const {
  if (ids.rank() != 2 || ids.size(1) < 1 || ids.size(1) > max_tokens())
    throw ShapeError(str(title(), " cannot take ", ids.shape()),
                     str("it takes token numbers [n, time], of at most ", max_tokens(), " positions"),
                     "cut long texts, and unsqueeze() a single one");
  AttentionOptions seen;
  if (attention_mask.defined()) {
    if (attention_mask.shape() != ids.shape() || attention_mask.dtype() != DType::boolean)
      throw ShapeError(str(title(), " cannot take an attention_mask of ", attention_mask.dtype(), ' ',
                           attention_mask.shape()),
                       str("it says which of the tokens ", ids.shape(), " count"),
                       "give booleans of their shape");
    seen.mask = reshape(attention_mask, {ids.size(0), 1, 1, ids.size(1)});
  }
  const Tensor kinds = types.defined() ? types : zeros(ids.shape(), DType::i64, ids.device());
  Tensor x = embeddings_.word(ids) + embeddings_.type(kinds) + embeddings_.position(positions(ids));
  x = embeddings_.dropout(embeddings_.norm(x));
  for (const Layer& layer : encoder_.layer) {
    const SelfAttention& self = layer.attention.self;
    const auto part = [&](const nn::Linear& to_part) {
      return by_head(to_part(x), options_.num_attention_heads);
    };
    const Tensor q = part(self.query), k = part(self.key), v = part(self.value);
    const Tensor heads = self.dropout.drops() ? matmul(self.dropout(attention_weights(q, k, seen)), v)
                                              : scaled_dot_product_attention(q, k, v, seen);
    x = layer.attention.output.added(joined_heads(heads), x);
    x = layer.output.added(gelu(layer.intermediate.dense(x)), x);
  }
  if (!pooler_) return {x, {}};
  return {x, tanh(pooler_->dense(select(x, 1, 0)))};
}

Tensor mean_pooled(const Tensor& hidden, const Tensor& attention_mask) {
  const Tensor weights = unsqueeze(to(attention_mask, hidden.dtype()), -1);
  const Tensor mean = sum(hidden * weights, {1}) / maximum(sum(weights, {1}), 1e-9);
  return mean / maximum(sqrt(sum(mean * mean, {1}, true)), 1e-12);
}

}  // namespace veldt::models
