// Merges neighbouring dimensions that all views of a kernel walk as one: fewer and longer dimensions make a
// walk cheaper.
// Tests: tests/core/coalesce_test.cpp
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>

#include "veldt/core/view.h"

namespace veldt {

// Outermost first. A plain struct, which can be passed to a GPU's kernel.
template <int kViews> struct Coalesced {
  int rank = 0;
  std::int64_t sizes[kMaxRank] = {};
  std::int64_t strides[kViews][kMaxRank] = {};  // in elements

  // Adds a dimension inside the others, which view k of `views` walks by stride(k). It is merged with the
  // last one if that is contiguous with it in every view.
  template <class StrideOf> void push(std::int64_t size, int views, const StrideOf& stride) {
    bool joins = rank > 0;
    for (int k = 0; joins && k < views; ++k) joins = strides[k][rank - 1] == stride(k) * size;
    if (!joins) sizes[rank++] = 1;
    sizes[rank - 1] *= size;
    for (int k = 0; k < views; ++k) strides[k][rank - 1] = stride(k);
  }
};

// The distance of neighbours along a dimension; repeated elements count as the largest.
inline std::int64_t width_of(std::int64_t stride) {
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
}

// The dimensions d of the first view whose bits 1 << d are in `chosen`, except those of size 1, widest stride
// of that view first, so that a transposed one is read in the order of memory; 0 repeats, so it goes
// outermost. The other views have its shape, or a size of 1, which is repeated.
template <int kViews>
Coalesced<kViews> widest_first(std::initializer_list<const View*> views, unsigned chosen) {
  const View* const* const all = views.begin();
  const View& x = *all[0];
  int order[kMaxRank], count = 0;
  for (int d = 0; d < x.shape.rank(); ++d) {
    if ((chosen >> d & 1u) == 0 || x.shape[d] == 1) continue;
    int at = count++;
    for (; at > 0 && width_of(x.strides[order[at - 1]]) < width_of(x.strides[d]); --at)
      order[at] = order[at - 1];
    order[at] = d;
  }
  Coalesced<kViews> found;
  for (int i = 0; i < count; ++i) {
    const int d = order[i];
    found.push(x.shape[d], static_cast<int>(views.size()),
               [&](int k) { return all[k]->shape[d] == 1 ? 0 : all[k]->strides[d]; });
  }
  return found;
}

}  // namespace veldt
