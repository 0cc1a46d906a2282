// The walk of a block: a tile of rows through all layers, its loss, and back. Two tiles of activations lie in
// shared memory, of which a layer reads one and writes the other; what a thread needs again on the way back
// it writes to the workspace for itself. Weights come from there in the order of fragments, 16 bytes a lane.
//
// A panel is as many columns of a layer as the block computes at a time: every warp 64 rows (or 32) and two
// times 16 columns of it, in registers.
// Tests: tests/cuda/mlp_test.cpp
#pragma once

#include "veldt/cuda/mlp_activation-inl.h"
#include "veldt/cuda/mlp_kernels.h"
#include "veldt/cuda/mlp_product-inl.h"
#include "veldt/cuda/runtime.h"
#include "veldt/kernels/mlp_loss-inl.h"

namespace veldt::cuda {

template <Precision P, int kRows> class Walk {
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
  __device__ Walk(const MlpCall& call, unsigned char* shared)
      : call_(call),
        read_(reinterpret_cast<Element*>(shared)),
        write_(read_ + kRows * call.pitch),
        row_sums_(reinterpret_cast<float*>(read_ + 2 * kRows * call.pitch)) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    row_warp_ = warp / kColumnWarps, column_warp_ = warp % kColumnWarps;
  }

  __device__ void run() {
    const bool gradients = call_.pass != MlpPass::forward;
    double loss = 0;
    for (std::int64_t i = blockIdx.x; i < call_.chunk_tiles; i += gridDim.x) {
      tile_ = call_.tiles(kRows)[call_.first_tile + i];
      slot_ = i * kRows;
      first_ = call_.first_tile == 0 && i == static_cast<std::int64_t>(blockIdx.x);
      __syncthreads();  // the tile before is done with shared memory
      forward();
      if (gradients) {
        const int out = call_.layers[call_.depth - 1].out;
        if (call_.pass == MlpPass::loss) {
          float* const dy = call_.template at<float>(call_.dy) + std::int64_t{blockIdx.x} * kRows * out;
          __syncthreads();  // the outputs are written
          loss += compare(dy);
          dy_ = dy;
        } else {
          dy_ = call_.given + tile_.row * out;
        }
        __syncthreads();
        backward();
      }
    }
    if (call_.pass == MlpPass::loss) write_loss(loss);
  }

 private:
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

  // --- forward

  __device__ float input(int i, int r) const {
    const int in = call_.layers[0].in;
    return has_row(r) ? call_.x[(tile_.row + r) * in + i] : 0.0f;
  }

  __device__ void forward() {
    const bool gradients = call_.pass != MlpPass::forward;
    for (int l = 0; l < call_.depth; ++l) {
      if (call_.is_thin_output(l)) return thin_output(l);
      const MlpCallLayer& layer = call_.layers[l];
      const bool keeps = gradients && layer.is_product;
      if (l == 0 && layer.is_product) {
        load_input(0, part_of(layer, 0));
        __syncthreads();
      }
      if (keeps) copy_tile(layer.kept, 0, part_of(layer, 0), layer.in);
      GPU_ROLLED
      for (int panel = 0; panel < panels(layer.out); ++panel) {
        Sums s;
        clear(s);
        if (!layer.is_product)
          multiply_thin(
              s, panel, layer.in, [&](int i, int r) { return input(i, r); },
              [&](int i, int c) { return c < layer.out ? layer.w[c * layer.in + i] : 0.0f; });
        else
          multiply_in_parts(s, layer, panel, keeps);
        finish_forward(l, panel, s);
      }
      swap_tiles();
    }
  }

  // Columns from `first` on that a tile in shared memory holds.
  __device__ int part_of(const MlpCallLayer& layer, int first) const {
    return layer.in - first < call_.columns ? layer.in - first : call_.columns;
  }
  // An input that shared memory does not hold, which only the first layer has, comes part by part.
  __device__ __forceinline__ void multiply_in_parts(Sums& s, const MlpCallLayer& layer, int panel,
                                                    bool keeps) const {
    GPU_ROLLED
    for (int first = 0; first < layer.in; first += call_.columns) {
      const int width = part_of(layer, first);
      if (layer.in > call_.columns && (panel > 0 || first > 0)) {
        __syncthreads();
        load_input(first, width);
        __syncthreads();
        if (keeps && panel == 0) copy_tile(layer.kept, first, width, layer.in);
      }
      multiply(s, steps(width),
               call_.template at<uint4>(layer.forth) + first / Numbers::kDepth * pairs(layer.out) * 32,
               layer.out, panel);
    }
  }

