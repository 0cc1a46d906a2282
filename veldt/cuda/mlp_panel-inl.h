// What a block computes of a panel (mlp_tile-inl.h): its products with weights, and the sums over its columns
// and rows that thin layers and biases want.
// Tests: tests/cuda/mlp_test.cpp
#pragma once

#include "veldt/cuda/mlp_tile-inl.h"

namespace veldt::cuda {

template <Precision P, int kRows> class PanelSums : protected BlockTile<P, kRows> {
 protected:
  using Tile = BlockTile<P, kRows>;
  using Tile::call_, Tile::column_warp_, Tile::first_, Tile::read_, Tile::row_sums_, Tile::row_warp_,
      Tile::tile_;
  using Tile::column, Tile::pair, Tile::pairs, Tile::row;
  using Tile::kColumnWarps, Tile::kPairs, Tile::kRowSums, Tile::kTiles;
  using typename Tile::Element, typename Tile::Sums;

 public:
  using Tile::Tile;

 protected:
  // --- products

  // s += rows of the tile that is read times weights.
  __device__ __forceinline__ void multiply(Sums& s, int steps, const uint4* weights, int width,
                                           int panel) const {
    const int all = pairs(width), lane = static_cast<int>(threadIdx.x) % 32;
    const int first = row_warp_ * kTiles * 16;
    const int tiles = (tile_.rows - first + 15) / 16;  // the others have no rows
    if (pair(panel, 0) >= all || tiles <= 0) return;
    const bool both = pair(panel, 1) < all;
    const uint4* const from = weights + pair(panel, 0) * 32 + lane;
    const Element* const rows = read_ + first * call_.pitch;
    if (tiles >= kTiles && both)
      return add_steps<P, 2, true>(s, steps, rows, call_.pitch, kTiles, from, all, kColumnWarps);
    if (tiles >= kTiles)
      return add_steps<P, 1, true>(s, steps, rows, call_.pitch, kTiles, from, all, kColumnWarps);
    if (both) return add_steps<P, 2, false>(s, steps, rows, call_.pitch, tiles, from, all, kColumnWarps);
    add_steps<P, 1, false>(s, steps, rows, call_.pitch, tiles, from, all, kColumnWarps);
  }

  // s += left(i, row) right(i, column) over a few i, in f32.
  template <class OfRow, class OfColumn>
  __device__ __forceinline__ void multiply_thin(Sums& s, int panel, int count, const OfRow& left,
                                                const OfColumn& right) const {
    GPU_ROLLED
    for (int i = 0; i < count; ++i) {
      float a[kTiles][2], b[2 * kPairs][2];
      GPU_UNROLLED
      for (int h = 0; h < 2; ++h) {
        GPU_UNROLLED
        for (int m = 0; m < kTiles; ++m) a[m][h] = left(i, row(m, h));
        GPU_UNROLLED
        for (int j = 0; j < 2 * kPairs; ++j) b[j][h] = right(i, column(panel, j) + h);
      }
      GPU_UNROLLED
      for (int m = 0; m < kTiles; ++m) GPU_UNROLLED
      for (int j = 0; j < 2 * kPairs; ++j) GPU_UNROLLED
      for (int q = 0; q < 4; ++q) s[m][j][q] += a[m][q / 2] * b[j][q % 2];
    }
  }

  // --- sums over the columns of a row, and over the rows of a column

  // row_sums_[row][i] of each column warp = the sum over the panels' columns of s weight(i, column).
  template <class Weight>
  __device__ __forceinline__ void add_to_rows(const Sums& s, int panel, int count, const Weight& weight) {
    GPU_ROLLED
    for (int i = 0; i < count; ++i) {
      float w[2 * kPairs][2];
      GPU_UNROLLED
      for (int j = 0; j < 2 * kPairs; ++j) GPU_UNROLLED
      for (int e = 0; e < 2; ++e) w[j][e] = weight(i, column(panel, j) + e);
      GPU_UNROLLED
      for (int m = 0; m < kTiles; ++m) GPU_UNROLLED
      for (int h = 0; h < 2; ++h) {
        float sum = 0;
        GPU_UNROLLED
        for (int j = 0; j < 2 * kPairs; ++j) sum += s[m][j][2 * h] * w[j][0] + s[m][j][2 * h + 1] * w[j][1];
        sum += __shfl_xor_sync(gpu::kWholeWarp, sum, 1);
        sum += __shfl_xor_sync(gpu::kWholeWarp, sum, 2);
        float* const to = row_sums_ + (column_warp_ * kRows + row(m, h)) * kRowSums + i;
        if (lane_in_group() == 0) *to = panel == 0 ? sum : *to + sum;
      }
    }
  }
  // fn(row, i, sum) over all column warps' sums; after a barrier.
  template <class Fn> __device__ void each_row_sum(int count, const Fn& fn) const {
    for (int k = static_cast<int>(threadIdx.x); k < tile_.rows * count; k += static_cast<int>(kThreads)) {
      const int r = k / count, i = k % count;
      float sum = 0;
      for (int c = 0; c < kColumnWarps; ++c) sum += row_sums_[(c * kRows + r) * kRowSums + i];
      fn(r, i, sum);
    }
  }

  // to[column * step] of this part += the sum over rows of s weight(row).
  template <class Weight>
  __device__ __forceinline__ void add_to_columns(const Sums& s, int panel, int width, float* to, int step,
                                                 const Weight& weight) const {
    if (pair(panel, 0) >= pairs(width)) return;
    float w[kTiles][2];
    GPU_UNROLLED
    for (int m = 0; m < kTiles; ++m) GPU_UNROLLED
    for (int h = 0; h < 2; ++h) w[m][h] = weight(row(m, h));
    GPU_UNROLLED
    for (int j = 0; j < 2 * kPairs; ++j) GPU_UNROLLED
    for (int e = 0; e < 2; ++e) {
      float sum = 0;
      GPU_UNROLLED
      for (int m = 0; m < kTiles; ++m) GPU_UNROLLED
      for (int h = 0; h < 2; ++h) sum += s[m][j][2 * h + e] * w[m][h];
      GPU_UNROLLED
      for (int d = 4; d < 32; d *= 2) sum += __shfl_xor_sync(gpu::kWholeWarp, sum, d);
      const int c = column(panel, j) + e;
      if (lane_group() == 0 && c < width) to[c * step] = first_ ? sum : to[c * step] + sum;
    }
  }
};

}  // namespace veldt::cuda
