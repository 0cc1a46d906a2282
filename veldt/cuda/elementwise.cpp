#include "veldt/cuda/elementwise.h"

#include <algorithm>

namespace veldt::cuda {

Walk walk_of(const View* const* views, int count) {
  Walk w;
  const Shape& shape = views[0]->shape;
  w.count = numel(shape);
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    const int last = w.rank - 1;
    bool merges = last >= 0;
    for (int k = 0; merges && k < count; ++k) merges = w.strides[k][last] == views[k]->strides[d] * shape[d];
    const int to = merges ? last : w.rank++;
    w.sizes[to] = (merges ? w.sizes[to] : 1) * shape[d];
    for (int k = 0; k < count; ++k) w.strides[k][to] = views[k]->strides[d];
  }
  w.contiguous = w.rank == 0;
  if (w.rank == 1)
    w.contiguous = std::all_of(w.strides, w.strides + count, [](const auto& of) { return of[0] == 1; });
  if (w.rank == 0) w.sizes[w.rank++] = 1;
  return w;
}

}  // namespace veldt::cuda
