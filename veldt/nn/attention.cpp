// Multihead attention and the layers of transformers, put together from projections, norms and the fused op.
#include "veldt/nn/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "veldt/core/error.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {
namespace {

MultiheadAttentionOptions attention_options(const TransformerLayerOptions& o) {
  return {.dropout = o.dropout,
          .batch_first = o.batch_first,
          .head_dim = o.head_dim,
          .dtype = o.dtype,
          .device = o.device};
}

LinearOptions linear_options(const TransformerLayerOptions& o) {
  return {.dtype = o.dtype, .device = o.device};
}

LayerNormOptions norm_options(const TransformerLayerOptions& o) {
  return {.dtype = o.dtype, .device = o.device};
}

// One part of a layer: x + part(norm(x)), or norm(x + part(x)).
template <class Part>
Tensor around(const Tensor& x, const LayerNorm& norm, bool norm_first, const Part& part) {
  return norm_first ? x + part(norm(x)) : norm(x + part(x));
}

// The mask for scores [n, heads, queries, keys] of the layer.
AttentionOptions options_for(const AttentionMask& mask, const std::string& layer, const Shape& scores) {
  const auto check = [&](const char* name, const Tensor& t, auto fits, const char* what, const char* fix) {
    if (t.defined() && !fits(t))
      throw ShapeError(str(layer, " cannot take ", name, " of ", t.dtype(), ' ', t.shape()), what,
                       str(fix, " for scores ", scores, " [n, heads, queries, keys]"));
  };
  const auto by_head = [&](const Tensor& t) { return t.defined() && t.rank() == 3 ? reshape(t, scores) : t; };
  const auto booleans = [](const Tensor& t) { return t.dtype() == DType::boolean; };
  check("may_attend", mask.may_attend, booleans, "it says which keys a query may attend to",
        "give booleans, or numbers as `added`,");
  check(
      "added", mask.added, [](const Tensor& t) { return is_float(t.dtype()); }, "it is added to the scores",
      "give floats, or booleans as `may_attend`,");
  check(
      "valid_keys", mask.valid_keys,
      [&](const Tensor& t) {
        return booleans(t) && t.shape() == Shape{scores[0], scores[3]};
      },
      "it says which keys of each example count", "give booleans [n, keys]");
  Tensor allowed = by_head(mask.may_attend);
  if (mask.valid_keys.defined()) {
    const Tensor valid = reshape(mask.valid_keys, {scores[0], 1, 1, scores[3]});
    allowed = allowed.defined() ? logical_and(allowed, valid) : valid;
  }
  if (!mask.added.defined()) return {.mask = allowed, .causal = mask.causal};
  const Tensor added = by_head(mask.added);
  if (!allowed.defined()) return {.mask = added, .causal = mask.causal};
  return {.mask = masked_fill(expand(added, scores), logical_not(allowed), -INFINITY), .causal = mask.causal};
}

void check_count(const Module& layer, const TensorList& inputs, std::size_t count, const char* what) {
  if (inputs.size() != count)
    throw Error(str(layer.title(), " cannot take ", inputs.size(), " inputs"), str("it takes ", what),
                str("give ", count, " tensors"));
}

AttentionMask with_causal(AttentionMask mask, bool causal) {
  mask.causal = mask.causal || causal;
  return mask;
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::int64_t size, std::int64_t heads, MultiheadAttentionOptions o,
                                       Rng& rng)
    : size_(size),
      head_dim_(o.head_dim > 0 ? o.head_dim : size / std::max<std::int64_t>(heads, 1)),
      batch_first_(o.batch_first),
      out_(std::max<std::int64_t>(heads * head_dim_, 1), size,
           {.bias = o.bias, .dtype = o.dtype, .device = o.device}, rng),
      dropout_(o.dropout, rng) {
  if (heads < 1 || size < 1 || (o.head_dim == 0 && size % heads != 0))
    throw ConfigError(str("cannot build MultiheadAttention(", size, ", ", heads, ")"),
                      "the size is shared out among the heads", "give a number of heads that divides it");
  const std::int64_t inner = heads * head_dim_;
  const Tensor weight = parameter(empty({3 * inner, size}, o.dtype, o.device));
  init::xavier_uniform(weight, 1, rng);
  weight_ = weight;
  if (!o.bias) return;
  in_bias_ = parameter(zeros({3 * inner}, o.dtype, o.device));
  Tensor(out_.bias()).detach().assign(zeros({size}, o.dtype, o.device));
}

void MultiheadAttention::fields(Fields& f) {
  weight_.fields(f, "in_proj_weight");
  f("in_proj_bias", in_bias_);
  lora_fields(f);
  f("out_proj", out_)("dropout", dropout_);
}

std::string MultiheadAttention::title() const {
  const std::string own = heads() * head_dim_ == size_ ? "" : str(" of ", head_dim_);
  return str("MultiheadAttention(", size_, ", ", heads(), own, lora_title(), ')');
}

Tensor MultiheadAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const AttentionMask& mask) const {
  return call({query, key, value},
              [&](const TensorList& in) { return TensorList{attended(in[0], in[1], in[2], mask)}; })[0];
}

