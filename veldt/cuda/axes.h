// Some dimensions of views, as a kernel walks them that treats the others differently.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

// Dimensions of size 1 are dropped, and neighbours merged where every view allows it. Never without one.
// Strides in elements.
struct Axes {
  static constexpr int kViews = 3;
  std::int64_t count = 1;  // of indices
  int rank = 1;
  std::int64_t sizes[kMaxRank] = {1};
  std::uint64_t reciprocals[kMaxRank] = {};  // of the sizes: (2^64 - 1) / size
  std::int64_t strides[kViews][kMaxRank] = {};

  std::int64_t inner(int view) const { return strides[view][rank - 1]; }
};

// The dimensions d of the first view whose bits 1 << d are in `chosen`, widest stride of that view first, so
// that a transposed one is read in the order of memory; 0 repeats, so it goes outermost. The other views have
// its shape, or a size of 1, which is repeated.
Axes axes_of(std::initializer_list<const View*> views, unsigned chosen);

// Of a stride: how far neighbours lie apart; those that repeat farther than all.
std::int64_t width(std::int64_t stride);

#if defined(__CUDACC__) || defined(VELDT_GPU_EMULATION)
// Where index i lies in each of `kOperands` views. A GPU has no instruction for divisions: the product with
// the reciprocal is the quotient, or 1 less.
template <int kOperands>
__device__ inline void offsets_of(const Axes& a, std::int64_t i, std::int64_t (&at)[kOperands]) {
  for (int k = 0; k < kOperands; ++k) at[k] = 0;
  for (int d = a.rank - 1; d > 0; --d) {
    auto rest = static_cast<std::int64_t>(__umul64hi(static_cast<std::uint64_t>(i), a.reciprocals[d]));
    if (i - rest * a.sizes[d] >= a.sizes[d]) ++rest;
    const std::int64_t index = i - rest * a.sizes[d];
    for (int k = 0; k < kOperands; ++k) at[k] += index * a.strides[k][d];
    i = rest;
  }
  for (int k = 0; k < kOperands; ++k) at[k] += i * a.strides[k][0];
}
#endif

}  // namespace veldt::cuda
