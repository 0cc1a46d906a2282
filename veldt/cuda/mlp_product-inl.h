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

// The registers of a left side, 16 rows of 32 bytes from `at` on, in rows of `pitch` numbers.
template <class T> __device__ __forceinline__ void load_left(const T* at, int pitch, unsigned (&v)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  gpu::load_rows(v, at + lane % 16 * pitch + lane / 16 * (16 / static_cast<int>(sizeof(T))));
}

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
    Left a;
    load_left(at, pitch, a.v);
    return a;
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
  // sum[j] += a b[j]
  template <int kCount> static __device__ __forceinline__ void add(Sum* sum, const Left& a, const Right* b) {
    GPU_UNROLLED
    for (int j = 0; j < kCount; ++j) gpu::mma_bf16(sum[j], a.v, b[j].v);
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
  // The transpose of 8 rows and 16 columns.
  static __device__ __forceinline__ void fetch_left_of_rows(const float* at, int pitch, unsigned (&v)[4]) {
    const float* const p = at + lane_group() + lane_in_group() * pitch;
    v[0] = bits_of(p[0]), v[1] = bits_of(p[8]);
    v[2] = bits_of(p[4 * pitch]), v[3] = bits_of(p[4 * pitch + 8]);
  }
  // Both registers of a right side from 8 rows.
  static __device__ __forceinline__ unsigned right_of_rows(const float* at, int pitch, int i) {
    return bits_of(at[(lane_in_group() + 4 * i) * pitch + lane_group()]);
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
  static __device__ __forceinline__ Left left(const Element* at, int pitch) {
    Left a;
    load_left(at, pitch, a.v);
    return a;
  }
  static __device__ __forceinline__ Left left_of_rows(const Element* at, int pitch) {
    Left a;
    fetch_left_of_rows(at, pitch, a.v);
    return a;
  }
  static __device__ __forceinline__ void rights_of_rows(const Element* at, int pitch, Right (&b)[2]) {
    GPU_UNROLLED
    for (int i = 0; i < 2; ++i)
      b[i] = right(right_of_rows(at + 8 * i, pitch, 0), right_of_rows(at + 8 * i, pitch, 1));
  }
  template <int kCount> static __device__ __forceinline__ void add(Sum* sum, const Left& a, const Right* b) {
    GPU_UNROLLED
    for (int j = 0; j < kCount; ++j) gpu::mma_tf32(sum[j], a.v, b[j].v);
  }
};

// Floats as the sums of two tf32 numbers each, of whose four products the smallest is left out (Markidis et
// al. 2018, arXiv:1803.04014). The higher part is cut off, not rounded, because tensor cores do that to a
// float anyway; the lower part is what is left of it, rounded by adding half of a tf32's last digit. So a
// number is meant to 2^-22. A product of 8 terms starts from 0 and is added here: tensor cores cut their sums
// off, which would go in one direction over hundreds of terms (Ootomo & Yokota 2022, arXiv:2203.03341).
// An infinity, or what is not a number, is all in the higher part: the lower one becomes -0.
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
  static __device__ __forceinline__ unsigned rest_of(unsigned x) {
    return bits_of(gpu::difference(float_of(x), float_of(x & 0xFFFFE000u))) + 0x1000u;
  }
  static __device__ __forceinline__ Right right(unsigned low, unsigned high) {
    return {{low, high}, {rest_of(low), rest_of(high)}};
  }
  static __device__ __forceinline__ Left left(const Element* at, int pitch) {
    Left a;
    load_left(at, pitch, a.high);
    find_rests(a);
    return a;
  }
  static __device__ __forceinline__ Left left_of_rows(const Element* at, int pitch) {
    Left a;
    fetch_left_of_rows(at, pitch, a.high);
    find_rests(a);
    return a;
  }
  static __device__ __forceinline__ void rights_of_rows(const Element* at, int pitch, Right (&b)[2]) {
    GPU_UNROLLED
    for (int i = 0; i < 2; ++i)
      b[i] = right(right_of_rows(at + 8 * i, pitch, 0), right_of_rows(at + 8 * i, pitch, 1));
  }
  // Each of the three products for all sums in turn, so that none waits for the one before it.
  template <int kCount> static __device__ __forceinline__ void add(Sum* sum, const Left& a, const Right* b) {
    Sum part[kCount] = {};
    GPU_UNROLLED
    for (int j = 0; j < kCount; ++j) gpu::mma_tf32(part[j], a.low, b[j].high);
    GPU_UNROLLED
    for (int j = 0; j < kCount; ++j) gpu::mma_tf32(part[j], a.high, b[j].low);
    GPU_UNROLLED
    for (int j = 0; j < kCount; ++j) gpu::mma_tf32(part[j], a.high, b[j].high);
    GPU_UNROLLED
    for (int j = 0; j < kCount; ++j) GPU_UNROLLED
    for (int i = 0; i < 4; ++i) sum[j][i] += part[j][i];
  }

 private:
  static __device__ __forceinline__ void find_rests(Left& a) {
    GPU_UNROLLED
    for (int i = 0; i < 4; ++i) a.low[i] = rest_of(a.high[i]);
  }
};

// Steps that weights are fetched before they are needed: what lies in the second-level cache comes later than
// the products of a step take. For f32 there are no registers left.
template <Precision P> constexpr int kAhead = P == Precision::f32 ? 1 : 2;

// s += `tiles` times 16 rows of a tile in shared memory times weights in the order of fragments: of each step
// `pairs` times two tiles of 8 columns, of which this warp has the first and those that follow at `apart`,
// kCount of them. kWhole: all tiles of s have rows; without conditions, loads and products of different ones
// overlap.
template <Precision P, int kCount, bool kWhole, int kTiles, int kColumns>
__device__ __forceinline__ void add_steps(Sum (&s)[kTiles][kColumns], int steps,
                                          const typename Products<P>::Element* rows, int pitch, int tiles,
                                          const uint4* from, int pairs, int apart) {
  using Numbers = Products<P>;
  uint4 next[kAhead<P>][kCount];
  const auto fetch = [&](int i) __attribute__((always_inline)) {
    GPU_UNROLLED
    for (int p = 0; p < kCount; ++p) next[i][p] = from[p * apart * 32];
  };
  GPU_UNROLLED
  for (int i = 0; i < kAhead<P>; ++i) {
    fetch(i);
    if (i + 1 < steps) from += pairs * 32;
  }
  GPU_UNROLLED_BY(kWhole ? kAhead<P> : 1)
  for (int k = 0; k < steps; ++k) {
    typename Numbers::Right b[2 * kCount];
    GPU_UNROLLED
    for (int p = 0; p < kCount; ++p) {
      b[2 * p] = Numbers::right(next[0][p].x, next[0][p].y);
      b[2 * p + 1] = Numbers::right(next[0][p].z, next[0][p].w);
    }
    GPU_UNROLLED
    for (int i = 0; i + 1 < kAhead<P>; ++i) GPU_UNROLLED
    for (int p = 0; p < kCount; ++p) next[i][p] = next[i + 1][p];
    fetch(kAhead<P> - 1);
    if (k + kAhead<P> + 1 < steps) from += pairs * 32;  // else the last one again, which nobody needs
    GPU_UNROLLED
    for (int m = 0; m < kTiles; ++m) {
      if (!kWhole && m >= tiles) continue;
      const auto a = Numbers::left(rows + m * 16 * pitch, pitch);
      Numbers::template add<2 * kCount>(s[m], a, b);
    }
    rows += Numbers::kDepth;
  }
}

}  // namespace veldt::cuda
