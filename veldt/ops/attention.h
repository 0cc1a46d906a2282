// Attention and positional embeddings.
// Tests: tests/support/op_rows_attention.cpp, tests/ops/attention_test.cpp,
// tests/explain/rollout_test.cpp
#pragma once

#include <optional>

#include "veldt/tensor/tensor.h"

namespace veldt {

struct AttentionOptions {
  // Boolean: the keys that a query may attend to. Floats: added to the scores. Broadcast to [.., queries,
  // keys].
  Tensor mask = {};
  bool causal = false;               // query i attends to keys 0 .. i only
  std::optional<double> scale = {};  // of the scores; 1 / sqrt(size), if there is none
};

// softmax(q k^T scale) v, for each of the leading dimensions (Vaswani et al. 2017): q [.., queries, size], k
// [.., keys, size], v [.., keys, out] -> [.., queries, out]. A query that may attend to no key gets 0. All
// have one float dtype; bf16 and f16 are computed as f32 and rounded once. Throws ShapeError naming the
// shapes.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});
// The same for x [n, time, 3 size], which holds queries, keys and values side by side, each with the parts of
// `heads` heads in order -> [n, time, size] in the same order. A mask broadcasts to [n, heads, time, time].
// Throws ShapeError unless the heads divide the size.
Tensor self_attention(const Tensor& x, std::int64_t heads, const AttentionOptions& options = {});
// Only the weights, [.., queries, keys]: each row sums to 1, or is 0.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options = {});

// While one exists, it is told of the queries and keys of each attention that this thread computes, fused or
// not, before it is: attention_weights(q, k, options) gives what nothing else keeps. Of several only the
// innermost, the one made last, is told. Attention that it computes itself is told to none. For explanations
// (explain/rollout.h).
class AttentionListener {
 public:
  AttentionListener();
  virtual ~AttentionListener();
  AttentionListener(const AttentionListener&) = delete;
  AttentionListener& operator=(const AttentionListener&) = delete;
  // q [.., queries, size], k [.., keys, size]
  virtual void on_attention(const Tensor& q, const Tensor& k, const AttentionOptions& options) = 0;

 private:
  AttentionListener* before_;
};

// x [.., time, size] with the pair (i, i + size / 2) of step t turned by (first + t) base^(-2 i / size): so
// the product of two steps depends on their distance (Su et al. 2021). Throws ShapeError for an odd size.
Tensor rotary_embedding(const Tensor& x, std::int64_t first = 0, double base = 10000);

// f32 [time, size]: sin(t base^(-2 i / size)) in column 2 i, the cosine in column 2 i + 1 (Vaswani et al.
// 2017).
Tensor sinusoidal_positions(std::int64_t time, std::int64_t size, double base = 10000, Device device = {});

}  // namespace veldt