TensorList MultiheadAttention::forward_list(const TensorList& inputs) const {
  check_count(*this, inputs, 3, "query, key and value");
  return {attended(inputs[0], inputs[1], inputs[2], {})};
}

Tensor MultiheadAttention::attended(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionMask& mask) const {
  for (const Tensor* x : {&query, &key, &value})
    if (x->rank() != 3 || x->size(2) != size_)
      throw ShapeError(str(title(), " cannot take ", x->shape()),
                       str("sequences are ", batch_first_ ? "[n, time, " : "[time, n, ", size_, ']'),
                       "unsqueeze() a single one, or build the layer for its last size");
  const auto in_order = [&](const Tensor& x) { return batch_first_ ? x : transpose(x, 0, 1); };
  const Tensor q = in_order(query), k = in_order(key), v = in_order(value);
  const std::int64_t n = q.size(0), queries = q.size(1), keys = k.size(1);
  const std::int64_t heads = this->heads(), inner = heads * head_dim_;
  if (k.size(0) != n || v.size(0) != n || v.size(1) != keys)
    throw ShapeError(str(title(), " cannot take ", query.shape(), ", ", key.shape(), " and ", value.shape()),
                     "keys and values are as many, of as many examples as queries",
                     "give them the same sizes");
  const AttentionOptions options = options_for(mask, title(), {n, heads, queries, keys});
  const auto by_head = [&](const Tensor& x) {  // [n, time, inner] to [n, heads, time, head_dim]
    return transpose(reshape(x, {n, x.size(1), heads, head_dim_}), 1, 2);
  };
  std::array<Tensor, 3> parts;
  // The same tensor, not only the same memory: x.detach() gets no gradients.
  if (query.impl() == key.impl() && key.impl() == value.impl()) {
    const Tensor all = with_lora(product(q, in_bias_), q);
    if (!dropout_.drops()) return in_order(out_(self_attention(all, heads, options)));
    for (std::int64_t i = 0; i < 3; ++i)
      parts[static_cast<std::size_t>(i)] = by_head(narrow(all, -1, i * inner, inner));
  } else {
    const Tensor weight = merged_weight();
    const auto projected = [&](const Tensor& x, std::int64_t part) {
      return by_head(linear(x, narrow(weight, 0, part * inner, inner),
                            in_bias_.defined() ? narrow(in_bias_, 0, part * inner, inner) : Tensor()));
    };
    parts = {projected(q, 0), projected(k, 1), projected(v, 2)};
  }
  const Tensor seen = dropout_.drops()
                          ? matmul(dropout_(attention_weights(parts[0], parts[1], options)), parts[2])
                          : scaled_dot_product_attention(parts[0], parts[1], parts[2], options);
  return in_order(out_(reshape(transpose(seen, 1, 2), {n, queries, inner})));
}

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t size, std::int64_t heads,
                                                 TransformerLayerOptions o, Rng& rng)
    : options_(o),
      size_(size),
      self_attn_(size, heads, attention_options(o), rng),
      linear1_(size, o.dim_feedforward, linear_options(o), rng),
      linear2_(o.dim_feedforward, size, linear_options(o), rng),
      norm1_(size, norm_options(o)),
      norm2_(size, norm_options(o)),
      dropout_(o.dropout, rng),
      dropout1_(o.dropout, rng),
      dropout2_(o.dropout, rng) {}

