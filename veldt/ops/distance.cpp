#include "veldt/ops/distance.h"

#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt {

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int dim, double eps) {
  const Shape both = broadcast(a.shape(), b.shape(), "cosine_similarity");
  const int d = wrap_dim(dim, both.rank(), "cosine_similarity");
  return sum(normalize(expand(a, both), 2, d, eps) * normalize(expand(b, both), 2, d, eps), {d});
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps) {
  return through_f32(a - b, [&](const Tensor& apart) { return norm(apart + eps, p, {-1}); });
}

Tensor normalize(const Tensor& x, double p, int dim, double eps) {
  // f16 has neither so small an eps nor the norms of long vectors.
  return through_f32(x, [&](const Tensor& y) { return y / maximum(norm(y, p, {dim}, true), eps); });
}

}  // namespace veldt
