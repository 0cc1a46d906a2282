#include "veldt/cuda/axes.h"

#include <algorithm>
#include <limits>

namespace veldt::cuda {

std::int64_t width(std::int64_t stride) {
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride < 0 ? -stride : stride;
}

Axes axes_of(std::initializer_list<const View*> views, unsigned chosen) {
  const View& x = **views.begin();
  int order[kMaxRank], count = 0;
  for (int d = 0; d < x.shape.rank(); ++d)
    if ((chosen >> d & 1u) != 0 && x.shape[d] != 1) order[count++] = d;
  std::stable_sort(order, order + count,
                   [&](int a, int b) { return width(x.strides[a]) > width(x.strides[b]); });
  Axes axes;
  int last = -1;
  for (int i = 0; i < count; ++i) {
    const int d = order[i];
    const std::int64_t size = x.shape[d];
    std::int64_t strides[Axes::kViews] = {};
    bool merges = last >= 0;
    int k = 0;
    for (const View* v : views) {
      strides[k] = v->shape[d] == 1 ? 0 : v->strides[d];
      merges = merges && axes.strides[k][last] == strides[k] * size;
      ++k;
    }
    if (!merges) axes.sizes[++last] = 1;
    axes.sizes[last] *= size;
    for (int v = 0; v < Axes::kViews; ++v) axes.strides[v][last] = strides[v];
    axes.count *= size;
  }
  axes.rank = std::max(last + 1, 1);
  for (int d = 0; d < axes.rank; ++d)
    if (axes.sizes[d] > 0)
      axes.reciprocals[d] = ~std::uint64_t{0} / static_cast<std::uint64_t>(axes.sizes[d]);
  return axes;
}

}  // namespace veldt::cuda
