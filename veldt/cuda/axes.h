// Some dimensions of views, as a kernel walks them that treats the others differently.
// Tests: tests/cuda/elementwise_test.cpp
#pragma once

#include <cstdint>
#include <initializer_list>

#include "veldt/core/coalesce.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

// Never without a dimension.
struct Axes : Coalesced<3> {
  std::int64_t count = 1;                    // of indices
  std::uint64_t reciprocals[kMaxRank] = {};  // of the sizes: (2^64 - 1) / size

  std::int64_t inner(int view) const { return strides[view][rank - 1]; }
};

// Those of widest_first().
Axes axes_of(std::initializer_list<const View*> views, unsigned chosen);

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
