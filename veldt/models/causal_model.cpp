// The cache, and attention with it.
#include "veldt/models/causal_model.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::models {
namespace {

constexpr std::int64_t kFirstCapacity = 64;  // tokens

// Room for `needed` tokens, with those of `held` in it.
Tensor grown(const Tensor& held, std::int64_t length, std::int64_t needed, const Tensor& like) {
  if (held.defined() && held.size(2) >= needed) return held;
  const std::int64_t capacity = std::max({needed, kFirstCapacity, held.defined() ? 2 * held.size(2) : 0});
  Tensor room = zeros({like.size(0), like.size(1), capacity, like.size(3)}, like.dtype(), like.device());
  if (held.defined() && length > 0) narrow(room, 2, 0, length).assign(narrow(held, 2, 0, length));
  return room;
}

}  // namespace

std::pair<Tensor, Tensor> KeyValueCache::append(std::size_t layer, const Tensor& keys, const Tensor& values) {
  if (grad_enabled() && (keys.requires_grad() || values.requires_grad()))
    throw Error("a cache of keys and values has no gradients", "it keeps numbers, and no graph",
                "make a NoGrad before the call, or train without a cache");
  const NoGrad off;
  if (layer >= layers_.size()) layers_.resize(layer + 1);
  const auto added = [&](Tensor& held, const Tensor& given) {
    const Tensor x = given.detach();
    if (held.defined() &&
        (x.size(0) != held.size(0) || x.size(1) != held.size(1) || x.size(3) != held.size(3)))
      throw ShapeError(str("a cache of ", held.shape(), " cannot take ", x.shape()),
                       "it is [n, heads, tokens, size], and only the tokens grow",
                       "take a new cache, or call truncate() and give as many sequences as before");
    held = grown(held, length_, length_ + x.size(2), x);
    narrow(held, 2, length_, x.size(2)).assign(x);
    return narrow(held, 2, 0, length_ + x.size(2));
  };
  Layer& own = layers_[layer];
  Tensor all_keys = added(own.keys, keys);
  return {std::move(all_keys), added(own.values, values)};
}

void KeyValueCache::truncate(std::int64_t length) {
  if (length < 0 || length > length_)
    throw ConfigError(str("cannot keep ", length, " tokens of a cache"), str("it has ", length_),
                      "give a number from 0 to that");
  length_ = length;
}

Tensor CausalModel::hidden(const Tensor& ids, KeyValueCache* cache) const {
  const std::int64_t first = cache != nullptr ? cache->length() : 0;
  if (ids.rank() != 2 || ids.size(1) < 1)
    throw ShapeError(str(title(), " cannot take ", ids.shape()), "it takes token numbers [n, time]",
                     "unsqueeze() a single sequence");
  if (first + ids.size(1) > max_positions())
    throw ShapeError(str(title(), " cannot take ", first + ids.size(1), " tokens"),
                     str("it has ", max_positions(), " positions"), "give fewer, the last ones for example");
  const Tensor out = body(ids, first, cache);
  if (cache != nullptr) cache->advance(ids.size(1));
  return out;
}

Tensor by_head(const Tensor& x, std::int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Tensor joined_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Tensor grouped_attention(const Tensor& q, const Tensor& k, const Tensor& v, const nn::Dropout& dropout) {
  const std::int64_t n = q.size(0), heads = q.size(1), queries = q.size(2), shared = k.size(1),
                     keys = k.size(2);
  const std::int64_t group = heads / shared;
  if (queries == 1 && !dropout.drops()) {
    // The heads of a group as queries of one head, which all see every key: nothing is copied.
    const Tensor rows = reshape(q, {n, shared, group, q.size(3)});
    return joined_heads(reshape(scaled_dot_product_attention(rows, k, v), {n, heads, 1, v.size(3)}));
  }
  const auto spread = [&](const Tensor& x) { return group == 1 ? x : repeat_interleave(x, group, 1); };
  AttentionOptions options{.causal = keys == queries};
  if (!options.causal)  // after what a cache has: query i sees those and the new keys up to its own
    options.mask = tril(ones({queries, keys}, DType::boolean, q.device()), keys - queries);
  const Tensor all_keys = spread(k), all_values = spread(v);
  if (!dropout.drops()) return joined_heads(scaled_dot_product_attention(q, all_keys, all_values, options));
  return joined_heads(matmul(dropout(attention_weights(q, all_keys, options)), all_values));
}

}  // namespace veldt::models
