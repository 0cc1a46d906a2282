#include "veldt/ops/attention.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"

namespace veldt {
namespace {

constexpr double kNever = -1e30;  // as a score: e to it is 0 beside any other

void check(const Tensor& q, const Tensor& k) {
  if (q.rank() < 2 || k.rank() < 2 || q.size(-1) != k.size(-1) || q.size(-1) < 1)
    throw ShapeError(str("attention cannot compare queries ", q.shape(), " with keys ", k.shape()),
                     "they are [.., queries, size] and [.., keys, size]", "give both the same last size");
}

// Where each query may look, [.., queries, keys]; undefined: everywhere.
Tensor allowed(const Tensor& scores, const AttentionOptions& o) {
  const bool given = o.mask.defined() && o.mask.dtype() == DType::boolean;
  if (!o.causal) return given ? o.mask : Tensor();
  const Tensor before = tril(ones({scores.size(-2), scores.size(-1)}, DType::boolean, scores.device()));
  return given ? logical_and(o.mask, before) : before;
}

// Angles of `time` steps from `first` on, f64 [time, size / 2]: f32 would lose the phase of far steps.
Tensor angles(std::int64_t first, std::int64_t time, std::int64_t size, double base, Device device) {
  const Tensor steps = to(arange(time, DType::i64, device), DType::f64) + static_cast<double>(first);
  const Tensor pairs = to(arange(size / 2, DType::i64, device), DType::f64);
  return unsqueeze(steps, 1) * exp(pairs * (-2 * std::log(base) / static_cast<double>(size)));
}

}  // namespace

Tensor attention_weights(const Tensor& given_q, const Tensor& given_k, const AttentionOptions& o) {
  if (casts(given_q, given_k)) return attention_weights(lowered(given_q), lowered(given_k), o);
  check(given_q, given_k);
  const Tensor q = as_float(given_q), k = as_float(given_k);
  if (is_half(q.dtype())) {
    const Autocast off({});
    return to(attention_weights(to(q, DType::f32), to(k, DType::f32), o), q.dtype());
  }
  const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor scores = matmul(q * scale, transpose(k, -2, -1));
  if (o.mask.defined() && o.mask.dtype() != DType::boolean) scores = scores + to(o.mask, scores.dtype());
  const Tensor seen = allowed(scores, o);
  if (!seen.defined()) return softmax(scores, -1);
  const Tensor unseen = logical_not(seen);
  return masked_fill(softmax(masked_fill(scores, unseen, kNever), -1), unseen, 0);
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& o) {
  if (casts(q, k, v)) return scaled_dot_product_attention(lowered(q), lowered(k), lowered(v), o);
  check(q, k);
  if (v.rank() < 2 || v.size(-2) != k.size(-2))
    throw ShapeError(str("attention cannot weigh values ", v.shape(), " by keys ", k.shape()),
                     "each key has a value", "give both the same number of rows");
  const Tensor values = as_float(v);
  if (is_half(values.dtype())) {
    const Autocast off({});
    return to(matmul(attention_weights(to(as_float(q), DType::f32), to(as_float(k), DType::f32), o),
                     to(values, DType::f32)),
              values.dtype());
  }
  return matmul(attention_weights(q, k, o), values);
}

Tensor rotary_embedding(const Tensor& given, std::int64_t first, double base) {
  if (given.rank() < 2 || given.size(-1) % 2 != 0)
    throw ShapeError(str("rotary_embedding cannot turn ", given.shape()),
                     "it turns pairs of numbers of [.., time, size]", "give an even last size");
  return through_f32(as_float(given), [&](const Tensor& x) {
    const std::int64_t size = x.size(-1), half = size / 2;
    const Tensor turn = angles(first, x.size(-2), size, base, x.device());
    const Tensor c = to(cos(turn), x.dtype()), s = to(sin(turn), x.dtype());
    const Tensor a = narrow(x, -1, 0, half), b = narrow(x, -1, half, half);
    return concat({a * c - b * s, b * c + a * s}, -1);
  });
}

Tensor sinusoidal_positions(std::int64_t time, std::int64_t size, double base, Device device) {
  if (time < 1 || size < 2 || size % 2 != 0)
    throw ConfigError(str("there are no positions [", time, ", ", size, ']'),
                      "they have a step or more, and come in pairs", "give an even size");
  const Tensor turn = angles(0, time, size, base, device);
  return to(reshape(stack({sin(turn), cos(turn)}, 2), {time, size}), DType::f32);
}

}  // namespace veldt
