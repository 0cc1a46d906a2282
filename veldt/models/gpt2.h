// GPT-2 (Radford et al. 2019), with the parameter names and options of transformers' GPT2LMHeadModel.
// Tests: tests/models/language_test.cpp, tests/models/language_peers_test.cpp
#pragma once

#include <vector>

#include "veldt/models/causal_model.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"

namespace veldt::models {

struct Gpt2Options {
  std::int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12;
  std::int64_t n_inner = 0;  // of the layer between; 0: 4 n_embd
  double layer_norm_epsilon = 1e-5;
  double resid_pdrop = 0.1, embd_pdrop = 0.1, attn_pdrop = 0.1;  // dropout
  bool tie_word_embeddings = true;                               // the head's weight is the embedding's
};

// "transformer.wte", "transformer.wpe", "transformer.h.0.attn.c_attn", .., "transformer.ln_f"; an untied
// "lm_head". Weights of a block are [in, out], the transpose of Linear's.
class Gpt2 final : public CausalModel {
 public:
  // Throws ConfigError for sizes below 1, and for heads that do not divide n_embd.
  explicit Gpt2(const Gpt2Options& options, Rng& rng = nn::default_rng());

  Tensor head(const Tensor& hidden) const override;
  std::int64_t max_positions() const override { return options_.n_positions; }
  std::int64_t vocabulary() const override { return options_.vocab_size; }
  void fields(nn::Fields& f) override { f("transformer", transformer_)("lm_head", lm_head_); }
  std::string title() const override;

 protected:
  Tensor body(const Tensor& ids, std::int64_t first, KeyValueCache* cache) const override;

 private:
  // y = x W + b with W [in, out]: transformers' Conv1D.
  struct Conv1D : nn::LoraLayer {
    Conv1D(std::int64_t in, std::int64_t out, double deviation, Rng& rng);
    Tensor forward(const Tensor& x) const override;
    void fields(nn::Fields& f) override;
    std::vector<Named> weights() override { return {{"weight", &weight_, Use::product, true}}; }
    std::string title() const override;
    Tensor bias;
  };
  struct Attention : nn::Module {
    Attention(const Gpt2Options& o, Rng& rng);
    void fields(nn::Fields& f) override { f("c_attn", c_attn)("c_proj", c_proj)("attn_dropout", dropout); }
    Conv1D c_attn, c_proj;
    nn::Dropout dropout;
  };
  struct Mlp : nn::Module {
    Mlp(const Gpt2Options& o, Rng& rng);
    Tensor forward(const Tensor& x) const override;
    void fields(nn::Fields& f) override { f("c_fc", c_fc)("c_proj", c_proj); }
    Conv1D c_fc, c_proj;
  };
  struct Block : nn::Module {
    Block(const Gpt2Options& o, Rng& rng);
    void fields(nn::Fields& f) override {
      f("ln_1", ln_1)("attn", attn)("ln_2", ln_2)("mlp", mlp)("dropout", dropout);
    }
    nn::LayerNorm ln_1, ln_2;
    Attention attn;
    Mlp mlp;
    nn::Dropout dropout;
  };
  struct Transformer : nn::Module {
    Transformer(const Gpt2Options& o, Rng& rng);
    void fields(nn::Fields& f) override { f("wte", wte)("wpe", wpe)("drop", drop)("h", h)("ln_f", ln_f); }
    nn::Embedding wte, wpe;
    nn::Dropout drop;
    std::vector<Block> h;
    nn::LayerNorm ln_f;
  };

  Gpt2Options options_;
  Transformer transformer_;
  std::optional<nn::Linear> lm_head_;
};

}  // namespace veldt::models
