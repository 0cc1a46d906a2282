// Attention with several heads, and the layers of transformers; parameters, defaults and initial values are
// those of torch.nn.MultiheadAttention, TransformerEncoder, TransformerDecoder and their layers (Vaswani et
// al. 2017).
// Tests: tests/nn/attention_test.cpp, tests/nn/autocast_test.cpp
#pragma once

#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/module.h"
#include "veldt/nn/norm.h"

namespace veldt::nn {

// What a query may attend to: all that every part allows. torch.nn.MultiheadAttention's attn_mask and
// key_padding_mask, as booleans, say where it may not: give logical_not() of them.
struct AttentionMask {
  // Booleans [queries, keys], or [n heads, queries, keys]: true where a query may attend to a key.
  Tensor may_attend = {};
  // Floats of such a shape, which are added to the scores.
  Tensor added = {};
  // Booleans [n, keys]: true for the keys of each example that count, false for padding.
  Tensor valid_keys = {};
  bool causal = false;  // step i attends to steps 0 .. i only
};

struct MultiheadAttentionOptions {
  double dropout = 0;  // of the weights, in training
  bool bias = true;
  bool batch_first = false;
  std::int64_t head_dim = 0;  // 0: size / heads
  DType dtype = DType::f32;
  Device device = {};
};

// Sequences [time, n, size], or [n, time, size] with batch_first. "in_proj_weight" [3 size, size] for
// queries, keys and values, "in_proj_bias", "out_proj.weight" and "out_proj.bias". Its own adapter
// (nn/lora.h) is one of "in_proj_weight", as PEFT's is; "out_proj" may have another. With a
// head_dim the projections are [3 heads head_dim, size] and [size, heads head_dim].
class MultiheadAttention : public LoraLayer {
 public:
  // Throws ConfigError unless the heads divide the size, or a head_dim is given.
  MultiheadAttention(std::int64_t size, std::int64_t heads, MultiheadAttentionOptions options = {},
                     Rng& rng = default_rng());

  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                const AttentionMask& mask = {}) const;
  // Self-attention.
  Tensor forward(const Tensor& x) const override { return attended(x, x, x, {}); }
  // {query, key, value} -> {output}
  TensorList forward_list(const TensorList& inputs) const override;
  void fields(Fields& f) override;
  std::vector<Named> weights() override { return {{"in_proj_weight", &weight_, Use::product, true}}; }
  std::string title() const override;

  // As many as its projections have, of which some may have been cut (compress/channels.h).
  std::int64_t heads() const { return weight_.size(0) / (3 * head_dim_); }
  std::int64_t head_dim() const { return head_dim_; }

 private:
  Tensor attended(const Tensor& query, const Tensor& key, const Tensor& value,
                  const AttentionMask& mask) const;

  std::int64_t size_, head_dim_;
  bool batch_first_;
  Tensor in_bias_;
  Linear out_;
  Dropout dropout_;
};

struct TransformerLayerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  bool gelu = false;        // between the two linear layers, instead of relu
  bool norm_first = false;  // norms before each part, not after it (Xiong et al. 2020)
  bool batch_first = false;
  bool causal = false;        // step i attends only to steps 0 .. i of its own sequence, with any mask
  std::int64_t head_dim = 0;  // 0: size / heads
  DType dtype = DType::f32;
  Device device = {};
};

// Attention to itself, then two linear layers, each with a sum around it and a norm. "self_attn", "linear1",
// "linear2", "norm1", "norm2".
class TransformerEncoderLayer : public Module {
 public:
  TransformerEncoderLayer(std::int64_t size, std::int64_t heads, TransformerLayerOptions options = {},
                          Rng& rng = default_rng());

  // x [time, n, size], or [n, time, size] with batch_first.
  Tensor encode(const Tensor& x, const AttentionMask& mask) const;
  Tensor forward(const Tensor& x) const override { return encoded(x, {}); }
  void fields(Fields& f) override;
  std::string title() const override;

 private:
  Tensor encoded(const Tensor& x, const AttentionMask& mask) const;

  TransformerLayerOptions options_;
  std::int64_t size_;
  MultiheadAttention self_attn_;
  Linear linear1_, linear2_;
  LayerNorm norm1_, norm2_;
  Dropout dropout_, dropout1_, dropout2_;
};

// Like the encoder's layer, with attention to `memory`, an encoder's output, between the two: also
// "multihead_attn" and "norm3".
class TransformerDecoderLayer : public Module {
 public:
  TransformerDecoderLayer(std::int64_t size, std::int64_t heads, TransformerLayerOptions options = {},
                          Rng& rng = default_rng());

  Tensor decode(const Tensor& x, const Tensor& memory, const AttentionMask& mask = {},
                const AttentionMask& memory_mask = {}) const;
  // {x, memory} -> {output}
  TensorList forward_list(const TensorList& inputs) const override;
  void fields(Fields& f) override;
  std::string title() const override;

 private:
  Tensor decoded(const Tensor& x, const Tensor& memory, const AttentionMask& mask,
                 const AttentionMask& memory_mask) const;

  TransformerLayerOptions options_;
  std::int64_t size_;
  MultiheadAttention self_attn_, multihead_attn_;
  Linear linear1_, linear2_;
  LayerNorm norm1_, norm2_, norm3_;
  Dropout dropout_, dropout1_, dropout2_, dropout3_;
};

struct TransformerOptions {
  TransformerLayerOptions layer = {};
  bool norm = true;  // a LayerNorm after the last layer, which norm_first needs
};

// A stack of layers: "layers.0.self_attn.in_proj_weight", .., "norm". Each layer has its own initial values;
// torch's are copies of one.
class TransformerEncoder : public Module {
 public:
  // Throws ConfigError for less than one layer.
  TransformerEncoder(std::int64_t num_layers, std::int64_t size, std::int64_t heads,
                     TransformerOptions options = {}, Rng& rng = default_rng());

  // x as in TransformerEncoderLayer.
  Tensor encode(const Tensor& x, const AttentionMask& mask) const;
  Tensor forward(const Tensor& x) const override { return encoded(x, {}); }
  void fields(Fields& f) override { f("layers", layers_)("norm", norm_); }
  std::string title() const override;

 private:
  Tensor encoded(const Tensor& x, const AttentionMask& mask) const;

  std::int64_t size_, heads_;
  std::vector<TransformerEncoderLayer> layers_;
  std::optional<LayerNorm> norm_;
};

class TransformerDecoder : public Module {
 public:
  TransformerDecoder(std::int64_t num_layers, std::int64_t size, std::int64_t heads,
                     TransformerOptions options = {}, Rng& rng = default_rng());

  // As in TransformerDecoderLayer; every layer attends to the same memory.
  Tensor decode(const Tensor& x, const Tensor& memory, const AttentionMask& mask = {},
                const AttentionMask& memory_mask = {}) const;
  // {x, memory} -> {output}
  TensorList forward_list(const TensorList& inputs) const override;
  void fields(Fields& f) override { f("layers", layers_)("norm", norm_); }
  std::string title() const override;

 private:
  Tensor decoded(const Tensor& x, const Tensor& memory, const AttentionMask& mask,
                 const AttentionMask& memory_mask) const;

  std::int64_t size_, heads_;
  std::vector<TransformerDecoderLayer> layers_;
  std::optional<LayerNorm> norm_;
};

}  // namespace veldt::nn
