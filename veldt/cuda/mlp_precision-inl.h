// The kernels of a fused stack of layers in one precision, as its .cu file compiles them.
// Tests: tests/cuda/mlp_test.cpp, tests/cuda/mma_test.cpp
#pragma once

#include "veldt/cuda/mlp_walk-inl.h"
#include "veldt/cuda/mlp_weight-inl.h"

namespace veldt::cuda {

template <Precision P> void pack(const MlpCall& call) {
  launch(pack_kernel<P>, dim3(16, static_cast<unsigned>(2 * call.depth)), kThreads, 0, call);
}

template <Precision P> void walk(const MlpCall& call, const MlpCut& cut) {
  const dim3 blocks(static_cast<unsigned>(std::min<std::int64_t>(call.blocks, call.chunk_tiles)));
  constexpr int kMost = P == Precision::bf16 ? 128 : 64;
  launch(cut.tile_rows == kMost ? walk_kernel<P, kMost> : walk_kernel<P, kMost / 2>, blocks, kThreads,
         cut.shared, call);
}

template <Precision P> void weigh(const MlpCall& call, const MlpCut& cut) {
  int blocks = 0;
  for (int l = 0; l < call.depth; ++l) blocks += call.weight_blocks(l);
  if (blocks == 0) return;
  const int rows = static_cast<int>(call.chunk_tiles) * cut.tile_rows;
  launch(call.weight_tile == 128 ? weigh_kernel<P, 128> : weigh_kernel<P, 64>,
         dim3(static_cast<unsigned>(blocks)), kThreads, 0, call, rows);
}

template <Precision P> int weigh_places(int weight_tile) {
  const Turn turn = take_turn();  // a thread may ask this before anything else
  int blocks = 0;
  const auto kernel = weight_tile == 128 ? weigh_kernel<P, 128> : weigh_kernel<P, 64>;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0),
        "ask what a kernel takes of the GPU");
  return blocks * multiprocessors();
}

template <Precision P> constexpr MlpKernels kMlpKernels = {pack<P>, walk<P>, weigh<P>, weigh_places<P>};

}  // namespace veldt::cuda
