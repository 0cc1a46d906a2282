// Puts dimensions together, and finds what a kernel divides by.
#include "veldt/cuda/axes.h"

namespace veldt::cuda {

Axes axes_of(std::initializer_list<const View*> views, unsigned chosen) {
  Axes axes{widest_first<3>(views, chosen)};
  if (axes.rank == 0) axes.sizes[axes.rank++] = 1;
  for (int d = 0; d < axes.rank; ++d) {
    axes.count *= axes.sizes[d];
    if (axes.sizes[d] > 0)
      axes.reciprocals[d] = ~std::uint64_t{0} / static_cast<std::uint64_t>(axes.sizes[d]);
  }
  return axes;
}

}  // namespace veldt::cuda
