// Weights of a fused stack of layers: brought into the order of fragments, and their gradients.
// Tests: tests/cuda/mlp_test.cpp
#pragma once

#include "veldt/cuda/mlp_kernels.h"
#include "veldt/cuda/mlp_product-inl.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

// For a product over `depth` numbers with `width` columns: [step][pair of tiles of 8 columns][lane], 16 bytes
// for each, the registers of the first tile and those of the second. blockIdx.y: the layer, forth or back.
template <Precision P>
__global__ void __launch_bounds__(kThreads) pack_kernel(const __grid_constant__ MlpCall call) {
  using Numbers = Products<P>;
  const MlpCallLayer& layer = call.layers[blockIdx.y / 2];
  const bool back = blockIdx.y % 2 == 1;
  const bool wanted = !back || (call.pass != MlpPass::forward && (blockIdx.y > 1 || call.wants_dx));
  if (!layer.is_product || !wanted) return;
  const int in = layer.in, depth = back ? layer.out : layer.in, width = back ? layer.in : layer.out;
  const int pairs = (width + 15) / 16, steps = (depth + Numbers::kDepth - 1) / Numbers::kDepth;
  uint4* const to = call.at<uint4>(back ? layer.back : layer.forth);
  for (int i = static_cast<int>(first_element()); i < steps * pairs * 32;
       i += static_cast<int>(element_step())) {
    const int pair = i / 32 % pairs, step = i / 32 / pairs;
    unsigned v[4];
    GPU_UNROLLED
    for (int q = 0; q < 4; ++q) {
      const int column = pair * 16 + q / 2 * 8 + lane_group();
      v[q] = Numbers::pack(step * Numbers::kDepth + Numbers::depth_of(q % 2), [&](int k) {
        return k >= depth || column >= width ? 0.0f
               : back                        ? layer.w[k * in + column]
                                             : layer.w[column * in + k];
      });
    }
    to[i] = {v[0], v[1], v[2], v[3]};
  }
}

// What a block computes: a part of the rows of a tile of a layer's gradient.
struct WeightPart {
  int layer, tile, split;
};
__device__ inline WeightPart weight_part(const MlpCall& call, int block) {
  int l = 0;
  for (int blocks; l + 1 < call.depth && block >= (blocks = call.weight_blocks(l)); ++l) block -= blocks;
  const int splits = call.splits_of(call.layers[l]).count;
  return {l, block / splits, block % splits};
}

