// How an elementwise kernel walks views of one shape: by a flat index, and by strides where they are not all
// contiguous.
#pragma once

#include <cstdint>

#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

inline constexpr int kMaxOperands = 5;

// Dimensions of size 1 are dropped, and those merged that every view walks as one. Strides in elements.
struct Walk {
  std::int64_t count = 0;
  int rank = 0;
  bool contiguous = false;  // all views, in the same order: the flat index is every offset
  std::int64_t sizes[kMaxRank] = {};
  std::int64_t strides[kMaxOperands][kMaxRank] = {};
};
Walk walk_of(const View* const* views, int count);

#if defined(__CUDACC__) || defined(VELDT_GPU_EMULATION)
// Where element i lies in each of `kOperands` views.
template <int kOperands>
__device__ inline void offsets_of(const Walk& w, std::int64_t i, std::int64_t (&at)[kOperands]) {
  for (int k = 0; k < kOperands; ++k) at[k] = w.contiguous ? i : 0;
  if (w.contiguous) return;
  for (int d = w.rank - 1; d > 0; --d) {
    const std::int64_t rest = i / w.sizes[d], index = i - rest * w.sizes[d];
    for (int k = 0; k < kOperands; ++k) at[k] += index * w.strides[k][d];
    i = rest;
  }
  for (int k = 0; k < kOperands; ++k) at[k] += i * w.strides[k][0];
}
#endif

}  // namespace veldt::cuda
