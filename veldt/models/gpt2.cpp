// GPT-2's blocks: norms first, the heads' parts side by side, gelu by tanh.
#include "veldt/models/gpt2.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/models/config_check.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"

namespace veldt::models {
namespace {

constexpr double kGpt2Deviation = 0.02;  // of initial weights; those into the residual stream are smaller

double residual_deviation(const Gpt2Options& o) {
  return kGpt2Deviation / std::sqrt(2 * static_cast<double>(o.n_layer));
}

nn::LayerNorm norm_of(const Gpt2Options& o) { return nn::LayerNorm(o.n_embd, {.eps = o.layer_norm_epsilon}); }

const Gpt2Options& checked(const Gpt2Options& o) {
  check_sizes("GPT-2", {{"vocab_size", o.vocab_size},
                        {"n_positions", o.n_positions},
                        {"n_embd", o.n_embd},
                        {"n_inner", std::max<std::int64_t>(o.n_inner, 1)},
                        {"n_head", o.n_head}});
  check_layers("GPT-2", o.n_layer);
  check_heads("GPT-2", o.n_embd, o.n_head);
  return o;
}

}  // namespace

Gpt2::Conv1D::Conv1D(std::int64_t in, std::int64_t out, double deviation, Rng& rng)
    : LoraLayer(true), bias(nn::parameter(zeros({out}))) {
  const Tensor weight = nn::parameter(empty({in, out}));
  nn::init::normal(weight, 0, deviation, rng);
  weight_ = weight;
}

Tensor Gpt2::Conv1D::forward(const Tensor& x) const { return with_lora(product(x, bias), x); }

void Gpt2::Conv1D::fields(nn::Fields& f) {
  weight_.fields(f, "weight");
  f("bias", bias);
  lora_fields(f);
}

std::string Gpt2::Conv1D::title() const {
  return str("Conv1D(", in_features(), ", ", out_features(), lora_title(), ')');
}

Gpt2::Attention::Attention(const Gpt2Options& o, Rng& rng)
    : c_attn(o.n_embd, 3 * o.n_embd, kGpt2Deviation, rng),
      c_proj(o.n_embd, o.n_embd, residual_deviation(o), rng),
      dropout(o.attn_pdrop, rng) {}

Gpt2::Mlp::Mlp(const Gpt2Options& o, Rng& rng)
    : c_fc(o.n_embd, o.n_inner > 0 ? o.n_inner : 4 * o.n_embd, kGpt2Deviation, rng),
      c_proj(o.n_inner > 0 ? o.n_inner : 4 * o.n_embd, o.n_embd, residual_deviation(o), rng) {}

Tensor Gpt2::Mlp::forward(const Tensor& x) const { return c_proj(gelu_tanh(c_fc(x))); }

Gpt2::Block::Block(const Gpt2Options& o, Rng& rng)
    : ln_1(norm_of(o)), ln_2(norm_of(o)), attn(o, rng), mlp(o, rng), dropout(o.resid_pdrop, rng) {}

Gpt2::Transformer::Transformer(const Gpt2Options& o, Rng& rng)
    : wte(o.vocab_size, o.n_embd, rng),
      wpe(o.n_positions, o.n_embd, rng),
      drop(o.embd_pdrop, rng),
      ln_f(norm_of(o)) {
  nn::init::normal(wte.weight(), 0, kGpt2Deviation, rng);
  nn::init::normal(wpe.weight(), 0, kGpt2Deviation, rng);
  for (std::int64_t i = 0; i < o.n_layer; ++i) h.emplace_back(o, rng);
}

Gpt2::Gpt2(const Gpt2Options& options, Rng& rng) : options_(checked(options)), transformer_(options, rng) {
  if (options.tie_word_embeddings) return;
  lm_head_.emplace(options.n_embd, options.vocab_size, nn::LinearOptions{.bias = false}, rng);
  nn::init::normal(lm_head_->weight(), 0, kGpt2Deviation, rng);
}

std::string Gpt2::title() const {
  return str("Gpt2(", options_.n_layer, ", ", options_.n_embd, ", ", options_.n_head, ')');
}

Tensor Gpt2::head(const Tensor& x) const { return lm_head_ ? (*lm_head_)(x) : transformer_.wte.scores(x); }

Tensor Gpt2::body(const Tensor& ids, std::int64_t first, KeyValueCache* cache) const {
  const Tensor places = arange(ids.size(1), DType::i64, ids.device()) + first;
  Tensor x = transformer_.drop(transformer_.wte(ids) + transformer_.wpe(places));
  for (std::size_t i = 0; i < transformer_.h.size(); ++i) {
    const Block& block = transformer_.h[i];
    const Tensor parts = block.attn.c_attn(block.ln_1(x));
    const auto part = [&](std::int64_t which) {
      return by_head(narrow(parts, -1, which * options_.n_embd, options_.n_embd), options_.n_head);
    };
    Tensor keys = part(1), values = part(2);
    if (cache != nullptr) std::tie(keys, values) = cache->append(i, keys, values);
    const Tensor seen = grouped_attention(part(0), keys, values, block.attn.dropout);
    x = x + block.dropout(block.attn.c_proj(seen));
    x = x + block.dropout(block.mlp(block.ln_2(x)));
  }
  return transformer_.ln_f(x);
}

}  // namespace veldt::models
