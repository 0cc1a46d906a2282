// Distances, cosines and vectors of length one; halves are computed in f32 and read without conversion.
#include "veldt/ops/distance.h"

#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

// Halves divided by their lengths, without conversion: x r with r = 1 / max(length, eps). Its gradient is (g
// - x r^2 sum of (g x)) r, below eps g r.
Tensor normalize_halves(const Tensor& x, int dim, double eps) {
  constexpr DType kWide = DType::f32;
  const Shape kept = reduced_shape(x, {dim}, "normalize");
  const auto share_of = [eps](const Tensor& length) { return reciprocal(maximum(length, eps)); };
  // The multiple of x in the gradient, from the sum of g x; not by r^2, which overflows or underflows for
  // most lengths.
  const auto along = [eps](const Tensor& length, const Tensor& r, const Tensor& total) {
    return where(greater(length, eps), -(total * r * r), zeros_like(total));
  };
  const Tensor length = reduced_to(kWide, ReduceOp::norm, x, kept), zero = zeros({}, kWide, x.device());
  const Tensor r = share_of(length), y = subtract_multiply_to(x.dtype(), x, zero, r);
  return record("normalize", y, {x}, [=](const Tensor& g) -> Grads {
    if (grad_enabled()) {
      const Tensor wide = to(x, kWide), by = to(g, kWide), now = norm(wide, 2, {dim}, true),
                   rate = share_of(now);
      return {to((by + wide * along(now, rate, sum(by * wide, {dim}, true))) * rate, x.dtype())};
    }
    const Tensor total = sum(subtract_multiply_to(kWide, x, zero, g), {dim}, true);
    return {subtract_multiply_to(x.dtype(), multiply_add_to(kWide, x, along(length, r, total), g), zero, r)};
  });
}

}  // namespace

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int dim, double eps) {
  const Shape both = broadcast(a.shape(), b.shape(), "cosine_similarity");
  const int d = wrap_dim(dim, both.rank(), "cosine_similarity");
  return sum(normalize(expand(a, both), 2, d, eps) * normalize(expand(b, both), 2, d, eps), {d});
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps) {
  return through_f32(a - b, [&](const Tensor& apart) { return norm(apart + eps, p, {-1}); });
}

Tensor normalize(const Tensor& x, double p, int dim, double eps) {
  if (p == 2 && is_half(x.dtype()) && !autocast_dtype())
    return along_dim("normalize", x, dim,
                     [&](const Tensor& t, int d) { return normalize_halves(t, d, eps); });
  // f16 can hold neither such a small eps nor the norms of long vectors.
  return through_f32(x, [&](const Tensor& y) { return y / maximum(norm(y, p, {dim}, true), eps); });
}

}  // namespace veldt
