// BERT (Devlin et al. 2018), with the parameter names and options of transformers' BertModel, and sentence
// embeddings by it (Reimers & Gurevych 2019).
// Tests: tests/models/language_test.cpp, tests/models/language_peers_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "veldt/nn/dropout.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"

namespace veldt::models {

struct BertOptions {
  std::int64_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12;
  std::int64_t intermediate_size = 3072, max_position_embeddings = 512, type_vocab_size = 2;
  double layer_norm_eps = 1e-12, hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1;
  bool pooler = true;  // the layer for the first token
  // RoBERTa (Liu et al. 2019): positions count the tokens that are not this one, from the number after it.
  std::optional<std::int64_t> position_padding = {};
};

struct BertOutput {
  Tensor last_hidden_state;  // [n, time, hidden_size]
  Tensor pooler_output;      // [n, hidden_size]; undefined without a pooler
};

// "embeddings.word_embeddings", .., "encoder.layer.0.attention.self.query", .., "pooler.dense".
class Bert final : public nn::Module {
 public:
  // Throws ConfigError for sizes below 1, and for heads that do not divide hidden_size.
  explicit Bert(const BertOptions& options, Rng& rng = nn::default_rng());

  // The last layer's output for token numbers [n, time].
  Tensor forward(const Tensor& ids) const override { return encode(ids).last_hidden_state; }
  // `attention_mask`: booleans [n, time], false for padding; `types`: i64 [n, time], which text of a pair
  // each token is of; undefined: all tokens count, and are of the first. Throws ShapeError for other sizes,
  // and for more tokens than there are positions.
  BertOutput encode(const Tensor& ids, const Tensor& attention_mask = {}, const Tensor& types = {}) const;

  void fields(nn::Fields& f) override {
    f("embeddings", embeddings_)("encoder", encoder_)("pooler", pooler_);
  }
  std::string title() const override;
  // The longest text that it takes, in tokens.
  std::int64_t max_tokens() const;

 private:
  Tensor positions(const Tensor& ids) const;
  struct Embeddings : nn::Module {
    Embeddings(const BertOptions& o, Rng& rng);
    void fields(nn::Fields& f) override;
    nn::Embedding word, position, type;
    nn::LayerNorm norm;
    nn::Dropout dropout;
  };
  struct SelfAttention : nn::Module {
    SelfAttention(const BertOptions& o, Rng& rng);
    void fields(nn::Fields& f) override { f("query", query)("key", key)("value", value)("dropout", dropout); }
    nn::Linear query, key, value;
    nn::Dropout dropout;
  };
  struct Output : nn::Module {  // norm(dense(x) + what was before)
    Output(std::int64_t in, const BertOptions& o, Rng& rng);
    Tensor added(const Tensor& x, const Tensor& before) const;
    void fields(nn::Fields& f) override { f("dense", dense)("LayerNorm", norm)("dropout", dropout); }
    nn::Linear dense;
    nn::LayerNorm norm;
    nn::Dropout dropout;
  };
  struct Attention : nn::Module {
    Attention(const BertOptions& o, Rng& rng) : self(o, rng), output(o.hidden_size, o, rng) {}
    void fields(nn::Fields& f) override { f("self", self)("output", output); }
    SelfAttention self;
    Output output;
  };
  struct Dense : nn::Module {
    Dense(std::int64_t in, std::int64_t out, Rng& rng) : dense(in, out, rng) {}
    void fields(nn::Fields& f) override { f("dense", dense); }
    nn::Linear dense;
  };
  struct Layer : nn::Module {
    Layer(const BertOptions& o, Rng& rng);
    void fields(nn::Fields& f) override {
      f("attention", attention)("intermediate", intermediate)("output", output);
    }
    Attention attention;
    Dense intermediate;
    Output output;
  };
  struct Encoder : nn::Module {
    void fields(nn::Fields& f) override { f("layer", layer); }
    std::vector<Layer> layer;
  };

  BertOptions options_;
  Embeddings embeddings_;
  Encoder encoder_;
  std::optional<Dense> pooler_;
};

// The mean of each sequence's tokens that count, of length 1: [n, time, size], booleans [n, time] -> [n,
// size]. What sentence-transformers does after MiniLM.
Tensor mean_pooled(const Tensor& hidden, const Tensor& attention_mask);

}  // namespace veldt::models