Tensor TransformerEncoderLayer::encode(const Tensor& x, const AttentionMask& mask) const {
  return call({x}, [&](const TensorList& in) { return TensorList{encoded(in[0], mask)}; })[0];
}

Tensor TransformerEncoderLayer::encoded(const Tensor& x, const AttentionMask& given) const {
  const AttentionMask mask = with_causal(given, options_.causal);
  const Tensor seen = around(x, norm1_, options_.norm_first,
                             [&](const Tensor& y) { return dropout1_(self_attn_.attend(y, y, y, mask)); });
  return around(seen, norm2_, options_.norm_first, [&](const Tensor& y) {
    const Tensor wide = linear1_(y);
    return dropout2_(linear2_(dropout_(options_.gelu ? gelu(wide) : relu(wide))));
  });
}

void TransformerEncoderLayer::fields(Fields& f) {
  f("self_attn", self_attn_)("linear1", linear1_)("linear2", linear2_)("norm1", norm1_)("norm2", norm2_);
  f("dropout", dropout_)("dropout1", dropout1_)("dropout2", dropout2_);
}

std::string TransformerEncoderLayer::title() const {
  return str("TransformerEncoderLayer(", size_, ", ", self_attn_.heads(), ')');
}

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t size, std::int64_t heads,
                                                 TransformerLayerOptions o, Rng& rng)
    : options_(o),
      size_(size),
      self_attn_(size, heads, attention_options(o), rng),
      multihead_attn_(size, heads, attention_options(o), rng),
      linear1_(size, o.dim_feedforward, linear_options(o), rng),
      linear2_(o.dim_feedforward, size, linear_options(o), rng),
      norm1_(size, norm_options(o)),
      norm2_(size, norm_options(o)),
      norm3_(size, norm_options(o)),
      dropout_(o.dropout, rng),
      dropout1_(o.dropout, rng),
      dropout2_(o.dropout, rng),
      dropout3_(o.dropout, rng) {}

Tensor TransformerDecoderLayer::decode(const Tensor& x, const Tensor& memory, const AttentionMask& mask,
                                       const AttentionMask& memory_mask) const {
  return call({x, memory},
              [&](const TensorList& in) { return TensorList{decoded(in[0], in[1], mask, memory_mask)}; })[0];
}

TensorList TransformerDecoderLayer::forward_list(const TensorList& inputs) const {
  check_count(*this, inputs, 2, "x and the memory");
  return {decoded(inputs[0], inputs[1], {}, {})};
}

Tensor TransformerDecoderLayer::decoded(const Tensor& x, const Tensor& memory, const AttentionMask& given,
                                        const AttentionMask& memory_mask) const {
  const AttentionMask mask = with_causal(given, options_.causal);
  const Tensor own = around(x, norm1_, options_.norm_first,
                            [&](const Tensor& y) { return dropout1_(self_attn_.attend(y, y, y, mask)); });
  const Tensor seen = around(own, norm2_, options_.norm_first, [&](const Tensor& y) {
    return dropout2_(multihead_attn_.attend(y, memory, memory, memory_mask));
  });
  return around(seen, norm3_, options_.norm_first, [&](const Tensor& y) {
    const Tensor wide = linear1_(y);
    return dropout3_(linear2_(dropout_(options_.gelu ? gelu(wide) : relu(wide))));
  });
}