// dw [out, in] = delta^T kept, over a part of a chunk's rows. A block has a square of kSide rows and
// columns of it, each warp of that a half of the rows and a quarter of the columns, and brings some rows of
// both matrices at a time into shared memory, the next while it multiplies the last.
template <Precision P, int kSide> class Weighing {
  using Numbers = Products<P>;
  using Element = typename Numbers::Element;
  static constexpr int kDepth = 64 / static_cast<int>(sizeof(Element));  // rows at a time
  static constexpr int kGroup = 16 / static_cast<int>(sizeof(Element));
  static constexpr int kPitch = kSide + 8;  // lines of a fragment lie in different banks
  static constexpr int kGroups = kSide / kGroup;
  static constexpr int kPanel = kDepth * kPitch;
  static constexpr int kLoads = kDepth * kGroups / static_cast<int>(kThreads);  // of a thread
  static constexpr int kTiles = kSide / 32, kPairs = kSide / 64;  // of 16 rows, of 16 columns: a warp's
  static_assert(static_cast<int>(kThreads) % kGroups == 0);
  using Sums = Sum[kTiles][2 * kPairs];
  using Groups = uint4[kLoads];

 public:
  static constexpr int kShared = 4 * kPanel * static_cast<int>(sizeof(Element)) / 16;

  __device__ Weighing(const MlpCall& call, uint4* shared)
      : call_(call), shared_(reinterpret_cast<Element*>(shared)) {}

  __device__ void run(const WeightPart& part, int rows) const {
    const MlpCallLayer& layer = call_.layers[part.layer];
    const int across = (layer.in + kSide - 1) / kSide, split_rows = call_.splits_of(layer).rows;
    const int top = part.tile / across * kSide, left = part.tile % across * kSide;
    const int begin = part.split * split_rows, end = begin + split_rows < rows ? begin + split_rows : rows;
    Sums s = {};
    multiply(layer, top, left, begin, end, s);
    add(layer, top, left, part.split, s);
  }

 private:
  static __device__ int group_row(int i) {
    return (static_cast<int>(threadIdx.x) + i * static_cast<int>(kThreads)) / kGroups;
  }
  static __device__ int group_column() { return static_cast<int>(threadIdx.x) % kGroups * kGroup; }

  // This thread's groups of the rows from `row` and the columns from `column` on.
  static __device__ __forceinline__ void fetch(const Element* from, int pitch, int column, int row,
                                               Groups& to) {
    const int c = column + group_column();
    GPU_UNROLLED
    for (int i = 0; i < kLoads; ++i)
      to[i] = c < pitch ? *reinterpret_cast<const uint4*>(from + std::int64_t{row + group_row(i)} * pitch + c)
                        : uint4{0, 0, 0, 0};
  }
  static __device__ __forceinline__ void store(Element* to, const Groups& groups) {
    GPU_UNROLLED
    for (int i = 0; i < kLoads; ++i)
      *reinterpret_cast<uint4*>(to + group_row(i) * kPitch + group_column()) = groups[i];
  }

  // The warp's first row and column of the square.
  static __device__ int warp_row() { return static_cast<int>(threadIdx.x) / 128 * (kSide / 2); }
  static __device__ int warp_column() { return static_cast<int>(threadIdx.x) / 32 % 4 * (kSide / 4); }

  __device__ __forceinline__ void multiply(const MlpCallLayer& layer, int top, int left, int begin, int end,
                                           Sums& s) const {
    const int in = round_up(layer.in, MlpCall::kColumns), out = round_up(layer.out, MlpCall::kColumns);
    const Element* const delta = call_.at<Element>(layer.delta);
    const Element* const kept = call_.at<Element>(layer.kept);
    const int tiles = (out - top - warp_row()) / 16, pairs = (in - left - warp_column()) / 16;
    Groups next_delta = {}, next_kept = {};
    if (begin < end) {
      fetch(delta, out, top, begin, next_delta);
      fetch(kept, in, left, begin, next_kept);
    }
    int stage = 0;  // the half of shared memory that is written while others may still read the other half
    GPU_ROLLED
    for (int r = begin; r < end; r += kDepth, stage ^= 1) {
      Element* const a = shared_ + stage * 2 * kPanel;
      Element* const b = a + kPanel;
      store(a, next_delta);
      store(b, next_kept);
      __syncthreads();
      if (r + kDepth < end) {
        fetch(delta, out, top, r + kDepth, next_delta);
        fetch(kept, in, left, r + kDepth, next_kept);
      }
      if (tiles <= 0 || pairs <= 0) continue;
      GPU_UNROLLED
      for (int k = 0; k < kDepth; k += Numbers::kDepth) {
        typename Numbers::Right right[kPairs][2];
        GPU_UNROLLED
        for (int p = 0; p < kPairs; ++p)
          Numbers::rights_of_rows(b + k * kPitch + warp_column() + 16 * p, kPitch, right[p]);
        GPU_UNROLLED
        for (int m = 0; m < kTiles; ++m) {
          if (m >= tiles) continue;
          const auto left_side = Numbers::left_of_rows(a + k * kPitch + warp_row() + 16 * m, kPitch);
          GPU_UNROLLED
          for (int p = 0; p < kPairs; ++p)
            if (p < pairs) Numbers::template add<2>(s[m] + 2 * p, left_side, right[p]);
        }
      }
    }
  }

  __device__ __forceinline__ void add(const MlpCallLayer& layer, int top, int left, int split,
                                      const Sums& s) const {
    float* const to = call_.at<float>(call_.weight_sums) + std::int64_t{split} * call_.weight_size + layer.dw;
    GPU_UNROLLED
    for (int m = 0; m < kTiles; ++m) GPU_UNROLLED
    for (int j = 0; j < 2 * kPairs; ++j) GPU_UNROLLED
    for (int i = 0; i < 4; ++i) {
      const int r = top + warp_row() + m * 16 + i / 2 * 8 + lane_group();
      const int c = left + warp_column() + j * 8 + 2 * lane_in_group() + i % 2;
      if (r >= layer.out || c >= layer.in) continue;
      float* const at = to + r * layer.in + c;
      *at = call_.first_tile == 0 ? s[m][j][i] : *at + s[m][j][i];
    }
  }

  const MlpCall& call_;
  Element* shared_;
};

// kSide: the largest tile of all layers.
template <Precision P, int kSide>
__global__ void __launch_bounds__(kThreads, kSide == 128 ? 2 : 4)
    weigh_kernel(const __grid_constant__ MlpCall call, int rows) {
  GPU_SHARED(uint4, shared, (Weighing<P, kSide>::kShared));
  const WeightPart part = weight_part(call, static_cast<int>(blockIdx.x));
  if constexpr (kSide == 128 && mixes_weight_tiles(P))
    if (call.layers[part.layer].weight_tile == 64) return Weighing<P, 64>(call, shared).run(part, rows);
  Weighing<P, kSide>(call, shared).run(part, rows);
}

}  // namespace veldt::cuda
