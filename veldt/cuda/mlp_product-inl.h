// Products of a warp in one precision: what their numbers are in memory, how a fragment is fetched, and how
// two are multiplied. g = lane / 4 and t = lane % 4, as in mma.h.
// Tests: tests/cuda/mlp_test.cpp
#pragma once

#include <bit>

#include "veldt/core/mlp.h"
#include "veldt/cuda/mma.h"

namespace veldt::cuda {

using Sum = float[4];  // of a tile of 16 x 8, as mma.h says

__device__ inline unsigned bits_of(float x) { return std::bit_cast<unsigned>(x); }
__device__ inline float float_of(unsigned bits) { return std::bit_cast<float>(bits); }
__device__ inline int lane_group() { return static_cast<int>(threadIdx.x) % 32 / 4; }
__device__ inline int lane_in_group() { return static_cast<int>(threadIdx.x) % 4; }

template <Precision P> struct Products;

// Numbers of 16 bits in pairs.
template <> struct Products<Precision::bf16> {
  using Element = unsigned short;
  static constexpr int kDepth = 16;  // columns of the left side that one instruction takes
  struct Left {
    unsigned v[4];
  };
  struct Right {
    unsigned v[2];
  };
  static __device__ __forceinline__ void store(Element* to, float x, float y) {
    *reinterpret_cast<unsigned*>(to) = gpu::to_bf16_pair(x, y);
  }
  // Neighbours that a register of the right side holds, from row k on; its second is 8 rows further.
  static __device__ __forceinline__ int depth_of(int i) { return 2 * lane_in_group() + 8 * i; }
  template <class At> static __device__ __forceinline__ unsigned pack(int k, const At& at) {
    return gpu::to_bf16_pair(at(k), at(k + 1));
  }
  static __device__ __forceinline__ Right right(unsigned low, unsigned high) { return {{low, high}}; }
  // 16 rows and kDepth columns from `at` on, in rows of `pitch`.
  static __device__ __forceinline__ Left left(const Element* at, int pitch) {
    const Element* const p = at + lane_group() * pitch + 2 * lane_in_group();
    const auto pair = [](const Element* from) { return *reinterpret_cast<const unsigned*>(from); };
    return {{pair(p), pair(p + 8 * pitch), pair(p + 8), pair(p + 8 * pitch + 8)}};
  }
  // The transpose of kDepth rows and 16 columns.
  static __device__ __forceinline__ Left left_of_rows(const Element* at, int pitch) {
    const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
    Left a;
    gpu::load_transposed(a.v, at + (matrix / 2 * 8 + lane % 8) * pitch + matrix % 2 * 8);
    return a;
  }
  // kDepth rows and 16 columns, as the right sides of two products.
  static __device__ __forceinline__ void rights_of_rows(const Element* at, int pitch, Right (&b)[2]) {
    const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
    unsigned v[4];
    gpu::load_transposed(v, at + (matrix % 2 * 8 + lane % 8) * pitch + matrix / 2 * 8);
    b[0] = {{v[0], v[1]}};
    b[1] = {{v[2], v[3]}};
  }
  static __device__ __forceinline__ void add(Sum& sum, const Left& a, const Right& b) {
    gpu::mma_bf16(sum, a.v, b.v);
  }
  static __device__ __forceinline__ float value(Element x) {
    return float_of(static_cast<unsigned>(x) << 16);
  }
};

// Where floats of a fragment lie, for tf32 and f32.
struct FloatFragments {
  using Element = float;
  static constexpr int kDepth = 8;
  static __device__ __forceinline__ int depth_of(int i) { return lane_in_group() + 4 * i; }
  static __device__ __forceinline__ float value(Element x) { return x; }
  // at[row * across + column * along] of 16 x 8.
  static __device__ __forceinline__ void fetch_left(const float* at, int across, int along, float (&v)[4]) {
    const float* const p = at + lane_group() * across + lane_in_group() * along;
    v[0] = p[0], v[1] = p[8 * across], v[2] = p[4 * along], v[3] = p[8 * across + 4 * along];
  }
  static __device__ __forceinline__ void fetch_right(const float* at, int pitch, float (&v)[2]) {
    const float* const p = at + lane_in_group() * pitch + lane_group();
    v[0] = p[0], v[1] = p[4 * pitch];
  }
};

// Floats that were rounded when they were stored.
template <> struct Products<Precision::tf32> : FloatFragments {
  struct Left {
    unsigned v[4];
  };
  struct Right {
    unsigned v[2];
  };
  static __device__ __forceinline__ void store(Element* to, float x, float y) {
    *reinterpret_cast<float2*>(to) = {float_of(gpu::to_tf32(x)), float_of(gpu::to_tf32(y))};
  }
  template <class At> static __device__ __forceinline__ unsigned pack(int k, const At& at) {
    return gpu::to_tf32(at(k));
  }
  static __device__ __forceinline__ Right right(unsigned low, unsigned high) { return {{low, high}}; }
  static __device__ __forceinline__ Left left_from(const float* at, int across, int along) {
    float v[4];
    fetch_left(at, across, along, v);
    return {{bits_of(v[0]), bits_of(v[1]), bits_of(v[2]), bits_of(v[3])}};
  }
  static __device__ __forceinline__ Left left(const Element* at, int pitch) {
    return left_from(at, pitch, 1);
  }
  static __device__ __forceinline__ Left left_of_rows(const Element* at, int pitch) {
    return left_from(at, 1, pitch);
  }
  static __device__ __forceinline__ void rights_of_rows(const Element* at, int pitch, Right (&b)[2]) {
    GPU_UNROLLED
    for (int i = 0; i < 2; ++i) {
      float v[2];
      fetch_right(at + 8 * i, pitch, v);
      b[i] = right(bits_of(v[0]), bits_of(v[1]));
    }
  }
  static __device__ __forceinline__ void add(Sum& sum, const Left& a, const Right& b) {
    gpu::mma_tf32(sum, a.v, b.v);
  }
};

// Floats as the sums of two tf32 numbers each, of whose four products the smallest is left out (Markidis et
// al. 2018, arXiv:1803.04014). A product of 8 terms starts from 0 and is added here: tensor cores cut their
// sums off, which would go in one direction over hundreds of terms (Ootomo & Yokota 2022, arXiv:2203.03341).
template <> struct Products<Precision::f32> : FloatFragments {
  struct Left {
    unsigned high[4], low[4];
  };
  struct Right {
    unsigned high[2], low[2];
  };
  static __device__ __forceinline__ void store(Element* to, float x, float y) {
    *reinterpret_cast<float2*>(to) = {x, y};
  }
  template <class At> static __device__ __forceinline__ unsigned pack(int k, const At& at) {
    return bits_of(at(k));
  }
  static __device__ __forceinline__ void split(float x, unsigned& high, unsigned& low) {
    high = gpu::to_tf32(x);
    low = gpu::to_tf32(x - float_of(high));
  }
  static __device__ __forceinline__ Right right(unsigned low, unsigned high) {
    Right b;
    split(float_of(low), b.high[0], b.low[0]);
    split(float_of(high), b.high[1], b.low[1]);
    return b;
  }
  static __device__ __forceinline__ Left left_from(const float* at, int across, int along) {
    float v[4];
    fetch_left(at, across, along, v);
    Left a;
    GPU_UNROLLED
    for (int i = 0; i < 4; ++i) split(v[i], a.high[i], a.low[i]);
    return a;
  }
  static __device__ __forceinline__ Left left(const Element* at, int pitch) {
    return left_from(at, pitch, 1);
  }
  static __device__ __forceinline__ Left left_of_rows(const Element* at, int pitch) {
    return left_from(at, 1, pitch);
  }
  static __device__ __forceinline__ void rights_of_rows(const Element* at, int pitch, Right (&b)[2]) {
    GPU_UNROLLED
    for (int i = 0; i < 2; ++i) {
      float v[2];
      fetch_right(at + 8 * i, pitch, v);
      b[i] = right(bits_of(v[0]), bits_of(v[1]));
    }
  }
  static __device__ __forceinline__ void add(Sum& sum, const Left& a, const Right& b) {
    Sum part = {0, 0, 0, 0};
    gpu::mma_tf32(part, a.low, b.high);
    gpu::mma_tf32(part, a.high, b.low);
    gpu::mma_tf32(part, a.high, b.high);
    GPU_UNROLLED
    for (int i = 0; i < 4; ++i) sum[i] += part[i];
  }
};

}  // namespace veldt::cuda