  // z without its bias becomes f(z) in the place where it is needed.
  __device__ __forceinline__ void finish_forward(int l, int panel, Sums& s) {
    const MlpCallLayer& layer = call_.layers[l];
    const bool slopes = call_.pass != MlpPass::forward && layer.activation != MlpActivation::identity;
    float bias[2 * kPairs][2];
    GPU_UNROLLED
    for (int j = 0; j < 2 * kPairs; ++j) GPU_UNROLLED
    for (int e = 0; e < 2; ++e) {
      const int c = column(panel, j) + e;
      bias[j][e] = layer.b != nullptr && c < layer.out ? layer.b[c] : 0.0f;
    }
    scalar::with_mlp_activation<MlpFloats<P != Precision::f32>>(
        layer.activation, layer.omega,
        layer.scale, [&](const auto& activation) __attribute__((always_inline)) {
          GPU_UNROLLED
          for (int j = 0; j < 2 * kPairs; ++j) {
            if (pair(panel, j / 2) >= pairs(layer.out)) continue;
            GPU_UNROLLED
            for (int m = 0; m < kTiles; ++m) {
              Sum slope;
              GPU_UNROLLED
              for (int i = 0; i < 4; ++i) s[m][j][i] = activation(s[m][j][i] + bias[j][i % 2], slope[i]);
              if (slopes) keep_slopes(layer, panel, m, j, slope);
            }
          }
        });
    if (l + 1 == call_.depth) {
      if (call_.out == nullptr) return;
      each(s, panel, [&](float y, int r, int c) {
        if (has_row(r) && c < layer.out) call_.out[(tile_.row + r) * layer.out + c] = y;
      });
    } else if (call_.is_thin_output(l + 1)) {
      give_to_thin_output(l + 1, panel, s);
    } else {
      store_tile(s, panel, layer.out);
    }
  }

  __device__ __forceinline__ void give_to_thin_output(int l, int panel, Sums& h) {
    const MlpCallLayer& layer = call_.layers[l];
    if (call_.out != nullptr)
      add_to_rows(h, panel, layer.out,
                  [&](int i, int c) { return c < layer.in ? layer.w[i * layer.in + c] : 0.0f; });
    if (call_.pass == MlpPass::forward) return;
    GPU_UNROLLED
    for (int j = 0; j < 2 * kPairs; ++j) {
      if (pair(panel, j / 2) >= pairs(layer.in)) continue;
      GPU_UNROLLED
      for (int m = 0; m < kTiles; ++m)
        *own<float4>(call_.last, layer.in, panel, m, j) = {h[m][j][0], h[m][j][1], h[m][j][2], h[m][j][3]};
    }
  }

  __device__ void thin_output(int l) const {
    const MlpCallLayer& layer = call_.layers[l];
    if (call_.out == nullptr) return;
    each_row_sum(layer.out, [&](int r, int i, float sum) {
      call_.out[(tile_.row + r) * layer.out + i] = sum + (layer.b != nullptr ? layer.b[i] : 0.0f);
    });
  }

  // --- the loss

