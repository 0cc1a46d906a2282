// A fused stack of layers on the device: how the work is cut, and where everything lies in the workspace.
//
// A block takes a tile of rows through all layers and back, and goes on to the next tile; what it needs again
// on the way back is its own. Gradients of weights are sums over all rows, which other blocks compute after
// it from activations and deltas of a chunk of tiles; so a chunk's are kept, and no more.
// Tests: tests/cuda/mlp_test.cpp
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
  MlpActivation activation;
  bool is_product;  // or f32 numbers one by one: a thin first or last layer
  bool wants_dw, wants_db;
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

  int pitch;        // of a tile in shared memory, in elements
  int columns;      // of it that are used
  int blocks;       // that walk
  int weight_tile;  // rows and columns of a weight's gradient that a block computes: 64 or 128
  int splits;       // into which the rows of a chunk are cut for them
  int split_rows;
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
    const int down = (layer.out + weight_tile - 1) / weight_tile;
    return layer.is_product ? down * ((layer.in + weight_tile - 1) / weight_tile) : 0;
  }
  __host__ __device__ int wanted_weight_tiles(int l) const {
    return layers[l].wants_dw ? weight_tiles(layers[l]) : 0;
  }
  template <class T> __host__ __device__ T* at(MlpPlace place) const {
    return reinterpret_cast<T*>(workspace + std::size_t{place} * 16);
  }

  constexpr MlpTiles tiles(int tile_rows) const { return {n, tile_rows, loss}; }
};
static_assert(sizeof(MlpCall) <= 4000);

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

// Fills in all but the pointers, which are those of `arrays`; without them (null) it counts the bytes: 0
// where a block's shared memory holds no tile. weigh_places: as of MlpKernels.
MlpCut lay_out(const MlpStep& step, std::int64_t n, bool wants_dx, const View* arrays,
               int (*weigh_places)(int weight_tile), MlpCall& call);

}  // namespace veldt::cuda