void TransformerDecoderLayer::fields(Fields& f) {
  f("self_attn", self_attn_)("multihead_attn", multihead_attn_)("linear1", linear1_)("linear2", linear2_);
  f("norm1", norm1_)("norm2", norm2_)("norm3", norm3_);
  f("dropout", dropout_)("dropout1", dropout1_)("dropout2", dropout2_)("dropout3", dropout3_);
}

std::string TransformerDecoderLayer::title() const {
  return str("TransformerDecoderLayer(", size_, ", ", self_attn_.heads(), ')');
}

namespace {

template <class Layer>
std::vector<Layer> stack(const char* name, std::int64_t count, std::int64_t size, std::int64_t heads,
                         const TransformerOptions& o, Rng& rng) {
  if (count < 1)
    throw ConfigError(str("cannot build ", name, '(', count, ", ", size, ", ", heads, ')'),
                      "a stack has one layer or more", "give a positive number of layers");
  std::vector<Layer> layers;
  for (std::int64_t i = 0; i < count; ++i) layers.emplace_back(size, heads, o.layer, rng);
  return layers;
}

std::optional<LayerNorm> last_norm(std::int64_t size, const TransformerOptions& o) {
  if (!o.norm) return std::nullopt;
  return LayerNorm(size, norm_options(o.layer));
}

}  // namespace

TransformerEncoder::TransformerEncoder(std::int64_t num_layers, std::int64_t size, std::int64_t heads,
                                       TransformerOptions o, Rng& rng)
    : size_(size),
      heads_(heads),
      layers_(stack<TransformerEncoderLayer>("TransformerEncoder", num_layers, size, heads, o, rng)),
      norm_(last_norm(size, o)) {}

Tensor TransformerEncoder::encode(const Tensor& x, const AttentionMask& mask) const {
  return call({x}, [&](const TensorList& in) { return TensorList{encoded(in[0], mask)}; })[0];
}

Tensor TransformerEncoder::encoded(const Tensor& x, const AttentionMask& mask) const {
  Tensor y = x;
  for (const TransformerEncoderLayer& layer : layers_) y = layer.encode(y, mask);
  return norm_ ? (*norm_)(y) : y;
}

std::string TransformerEncoder::title() const {
  return str("TransformerEncoder(", layers_.size(), ", ", size_, ", ", heads_, norm_ ? ")" : ", no norm)");
}

TransformerDecoder::TransformerDecoder(std::int64_t num_layers, std::int64_t size, std::int64_t heads,
                                       TransformerOptions o, Rng& rng)
    : size_(size),
      heads_(heads),
      layers_(stack<TransformerDecoderLayer>("TransformerDecoder", num_layers, size, heads, o, rng)),
      norm_(last_norm(size, o)) {}

Tensor TransformerDecoder::decode(const Tensor& x, const Tensor& memory, const AttentionMask& mask,
                                  const AttentionMask& memory_mask) const {
  return call({x, memory},
              [&](const TensorList& in) { return TensorList{decoded(in[0], in[1], mask, memory_mask)}; })[0];
}

TensorList TransformerDecoder::forward_list(const TensorList& inputs) const {
  check_count(*this, inputs, 2, "x and the memory");
  return {decoded(inputs[0], inputs[1], {}, {})};
}

Tensor TransformerDecoder::decoded(const Tensor& x, const Tensor& memory, const AttentionMask& mask,
                                   const AttentionMask& memory_mask) const {
  Tensor y = x;
  for (const TransformerDecoderLayer& layer : layers_) y = layer.decode(y, memory, mask, memory_mask);
  return norm_ ? (*norm_)(y) : y;
}

std::string TransformerDecoder::title() const {
  return str("TransformerDecoder(", layers_.size(), ", ", size_, ", ", heads_, norm_ ? ")" : ", no norm)");
}

}  // namespace veldt::nn
