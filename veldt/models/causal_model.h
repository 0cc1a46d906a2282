// Networks that continue a sequence of tokens, and what they keep of the tokens that they have seen.
// Tests: tests/models/language_test.cpp, tests/models/generate_test.cpp, tests/models/language_peers_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "veldt/nn/dropout.h"
#include "veldt/nn/module.h"

namespace veldt::models {

// The keys and values of every layer for the tokens so far, so that a new token costs one step of its own. It
// grows as it has to, by doubling.
class KeyValueCache {
 public:
  // The number of tokens so far.
  std::int64_t length() const { return length_; }
  // Adds those of new tokens to a layer, [n, heads, tokens, size], and returns all so far, of the same form,
  // as views of the cache. Throws ShapeError for other sizes than those before, and Error where a gradient is
  // wanted: what is kept is no part of a graph.
  std::pair<Tensor, Tensor> append(std::size_t layer, const Tensor& keys, const Tensor& values);
  // Counts them, when every layer has them.
  void advance(std::int64_t tokens) { length_ += tokens; }
  // Forgets all tokens, or those from `length` on; keeps the memory.
  void truncate(std::int64_t length = 0);

 private:
  struct Layer {
    Tensor keys, values;  // [n, heads, capacity, size]
  };
  std::vector<Layer> layers_;
  std::int64_t length_ = 0;
};

// Token numbers (i64 or i32) [n, time] to logits [n, time, vocabulary]: those of place i say what comes after
// the tokens 0 .. i.
class CausalModel : public nn::Module {
 public:
  Tensor forward(const Tensor& ids) const override { return head(hidden(ids)); }
  // The same in two parts, for who wants the logits of the last place alone. With a cache, `ids` go on where
  // it ends, and are added to it. Throws ShapeError for another rank, and for more tokens than the model has
  // positions.
  Tensor hidden(const Tensor& ids, KeyValueCache* cache = nullptr) const;
  virtual Tensor head(const Tensor& hidden) const = 0;
  virtual std::int64_t max_positions() const = 0;
  virtual std::int64_t vocabulary() const = 0;
  // The tokens that end a text: a config's eos_token_id.
  const std::vector<std::int64_t>& end_tokens() const { return end_tokens_; }
  void set_end_tokens(std::vector<std::int64_t> tokens) { end_tokens_ = std::move(tokens); }

 protected:
  // What comes before the head, for checked ids that begin at position `first`.
  virtual Tensor body(const Tensor& ids, std::int64_t first, KeyValueCache* cache) const = 0;

 private:
  std::vector<std::int64_t> end_tokens_;
};

// Attention of queries [n, heads, queries, size] to keys and values [n, shared, keys, size], where each of
// the `shared` heads serves as many of `heads`, neighbours (Ainslie et al. 2023) -> [n, queries, heads size].
// Causal: the last query attends to all keys, each one before it to one less. `dropout` is of the weights.
Tensor grouped_attention(const Tensor& queries, const Tensor& keys, const Tensor& values,
                         const nn::Dropout& dropout);

// [n, time, heads size] as [n, heads, time, size], and back.
Tensor by_head(const Tensor& x, std::int64_t heads);
Tensor joined_heads(const Tensor& x);

}  // namespace veldt::models
