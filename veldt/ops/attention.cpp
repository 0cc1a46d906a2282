// Attention in one kernel if possible, else by products and softmax; rotary and sinusoidal positions.
#include "veldt/ops/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();  // as a score

constinit thread_local AttentionListener* t_attention_listener = nullptr;

void tell_listener(const Tensor& q, const Tensor& k, const AttentionOptions& o) {
  if (t_attention_listener == nullptr) return;
  struct Deaf {  // also where on_attention() throws, it hears again afterwards
    AttentionListener* const listener = std::exchange(t_attention_listener, nullptr);
    ~Deaf() { t_attention_listener = listener; }
  };
  const Deaf deaf;
  deaf.listener->on_attention(q, k, o);
}

void check_floats(const Tensor& q, const Tensor& k) {
  if (q.rank() < 2 || k.rank() < 2 || q.size(-1) != k.size(-1) || q.size(-1) < 1)
    throw ShapeError(str("attention cannot compare queries ", q.shape(), " with keys ", k.shape()),
                     "they are [.., queries, size] and [.., keys, size]", "give both the same last size");
}

// The keys that each query may attend to, [.., queries, keys]; undefined: all.
Tensor allowed(const Tensor& scores, const AttentionOptions& o) {
  const bool given = o.mask.defined() && o.mask.dtype() == DType::boolean;
  if (!o.causal) return given ? o.mask : Tensor();
  const Tensor before = tril(ones({scores.size(-2), scores.size(-1)}, DType::boolean, scores.device()));
  return given ? logical_and(o.mask, before) : before;
}

double scale_of(const AttentionOptions& o, std::int64_t size) {
  return o.scale.value_or(1 / std::sqrt(static_cast<double>(size)));
}

// Whether the kernels that store no weights can be used for scores of this shape: they add a mask but compute
// no gradient for it.
bool is_fused(const AttentionOptions& o, const Tensor& x, const Shape& scores, std::int64_t width) {
  if (o.mask.defined() && ((grad_enabled() && o.mask.requires_grad()) || o.mask.device() != x.device() ||
                           // Not for an added mask that is also causal: with padding in front some queries
                           // only see the lowest number, in which the logarithm of their sum is lost.
                           (o.causal && o.mask.dtype() != DType::boolean) || o.mask.rank() > scores.rank() ||
                           broadcast(o.mask.shape(), scores, "attention") != scores))
    return false;
  return (x.dtype() == DType::f32 || x.dtype() == DType::f64) && scores.back() > 0 && width > 0;
}

// The mask, if there is one, for scores [n, heads, queries, keys].
struct Mask {
  Tensor held;
  View view;
  Mask(const AttentionOptions& o, const Tensor& q, const Tensor& k) {
    if (!o.mask.defined()) return;
    held = o.mask.dtype() == DType::boolean ? o.mask : to(o.mask, q.dtype());
    view = broadcast_view(held, {q.size(0), q.size(1), q.size(2), k.size(2)});
  }
  operator const View*() const { return held.defined() ? &view : nullptr; }  // NOLINT
};

using Parts = std::array<Tensor, 3>;  // queries, keys and values, [n, heads, .., size or width]

// Their gradients written with ops, to be differentiated again.
Parts gradients_by_ops(const Parts& p, const AttentionOptions& o, const Tensor& g) {
  const Tensor weights = attention_weights(p[0], p[1], o), by = matmul(g, transpose(p[2]));
  const Tensor scores = weights * (by - sum(weights * by, {-1}, true)) * scale_of(o, p[0].size(-1));
  return {matmul(scores, p[1]), matmul(transpose(scores), p[0]), matmul(transpose(weights), g)};
}

// Writes the result into `out`, [n, heads, queries, width] of any strides, and returns the extra data for the
// gradients.
Tensor attend(const Parts& p, const AttentionOptions& o, const Tensor& out) {
  const Tensor& q = p[0];
  const Tensor sums = empty({q.size(0), q.size(1), q.size(2)}, q);
  kernels(q).attend(o.causal, scale_of(o, q.size(3)), q.view(), p[1].view(), p[2].view(), Mask(o, q, p[1]),
                    sums.view(), out.view());
  return sums;
}

