// Device code of running sums over the threads of a block.
// Tests: tests/cuda/op_table_test.cpp
#pragma once

#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

inline constexpr int kWarps = static_cast<int>(kThreads) / 32;

// The sum of `own` over this thread and those before it, added in a fixed order; `total`: over all. `sums` is
// shared and has kWarps elements. All threads of a block of kThreads take part.
template <class T> __device__ T scan_block(T own, T* sums, T* total) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  T sum = own;
  for (int apart = 1; apart < 32; apart *= 2) {
    const T before = __shfl_up_sync(gpu::kWholeWarp, sum, static_cast<unsigned>(apart));
    if (lane >= apart) sum = before + sum;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  T before = 0, all = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) before = all;
    all += sums[w];
  }
  __syncthreads();
  *total = all;
  return warp == 0 ? sum : before + sum;
}

}  // namespace veldt::cuda
