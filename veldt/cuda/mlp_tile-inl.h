// A tile of rows in a block: where the numbers of a layer's panel lie among the threads, and their ways
// between registers, the two tiles of activations in shared memory, and the workspace.
//
// A panel is as many columns of a layer as the block computes at a time: every warp 64 rows (or 32) and two
// times 16 columns of it, in registers.
// Tests: tests/cuda/mlp_test.cpp
#pragma once

#include "veldt/cuda/mlp_kernels.h"
#include "veldt/cuda/mlp_product-inl.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

template <Precision P, int kRows> class BlockTile {
 protected:
  using Numbers = Products<P>;
  using Element = typename Numbers::Element;
  static constexpr bool kHalves = P == Precision::bf16;
  static constexpr int kTiles = kRows == 32 ? 2 : 4;  // of 16 rows, of a warp
  static constexpr int kRowWarps = kRows / (16 * kTiles);
  static constexpr int kColumnWarps = static_cast<int>(kThreads) / 32 / kRowWarps;
  static constexpr int kPairs = 2;  // of tiles of 8 columns, of a warp
  static constexpr int kPanel = kColumnWarps * kPairs * 16;
  static constexpr int kRowSums = 8;  // columns that sums over rows' columns have in shared memory
  using Sums = Sum[kTiles][2 * kPairs];

 public:
  __device__ BlockTile(const MlpCall& call, unsigned char* shared)
      : call_(call),
        read_(reinterpret_cast<Element*>(shared)),
        write_(read_ + kRows * call.pitch),
        row_sums_(reinterpret_cast<float*>(read_ + 2 * kRows * call.pitch)) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    row_warp_ = warp / kColumnWarps, column_warp_ = warp % kColumnWarps;
  }

 protected:
  // --- where a thread's numbers lie

  __device__ int row(int tile, int half) const {
    return (row_warp_ * kTiles + tile) * 16 + half * 8 + lane_group();
  }
  __device__ int pair(int panel, int p) const { return (panel * kPairs + p) * kColumnWarps + column_warp_; }
  // Of the two tiles of a pair, the first of two neighbours.
  __device__ int column(int panel, int j) const {
    return pair(panel, j / 2) * 16 + j % 2 * 8 + 2 * lane_in_group();
  }
  static __device__ int pairs(int width) { return (width + 15) / 16; }
  static __device__ int panels(int width) { return (width + kPanel - 1) / kPanel; }
  static __device__ int steps(int width) { return (width + Numbers::kDepth - 1) / Numbers::kDepth; }
  __device__ bool has_row(int r) const { return r < tile_.rows; }
  __device__ float* part_sums() const {
    return call_.template at<float>(call_.walk_sums) +
           (std::int64_t{blockIdx.x} * kRowWarps + row_warp_) * call_.walk_size;
  }
  static __device__ void clear(Sums& s) {
    GPU_UNROLLED
    for (int m = 0; m < kTiles; ++m) GPU_UNROLLED
    for (int j = 0; j < 2 * kPairs; ++j) GPU_UNROLLED
    for (int i = 0; i < 4; ++i) s[m][j][i] = 0;
  }
  // fn(sum, row, column) for each.
  template <class Fn> __device__ __forceinline__ void each(Sums& s, int panel, const Fn& fn) const {
    GPU_UNROLLED
    for (int m = 0; m < kTiles; ++m) GPU_UNROLLED
    for (int j = 0; j < 2 * kPairs; ++j) GPU_UNROLLED
    for (int i = 0; i < 4; ++i) fn(s[m][j][i], row(m, i / 2), column(panel, j) + i % 2);
  }

  // --- what a thread keeps for itself

  // Of tile m, j of a panel of a layer of `width` columns.
  template <class T> __device__ T* own(MlpPlace place, int width, int panel, int m, int j) const {
    const std::int64_t at =
        ((std::int64_t{blockIdx.x} * panels(width) + panel) * kTiles + m) * (2 * kPairs) + j;
    return call_.template at<T>(place) + at * kThreads + threadIdx.x;
  }
  __device__ void keep_slopes(const MlpCallLayer& layer, int panel, int m, int j, const Sum& slope) const {
    if constexpr (kHalves)
      *own<uint2>(layer.slope, layer.out, panel, m, j) = {gpu::to_bf16_pair(slope[0], slope[1]),
                                                          gpu::to_bf16_pair(slope[2], slope[3])};
    else
      *own<float4>(layer.slope, layer.out, panel, m, j) = {slope[0], slope[1], slope[2], slope[3]};
  }
  __device__ __forceinline__ void scale_by_slopes(const MlpCallLayer& layer, int panel, Sums& s) const {
    GPU_UNROLLED
    for (int j = 0; j < 2 * kPairs; ++j) {
      if (pair(panel, j / 2) >= pairs(layer.out)) continue;
      GPU_UNROLLED
      for (int m = 0; m < kTiles; ++m) {
        if constexpr (kHalves) {
          const uint2 slope = *own<uint2>(layer.slope, layer.out, panel, m, j);
          s[m][j][0] *= float_of(slope.x << 16), s[m][j][1] *= float_of(slope.x & 0xFFFF0000u);
          s[m][j][2] *= float_of(slope.y << 16), s[m][j][3] *= float_of(slope.y & 0xFFFF0000u);
        } else {
          const float4 slope = *own<float4>(layer.slope, layer.out, panel, m, j);
          s[m][j][0] *= slope.x, s[m][j][1] *= slope.y, s[m][j][2] *= slope.z, s[m][j][3] *= slope.w;
        }
      }
    }
  }

  // --- between tiles in shared memory and the workspace

  // Rounded, to the tile that is written.
  __device__ __forceinline__ void store_tile(const Sums& s, int panel, int width) const {
    GPU_UNROLLED
    for (int j = 0; j < 2 * kPairs; ++j) {
      if (pair(panel, j / 2) >= pairs(width)) continue;
      GPU_UNROLLED
      for (int m = 0; m < kTiles; ++m) GPU_UNROLLED
      for (int h = 0; h < 2; ++h)
        Numbers::store(write_ + row(m, h) * call_.pitch + column(panel, j), s[m][j][2 * h],
                       s[m][j][2 * h + 1]);
    }
  }
  // `width` columns of the tile that is read, as columns `first`.. of rows of `all`.
  __device__ void copy_tile(MlpPlace place, int first, int width, int all) const {
    constexpr int kGroup = 16 / static_cast<int>(sizeof(Element));
    const int groups = pairs(width) * 16 / kGroup, pitch = pairs(all) * 16;
    Element* const to = call_.template at<Element>(place) + slot_ * pitch + first;
    for (int i = static_cast<int>(threadIdx.x); i < kRows * groups; i += static_cast<int>(kThreads)) {
      const int r = i / groups, c = i % groups * kGroup;
      *reinterpret_cast<uint4*>(to + std::int64_t{r} * pitch + c) =
          *reinterpret_cast<const uint4*>(read_ + r * call_.pitch + c);
    }
  }
  // `width` columns of x from `first` on to the tile that is read, zeros where there are none.
  __device__ void load_input(int first, int width) const {
    const int in = call_.layers[0].in, half = pairs(width) * 8;
    const float* const x = call_.x + tile_.row * in;
    for (int i = static_cast<int>(threadIdx.x); i < kRows * half; i += static_cast<int>(kThreads)) {
      const int r = i / half, c = i % half * 2;
      float v[2];
      GPU_UNROLLED
      for (int e = 0; e < 2; ++e)
        v[e] = has_row(r) && first + c + e < in ? x[std::int64_t{r} * in + first + c + e] : 0.0f;
      Numbers::store(read_ + r * call_.pitch + c, v[0], v[1]);
    }
  }
  __device__ void swap_tiles() {
    __syncthreads();
    Element* const was = read_;
    read_ = write_;
    write_ = was;
  }

  const MlpCall& call_;
  Element *read_, *write_;
  float* row_sums_;  // [column warps][rows][kRowSums]
  int row_warp_, column_warp_;
  MlpTiles::Tile tile_ = {};
  std::int64_t slot_ = 0;  // the tile's first row among those of the chunk
  bool first_ = false;     // of the block, whose sums begin
};

}  // namespace veldt::cuda