void slopes(const Parts& p, const AttentionOptions& o, const Tensor& sums, const Tensor& out, const Tensor& g,
            const Parts& into) {
  kernels(g).attend_slope(o.causal, scale_of(o, p[0].size(3)), p[0].view(), p[1].view(), p[2].view(),
                          Mask(o, p[0], p[1]), sums.view(), out.view(), g.view(), into[0].view(),
                          into[1].view(), into[2].view());
}

// q, k and v [n, heads, .., size or width].
Tensor attended(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
  const Tensor out = empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q);
  const Tensor sums = attend({q, k, v}, o, out);
  return record("attention", out, {q, k, v, o.mask}, [=, result = out.detach()](const Tensor& g) -> Grads {
    if (grad_enabled()) {
      const Parts found = gradients_by_ops({q, k, v}, o, g);
      return {found[0], found[1], found[2], Tensor()};
    }
    const Parts into = {empty(q.shape(), q), empty(k.shape(), k), empty(v.shape(), v)};
    slopes({q, k, v}, o, sums, result, g, into);
    return {into[0], into[1], into[2], Tensor()};
  });
}

// [n, time, size] as [n, heads, time, size of a head]
Tensor by_head(const Tensor& x, std::int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
Parts parts_of(const Tensor& x, std::int64_t heads) {
  const std::int64_t size = x.size(2) / 3;
  const Tensor apart = reshape(x, {x.size(0), x.size(1), 3, heads, size / heads});
  const auto part = [&](std::int64_t i) { return transpose(select(apart, 2, i), 1, 2); };
  return {part(0), part(1), part(2)};
}
Tensor joined(const Tensor& x) {  // [n, heads, time, size of a head] to [n, time, size]
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// Angles of `time` steps from `first` on, f64 [time, size / 2]: f32 would lose the phase of far steps.
Tensor angles(std::int64_t first, std::int64_t time, std::int64_t size, double base, Device device) {
  const Tensor steps = to(arange(time, DType::i64, device), DType::f64) + static_cast<double>(first);
  const Tensor pairs = to(arange(size / 2, DType::i64, device), DType::f64);
  return unsqueeze(steps, 1) * exp(pairs * (-2 * std::log(base) / static_cast<double>(size)));
}

}  // namespace

AttentionListener::AttentionListener() : before_(t_attention_listener) { t_attention_listener = this; }
AttentionListener::~AttentionListener() { t_attention_listener = before_; }

Tensor attention_weights(const Tensor& given_q, const Tensor& given_k, const AttentionOptions& o) {
  if (casts(given_q, given_k)) return attention_weights(lowered(given_q), lowered(given_k), o);
  check_floats(given_q, given_k);
  const Tensor q = as_float(given_q), k = as_float(given_k);
  if (is_half(q.dtype())) {
    const Autocast off({});
    return to(attention_weights(to(q, DType::f32), to(k, DType::f32), o), q.dtype());
  }
  tell_listener(q, k, o);
  Tensor scores = matmul(q * scale_of(o, q.size(-1)), transpose(k, -2, -1));
  if (o.mask.defined() && o.mask.dtype() != DType::boolean) scores = scores + to(o.mask, scores.dtype());
  if (const Tensor seen = allowed(scores, o); seen.defined())
    scores = masked_fill(scores, logical_not(seen), kNever);
  if ((!o.causal && !o.mask.defined()) || scores.size(-1) == 0) return softmax(scores, -1);
  // A query that sees nothing has weights of 0, not 0 / 0.
  const Tensor unseen = equal(scores.detach(), Scalar(kNever)), blind = all(unseen, {-1}, true);
  return masked_fill(softmax(masked_fill(scores, blind, 0), -1), unseen, 0);
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& o) {
  if (casts(q, k, v)) return scaled_dot_product_attention(lowered(q), lowered(k), lowered(v), o);
  check_floats(q, k);
  if (v.rank() < 2 || v.size(-2) != k.size(-2))
    throw ShapeError(str("attention cannot weigh values ", v.shape(), " by keys ", k.shape()),
                     "each key has a value", "give both the same number of rows");
  const Tensor values = as_float(v);
  if (is_half(values.dtype())) {
    const Autocast off({});
    return to(scaled_dot_product_attention(to(as_float(q), DType::f32), to(as_float(k), DType::f32),
                                           to(values, DType::f32), o),
              values.dtype());
  }
  const Shape leading = q.shape().without(q.rank() - 1).without(q.rank() - 2);
  const auto leads = [&](const Tensor& x) {
    return x.rank() == q.rank() && x.shape().without(x.rank() - 1).without(x.rank() - 2) == leading &&
           x.dtype() == q.dtype() && x.device() == q.device();
  };
  Shape scores = q.shape(), shape = q.shape();
  scores[q.rank() - 1] = k.size(-2);
  shape[q.rank() - 1] = v.size(-1);
  if (!leads(k) || !leads(v) || !is_fused(o, q, scores, v.size(-1)))
    return matmul(attention_weights(q, k, o), values);
  tell_listener(q, k, o);
  if (q.rank() == 4) return attended(q, k, v, o);
  const auto stacked = [&](const Tensor& x) {
    return reshape(x, {numel(leading), 1, x.size(-2), x.size(-1)});
  };
  AttentionOptions options = o;
  if (o.mask.defined()) options.mask = stacked(expand(o.mask, scores));
  return reshape(attended(stacked(q), stacked(k), stacked(v), options), shape);
}

Tensor self_attention(const Tensor& given, std::int64_t heads, const AttentionOptions& o) {
  if (given.rank() != 3 || heads < 1 || given.size(2) < 1 || given.size(2) % (3 * heads) != 0)
    throw ShapeError(str("self_attention of ", heads, " heads cannot take ", given.shape()),
                     "an input is [n, time, 3 size], and heads have equal parts of the size",
                     "give queries, keys and values side by side, and a number of heads that divides them");
  if (casts(given)) return self_attention(lowered(given), heads, o);
  const Tensor x = as_float(given);
  if (is_half(x.dtype())) {
    const Autocast off({});
    return to(self_attention(to(x, DType::f32), heads, o), x.dtype());
  }
  if (!is_fused(o, x, {x.size(0), heads, x.size(1), x.size(1)}, x.size(2))) {
    const Parts p = parts_of(x, heads);
    return joined(scaled_dot_product_attention(p[0], p[1], p[2], o));
  }
  const Tensor fixed = contiguous(x);
  if (t_attention_listener) {
    const Parts p = parts_of(fixed.detach(), heads);
    tell_listener(p[0], p[1], o);
  }
  const Tensor out = empty({x.size(0), x.size(1), x.size(2) / 3}, x);
  const Tensor sums = attend(parts_of(fixed.detach(), heads), o, by_head(out, heads));
  return record("self_attention", out, {fixed, o.mask}, [=, result = out.detach()](const Tensor& g) -> Grads {
    if (grad_enabled()) {
      const Parts found = gradients_by_ops(parts_of(fixed, heads), o, by_head(g, heads));
      return {cat({joined(found[0]), joined(found[1]), joined(found[2])}, -1), Tensor()};
    }
    const Tensor dx = empty(fixed.shape(), fixed);
    slopes(parts_of(fixed.detach(), heads), o, sums, by_head(result, heads), by_head(g, heads),
           parts_of(dx, heads));
    return {dx, Tensor()};
  });
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
    return cat({a * c - b * s, b * c + a * s}, -1);
  });
}

Tensor sinusoidal_positions(std::int64_t time, std::int64_t size, double base, Device device) {
  if (time < 1 || size < 2 || size % 2 != 0)
    throw ConfigError(str("there are no positions [", time, ", ", size, ']'),
                      "they have a step or more, and come in pairs", "give an even size");
  const Tensor turn = angles(0, time, size, base, device);
  return reshape(stack({to(sin(turn), DType::f32), to(cos(turn), DType::f32)}, 2), {time, size});
}

}  // namespace veldt
