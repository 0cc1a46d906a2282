// The walk of a block: tiles of rows through all layers, their loss, and back. Two tiles of activations lie
// in shared memory, of which a layer reads one and writes the other; what a thread needs again on the way
// back it writes to the workspace for itself. Weights come from there in the order of fragments, 16 bytes
// a lane.
// Tests: tests/cuda/mlp_test.cpp
#pragma once

#include "veldt/cuda/mlp_activation-inl.h"
#include "veldt/cuda/mlp_panel-inl.h"
#include "veldt/kernels/mlp_loss-inl.h"

namespace veldt::cuda {

template <Precision P, int kRows> class MlpWalk : protected PanelSums<P, kRows> {
  using Panel = PanelSums<P, kRows>;
  using Panel::add_to_columns, Panel::add_to_rows, Panel::each_row_sum, Panel::multiply, Panel::multiply_thin;
  using Panel::call_, Panel::column_warp_, Panel::first_, Panel::row_sums_, Panel::row_warp_, Panel::slot_;
  using Panel::clear, Panel::column, Panel::each, Panel::has_row, Panel::pair, Panel::pairs, Panel::panels;
  using Panel::copy_tile, Panel::load_input, Panel::store_tile, Panel::swap_tiles;
  using Panel::keep_slopes, Panel::scale_by_slopes;
  using Panel::kPairs, Panel::kTiles, Panel::part_sums, Panel::steps, Panel::tile_;
  using typename Panel::Numbers, typename Panel::Sums;

 public:
  using Panel::Panel;

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
        *this->template own<float4>(call_.last, layer.in, panel, m, j) = {h[m][j][0], h[m][j][1], h[m][j][2],
                                                                          h[m][j][3]};
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
        const float4 h =
            there ? *this->template own<float4>(call_.last, layer.in, panel, m, j) : float4{0, 0, 0, 0};
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

  const float* dy_ = nullptr;
};

template <Precision P, int kRows>
__global__ void __launch_bounds__(kThreads, 1) walk_kernel(const __grid_constant__ MlpCall call) {
  GPU_DYNAMIC_SHARED(unsigned char, shared);
  MlpWalk<P, kRows>(call, shared).run();
}

}  // namespace veldt::cuda
