// Llama (Touvron et al. 2023; its third version with stretched rotary positions), with the parameter names
// and options of transformers' LlamaForCausalLM.
// Tests: tests/models/language_test.cpp, tests/models/language_peers_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "veldt/models/causal_model.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"

namespace veldt::models {

// How positions beyond those of training are reached: all turned slower by `factor`, or as Llama 3 does only
// the slow ones, with those between `low_freq_factor` and `high_freq_factor` turns in the old length blended.
struct RopeScaling {
  double factor = 1;
  bool llama3 = false;
  double low_freq_factor = 1, high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
};

struct LlamaOptions {
  std::int64_t vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008, num_hidden_layers = 32;
  std::int64_t num_attention_heads = 32, num_key_value_heads = 32, head_dim = 128;
  std::int64_t max_position_embeddings = 2048;
  double rms_norm_eps = 1e-6, rope_theta = 10000, attention_dropout = 0;
  std::optional<RopeScaling> rope_scaling = {};
  bool attention_bias = false, mlp_bias = false, tie_word_embeddings = false;
};

// "model.embed_tokens", "model.layers.0.self_attn.q_proj", .., "model.norm"; an untied "lm_head".
class Llama final : public CausalModel {
 public:
  // Throws ConfigError for sizes below 1, and for heads that do not fit each other.
  explicit Llama(const LlamaOptions& options, Rng& rng = nn::default_rng());

  Tensor head(const Tensor& hidden) const override;
  std::int64_t max_positions() const override { return options_.max_position_embeddings; }
  std::int64_t vocabulary() const override { return options_.vocab_size; }
  void fields(nn::Fields& f) override { f("model", model_)("lm_head", lm_head_); }
  std::string title() const override;

 protected:
  Tensor body(const Tensor& ids, std::int64_t first, KeyValueCache* cache) const override;

 private:
  struct Attention : nn::Module {
    Attention(const LlamaOptions& o, Rng& rng);
    void fields(nn::Fields& f) override {
      f("q_proj", q_proj)("k_proj", k_proj)("v_proj", v_proj)("o_proj", o_proj)("dropout", dropout);
    }
    nn::Linear q_proj, k_proj, v_proj, o_proj;
    nn::Dropout dropout;
  };
  struct Mlp : nn::Module {
    Mlp(const LlamaOptions& o, Rng& rng);
    Tensor forward(const Tensor& x) const override;
    void fields(nn::Fields& f) override {
      f("gate_proj", gate_proj)("up_proj", up_proj)("down_proj", down_proj);
    }
    nn::Linear gate_proj, up_proj, down_proj;
  };
  struct Layer : nn::Module {
    Layer(const LlamaOptions& o, Rng& rng);
    void fields(nn::Fields& f) override {
      f("self_attn", self_attn)("mlp", mlp)("input_layernorm", input_layernorm);
      f("post_attention_layernorm", post_attention_layernorm);
    }
    Attention self_attn;
    Mlp mlp;
    nn::RMSNorm input_layernorm, post_attention_layernorm;
  };
  struct Decoder : nn::Module {
    Decoder(const LlamaOptions& o, Rng& rng);
    void fields(nn::Fields& f) override { f("embed_tokens", embed_tokens)("layers", layers)("norm", norm); }
    nn::Embedding embed_tokens;
    std::vector<Layer> layers;
    nn::RMSNorm norm;
  };

  LlamaOptions options_;
  std::vector<double> frequencies_;  // of the turns, for each pair of numbers
  Decoder model_;
  std::optional<nn::Linear> lm_head_;
};

}  // namespace veldt::models
