// Llama's layers: root mean squares, rotary positions, shared keys, a gate.
#include "veldt/models/llama.h"

#include <cmath>
#include <numbers>
#include <tuple>

#include "veldt/core/error.h"
#include "veldt/models/config_check.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::models {
namespace {

nn::LinearOptions projection(bool bias) { return {.bias = bias}; }

const LlamaOptions& checked(const LlamaOptions& o) {
  check_sizes("Llama", {{"vocab_size", o.vocab_size},
                        {"hidden_size", o.hidden_size},
                        {"intermediate_size", o.intermediate_size},
                        {"num_attention_heads", o.num_attention_heads},
                        {"num_key_value_heads", o.num_key_value_heads},
                        {"head_dim", o.head_dim},
                        {"max_position_embeddings", o.max_position_embeddings}});
  check_sizes("Llama", {{"head_dim of all heads", o.head_dim * o.num_attention_heads}});
  check_layers("Llama", o.num_hidden_layers);
  check_heads("Llama", o.num_attention_heads, o.num_key_value_heads);
  check_heads("Llama", o.head_dim, 2);
  return o;
}

// base^(-2 i / size), stretched.
std::vector<double> frequencies_of(const LlamaOptions& o) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < o.head_dim; i += 2) {
    double frequency = std::pow(o.rope_theta, -static_cast<double>(i) / static_cast<double>(o.head_dim));
    if (const auto& scaling = o.rope_scaling) {
      const double turns =
          static_cast<double>(scaling->original_max_position_embeddings) * frequency / (2 * std::numbers::pi);
      const double low = scaling->low_freq_factor, high = scaling->high_freq_factor;
      if (!scaling->llama3 || turns < low) {
        frequency /= scaling->factor;
      } else if (turns <= high) {
        const double smooth = (turns - low) / (high - low);
        frequency *= (1 - smooth) / scaling->factor + smooth;
      }
    }
    all.push_back(frequency);
  }
  return all;
}

// The pair (i, i + size / 2) of x [n, heads, time, size] turned by the angles [time, size / 2].
Tensor turned(const Tensor& x, const Tensor& cosine, const Tensor& sine) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor a = narrow(x, -1, 0, half), b = narrow(x, -1, half, half);
  return cat({a * cosine - b * sine, b * cosine + a * sine}, -1);
}

}  // namespace

Llama::Attention::Attention(const LlamaOptions& o, Rng& rng)
    : q_proj(o.hidden_size, o.num_attention_heads * o.head_dim, projection(o.attention_bias), rng),
      k_proj(o.hidden_size, o.num_key_value_heads * o.head_dim, projection(o.attention_bias), rng),
      v_proj(o.hidden_size, o.num_key_value_heads * o.head_dim, projection(o.attention_bias), rng),
      o_proj(o.num_attention_heads * o.head_dim, o.hidden_size, projection(o.attention_bias), rng),
      dropout(o.attention_dropout, rng) {}

Llama::Mlp::Mlp(const LlamaOptions& o, Rng& rng)
    : gate_proj(o.hidden_size, o.intermediate_size, projection(o.mlp_bias), rng),
      up_proj(o.hidden_size, o.intermediate_size, projection(o.mlp_bias), rng),
      down_proj(o.intermediate_size, o.hidden_size, projection(o.mlp_bias), rng) {}

Tensor Llama::Mlp::forward(const Tensor& x) const { return down_proj(silu(gate_proj(x)) * up_proj(x)); }

Llama::Layer::Layer(const LlamaOptions& o, Rng& rng)
    : self_attn(o, rng),
      mlp(o, rng),
      input_layernorm(o.hidden_size, {.eps = o.rms_norm_eps}),
      post_attention_layernorm(o.hidden_size, {.eps = o.rms_norm_eps}) {}

Llama::Decoder::Decoder(const LlamaOptions& o, Rng& rng)
    : embed_tokens(o.vocab_size, o.hidden_size, rng), norm(o.hidden_size, {.eps = o.rms_norm_eps}) {
  for (std::int64_t i = 0; i < o.num_hidden_layers; ++i) layers.emplace_back(o, rng);
}

Llama::Llama(const LlamaOptions& options, Rng& rng)
    : options_(checked(options)), frequencies_(frequencies_of(options)), model_(options, rng) {
  if (!options.tie_word_embeddings)
    lm_head_.emplace(options.hidden_size, options.vocab_size, projection(false), rng);
  constexpr double kDeviation = 0.02;
  apply([&](nn::Module& module) {
    if (auto* linear = dynamic_cast<nn::Linear*>(&module)) {
      nn::init::normal(linear->weight(), 0, kDeviation, rng);
      if (linear->bias().defined()) nn::init::constant(linear->bias(), 0);
    } else if (auto* table = dynamic_cast<nn::Embedding*>(&module)) {
      nn::init::normal(table->weight(), 0, kDeviation, rng);
    }
  });
}

std::string Llama::title() const {
  return str("Llama(", options_.num_hidden_layers, ", ", options_.hidden_size, ", ",
             options_.num_attention_heads, ')');
}

Tensor Llama::head(const Tensor& x) const {
  return lm_head_ ? (*lm_head_)(x) : model_.embed_tokens.scores(x);
}

Tensor Llama::body(const Tensor& ids, std::int64_t first, KeyValueCache* cache) const {
  Tensor x = model_.embed_tokens(ids);
  const Tensor steps =
      veldt::to(arange(ids.size(1), DType::i64, x.device()), DType::f64) + static_cast<double>(first);
  const Tensor turn = unsqueeze(steps, 1) *
                      veldt::to(Tensor::from<double>({std::ssize(frequencies_)}, frequencies_), x.device());
  const Tensor cosine = veldt::to(cos(turn), x.dtype()), sine = veldt::to(sin(turn), x.dtype());
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    const Layer& layer = model_.layers[i];
    const Tensor seen = layer.input_layernorm(x);
    const Tensor queries =
        turned(by_head(layer.self_attn.q_proj(seen), options_.num_attention_heads), cosine, sine);
    Tensor keys = turned(by_head(layer.self_attn.k_proj(seen), options_.num_key_value_heads), cosine, sine);
    Tensor values = by_head(layer.self_attn.v_proj(seen), options_.num_key_value_heads);
    if (cache != nullptr) std::tie(keys, values) = cache->append(i, keys, values);
    x = x + layer.self_attn.o_proj(grouped_attention(queries, keys, values, layer.self_attn.dropout));
    x = x + layer.mlp(layer.post_attention_layernorm(x));
  }
  return model_.norm(x);
}

}  // namespace veldt::models