  // This thread's share of the sum of the loss; d loss / d output to dy.
  __device__ double compare(float* dy) const {
    const int columns = call_.layers[call_.depth - 1].out, group = tile_.group;
    const float* const out = call_.out + tile_.row * columns;
    double sum = 0;
    const int count = tile_.rows / group * columns;
    for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(kThreads)) {
      const int m = k / columns, c = k % columns;
      const float w = call_.weight != nullptr ? call_.weight[tile_.target + m] : 1.0f;
      float p = 0, slope = 0;
      for (int i = 0; i < group; ++i)
        p += scalar::squashed(call_.loss.squash, out[(m * group + i) * columns + c]);
      const float target = call_.given[(tile_.target + m) * columns + c];
      sum += static_cast<double>(w) *
             scalar::error_of(call_.loss.error, p / static_cast<float>(group), target, slope);
      const float g = slope * w * call_.loss_scale / static_cast<float>(group);
      for (int i = 0; i < group; ++i) {
        const int at = (m * group + i) * columns + c;
        dy[at] = scalar::through_squash(call_.loss.squash, out[at], g);
      }
    }
    return sum;
  }

  __device__ void write_loss(double sum) {
    GPU_UNROLLED
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(gpu::kWholeWarp, sum, d);
    __syncthreads();  // nobody reads shared memory any more
    double* const warps = reinterpret_cast<double*>(row_sums_);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    double* const to = call_.template at<double>(call_.loss_sums) + blockIdx.x;
    double all = call_.first_tile == 0 ? 0 : *to;
    for (unsigned i = 0; i < kThreads / 32; ++i) all += warps[i];
    *to = all;
  }

  // --- backward

  __device__ float output_gradient(int i, int r) const {
    return has_row(r) ? dy_[std::int64_t{r} * call_.layers[call_.depth - 1].out + i] : 0.0f;
  }

  __device__ void backward() {
    const int last = call_.depth - 1;
    const bool thin = call_.is_thin_output(last);
    if (thin && call_.layers[last].wants_db) thin_bias_gradient(call_.layers[last]);
    // From layer to layer; -1 is the input.
    int l = thin ? last - 1 : last;
    for (bool begins = true;; begins = false) {
      const int width = l < 0 ? call_.layers[0].in : call_.layers[l].out;
      GPU_ROLLED
      for (int panel = 0; panel < panels(width); ++panel) {
        Sums s;
        if (!begins) {
          const MlpCallLayer& above = call_.layers[l + 1];
          clear(s);
          multiply(s, steps(above.out), call_.template at<uint4>(above.back), width, panel);
        } else if (thin) {
          thin_backward(call_.layers[last], panel, s);
        } else {
          each(s, panel, [&](float& g, int r, int c) { g = c < width ? output_gradient(c, r) : 0.0f; });
        }
        if (l >= 0)
          finish_delta(call_.layers[l], panel, s);
        else
          each(s, panel, [&](float g, int r, int c) {
            if (has_row(r) && c < width) call_.dx[(tile_.row + r) * width + c] = g;
          });
      }
      if (l < 0) return;
      swap_tiles();
      const MlpCallLayer& layer = call_.layers[l];
      if (!layer.is_product) break;
      if (layer.wants_dw) copy_tile(layer.delta, 0, layer.out, layer.out);
      if (l == 0 && !call_.wants_dx) return;
      --l;
    }
    if (call_.wants_dx)  // of a thin first layer
      each_row_sum(call_.layers[0].in,
                   [&](int r, int i, float g) { call_.dx[(tile_.row + r) * call_.layers[0].in + i] = g; });
  }

  // d loss / d f(z) of a layer becomes its d loss / d z, for the layer's gradients and the next product.
  __device__ __forceinline__ void finish_delta(const MlpCallLayer& layer, int panel, Sums& s) {
    if (layer.activation != MlpActivation::identity) scale_by_slopes(layer, panel, s);
    // The bias counts as the weight of an input before the first, which is 1.
    const int begin = layer.wants_db ? -1 : 0, end = layer.wants_dw && !layer.is_product ? layer.in : 0;
    GPU_ROLLED
    for (int i = begin; i < end; ++i)
      add_to_columns(s, panel, layer.out, part_sums() + (i < 0 ? layer.db : layer.dw + i),
                     i < 0 ? 1 : layer.in, [&](int r) { return i < 0 ? 1.0f : input(i, r); });
    if (layer.is_product) return store_tile(s, panel, layer.out);
    if (call_.wants_dx)
      add_to_rows(s, panel, layer.in,
                  [&](int i, int c) { return c < layer.out ? layer.w[c * layer.in + i] : 0.0f; });
  }

  // d loss / d input of a thin last layer, and its weight's gradient.
  __device__ __forceinline__ void thin_backward(const MlpCallLayer& layer, int panel, Sums& s) const {
    if (layer.wants_dw) {
      GPU_UNROLLED
      for (int j = 0; j < 2 * kPairs; ++j) GPU_UNROLLED
      for (int m = 0; m < kTiles; ++m) {
        const bool there = pair(panel, j / 2) < pairs(layer.in);
        const float4 h = there ? *own<float4>(call_.last, layer.in, panel, m, j) : float4{0, 0, 0, 0};
        s[m][j][0] = h.x, s[m][j][1] = h.y, s[m][j][2] = h.z, s[m][j][3] = h.w;
      }
      GPU_ROLLED
      for (int i = 0; i < layer.out; ++i)
        add_to_columns(s, panel, layer.in, part_sums() + layer.dw + i * layer.in, 1,
                       [&](int r) { return output_gradient(i, r); });
    }
    clear(s);
    multiply_thin(
        s, panel, layer.out, [&](int i, int r) { return output_gradient(i, r); },
        [&](int i, int c) { return c < layer.in ? layer.w[i * layer.in + c] : 0.0f; });
  }

  __device__ void thin_bias_gradient(const MlpCallLayer& layer) const {
    if (column_warp_ != 0) return;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    GPU_ROLLED
    for (int i = 0; i < layer.out; ++i) {
      float sum = 0;
      for (int r = lane; r < 16 * kTiles; r += 32) sum += output_gradient(i, row_warp_ * kTiles * 16 + r);
      for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(gpu::kWholeWarp, sum, d);
      float* const to = part_sums() + layer.db + i;
      if (lane == 0) *to = first_ ? sum : *to + sum;
    }
  }

  const MlpCall& call_;
  Element *read_, *write_;
  float* row_sums_;  // [column warps][rows][kRowSums]
  int row_warp_, column_warp_;
  MlpTiles::Tile tile_ = {};
  std::int64_t slot_ = 0;  // the tile's first row among those of the chunk
  bool first_ = false;     // of the block, whose sums begin
  const float* dy_ = nullptr;
};

template <Precision P, int kRows>
__global__ void __launch_bounds__(kThreads, 1) walk_kernel(const __grid_constant__ MlpCall call) {
  GPU_DYNAMIC_SHARED(unsigned char, shared);
  Walk<P, kRows>(call, shared).run();
}

}  // namespace veldt::cuda
