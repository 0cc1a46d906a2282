// A fused stack of layers on the device: how the work is cut, and where everything lies in the workspace.
//
// A block takes a tile of rows through all layers and back, and goes on to the next tile; what it needs again
// on the way back is its own. Gradients of weights are sums over all rows, which other blocks compute after
// it from activations and deltas of a chunk of tiles; so a chunk's are kept, and no more.
// Tests: tests/cuda/mlp_layout_test.cpp, tests/cuda/mlp_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "veldt/core/mlp.h"
#include "veldt/core/view.h"
#include "veldt/cuda/gpu.h"

namespace veldt::cuda {

// In the workspace, in units of 16 bytes.
using MlpPlace = std::uint32_t;

struct MlpCallLayer {
  const float *w, *b;  // b null without one
  float omega, scale;
  MlpPlace forth, back;  // weights in the order of fragments, for the product with the input and the gradient
  MlpPlace slope;        // of a block's tile, each thread's numbers together
  MlpPlace kept, delta;  // of a chunk's rows: the input, d loss / d z
  // Among the sums of a part, as floats. dw: in those of the blocks that walk, or, of a product's layer, in
  // those of the blocks that multiply.
  std::uint32_t db, dw;
  std::uint16_t in, out;
  std::uint8_t weight_tile;  // rows and columns of its weight's gradient that a block computes: 64 or 128
  MlpActivation activation;
  bool is_product;  // or f32 numbers one by one: a thin first or last layer
  bool wants_dw, wants_db;
};

// Into how many parts of so many rows a chunk is cut for the gradients of weights.
struct MlpSplits {
  int count, rows;
};

// What kernels are given. At most 4 KB.
struct MlpCall {
  static constexpr int kColumns = 16;  // widths are rounded up to it

  MlpCallLayer layers[MlpStep::kMaxLayers];
  int depth;
  MlpPass pass;
  bool wants_dx;
  MlpLoss loss;
  float loss_scale;  // 1 / the numbers of the mean
  std::int64_t n;
  unsigned char* workspace;
  const float *x, *given, *weight;
  float *out, *dx;

  int pitch;                             // of a tile in shared memory, in elements
  int columns;                           // of it that are used
  int blocks;                            // that walk
  int weight_tile;                       // the largest of all layers
  MlpSplits splits[2];                   // of layers whose weight_tile is 64, and of those whose is 128
  std::int64_t first_tile, chunk_tiles;  // of this launch
  MlpPlace last;                         // the last hidden layer's activations of a block's tile, in f32
  MlpPlace dy;                           // of a block's tile [rows, out], in f32
  MlpPlace walk_sums, weight_sums;       // [parts][..], [splits][..] f32
  std::uint32_t walk_size, weight_size;  // floats of one
  MlpPlace loss_sums;                    // of blocks, f64

  __host__ __device__ bool is_thin_input(int l) const { return l == 0 && !layers[0].is_product; }
  __host__ __device__ bool is_thin_output(int l) const {
    return l > 0 && l == depth - 1 && !layers[l].is_product;
  }
  __host__ __device__ int weight_tiles(const MlpCallLayer& layer) const {
    const int side = layer.weight_tile;
    return layer.is_product ? (layer.out + side - 1) / side * ((layer.in + side - 1) / side) : 0;
  }
  __host__ __device__ const MlpSplits& splits_of(const MlpCallLayer& layer) const {
    return splits[layer.weight_tile / 128];
  }
  // That compute the gradient of layer l's weight.
  __host__ __device__ int weight_blocks(int l) const {
    return layers[l].wants_dw ? weight_tiles(layers[l]) * splits_of(layers[l]).count : 0;
  }
  template <class T> __host__ __device__ T* at(MlpPlace place) const {
    return reinterpret_cast<T*>(workspace + std::size_t{place} * 16);
  }

  constexpr MlpTiles tiles(int tile_rows) const { return {n, tile_rows, loss}; }
};
static_assert(sizeof(MlpCall) <= 4000);

// Whether layers of both tiles are served by one kernel; that of f32 has no registers left for it, and takes
// the larger tile for all layers.
constexpr bool mixes_weight_tiles(Precision precision) { return precision != Precision::f32; }

constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }

// How a call of a precision is cut: how many rows a block takes, of how many parts the sums consist.
struct MlpCut {
  int tile_rows;  // 32, 64 or 128
  std::int64_t tiles;
  std::size_t shared;  // bytes of a block
  std::size_t bytes;   // of the workspace
  // Blocks that add up their rows' gradients in two halves have two parts.
  int parts() const { return tile_rows == 128 ? 2 : 1; }
};

// What of a device decides how the work is cut.
struct MlpDevice {
  int multiprocessors;
  std::size_t shared_bytes, cache_bytes;  // a block's at most; of the second-level cache
  int (*weigh_places)(int weight_tile);   // as of MlpKernels
};

// Fills in all but the pointers, which are those of `arrays`; without them (null) it counts the bytes: 0
// where a block's shared memory holds no tile.
MlpCut lay_out(const MlpStep& step, std::int64_t n, bool wants_dx, const View* arrays,
               const MlpDevice& device, MlpCall& call);

// Shares the rows of a chunk out among the parts.
void share_rows(MlpCall& call, std::int64_t chunk_rows);

}  // namespace veldt::cuda
