// How an elementwise kernel walks views of one shape. A thread takes pieces: four neighbours, with one access
// of up to 16 bytes for each view, where the views allow it, and single elements elsewhere.
// Tests: tests/cuda/elementwise_test.cpp
#pragma once

#include <cstdint>
#include <initializer_list>

#include "veldt/core/coalesce.h"
#include "veldt/cuda/runtime.h"
#include "veldt/kernels/convert.h"
#include "veldt/kernels/type_list.h"

namespace veldt::cuda {

inline constexpr int kMaxOperands = 5;

// Division by a constant as a multiplication, of numbers below 2^31 (Granlund & Montgomery 1994).
struct Divider {
  std::uint32_t multiplier = 0, shift = 0;
};
Divider divider_of(std::int64_t divisor);

// Never without a dimension.
struct ElementWalk : Coalesced<kMaxOperands> {
  std::int64_t count = 0;
  bool contiguous = false;          // all views, in the same order: the flat index is every offset
  bool small = false;               // every flat index is below 2^31
  std::int64_t fours = 0;           // pieces of four neighbours; what is left are single elements
  Divider dividers[kMaxRank] = {};  // by the sizes, where small

  constexpr std::int64_t pieces() const { return count - 3 * fours; }
  // Whether view k repeats one element along the innermost dimension.
  constexpr bool repeats(int k) const { return strides[k][rank - 1] == 0; }
};
// The last view is the one written.
ElementWalk walk_of(std::initializer_list<const View*> views);

// The views' memory, and what it holds.
struct Memory {
  void* data = nullptr;
  DType type = DType::f32;
  Memory(const View& v) : data(v.data), type(v.dtype) {}  // NOLINT: what a kernel takes of a view
};

#if defined(__CUDACC__) || defined(VELDT_GPU_EMULATION)
// Where element i lies in each of `kOperands` views.
template <int kOperands>
__device__ inline void offsets_of(const ElementWalk& w, std::int64_t i, std::int64_t (&at)[kOperands]) {
  for (int k = 0; k < kOperands; ++k) at[k] = w.contiguous ? i : 0;
  if (w.contiguous) return;
  GPU_ROLLED
  for (int d = w.rank - 1; d > 0; --d) {
    std::int64_t rest;
    if (w.small) {
      const auto n = static_cast<std::uint32_t>(i);
      rest = (__umulhi(n, w.dividers[d].multiplier) + n) >> w.dividers[d].shift;
    } else {
      rest = i / w.sizes[d];
    }
    const std::int64_t index = i - rest * w.sizes[d];
    for (int k = 0; k < kOperands; ++k) at[k] += index * w.strides[k][d];
    i = rest;
  }
  for (int k = 0; k < kOperands; ++k) at[k] += i * w.strides[k][0];
}

// The elements that a thread works on at a time: `count` of them, 4 or 1, and where they begin in each view.
template <int kOperands> struct Piece {
  int count;
  std::int64_t at[kOperands];
};
template <int kOperands>
__device__ inline Piece<kOperands> piece_of(const ElementWalk& w, std::int64_t piece) {
  Piece<kOperands> p;
  p.count = piece < w.fours ? 4 : 1;
  offsets_of(w, piece < w.fours ? 4 * piece : piece + 3 * w.fours, p.at);
  return p;
}

// As an array it is read and written at once.
template <class T> struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) Four { T v[4]; };

// What `count` stored elements are, as numbers to compute with: in x[0] if it is one.
template <class T, class F>
__device__ inline void load_as(const void* data, std::int64_t at, int count, bool repeats, F (&x)[4]) {
  const T* from = static_cast<const T*>(data) + at;
  if (count == 1 || repeats) {
    x[0] = x[1] = x[2] = x[3] = static_cast<F>(scalar::load(*from));
    return;
  }
  const Four<T> four = *reinterpret_cast<const Four<T>*>(from);
  for (int j = 0; j < 4; ++j) x[j] = static_cast<F>(scalar::load(four.v[j]));
}
template <class T, class F>
__device__ inline void store_as(void* data, std::int64_t at, int count, const F (&x)[4]) {
  T* to = static_cast<T*>(data) + at;
  if (count == 1) {
    *to = scalar::store<T>(x[0]);
    return;
  }
  Four<T> four;
  for (int j = 0; j < 4; ++j) four.v[j] = scalar::store<T>(x[j]);
  *reinterpret_cast<Four<T>*>(to) = four;
}

// The same for whatever is computed as an F: float (f32 and the halves), double (f64) or std::int64_t (whole
// numbers, and booleans as numbers of a byte). The branch is the same for all threads.
template <class F>
__device__ inline void load(const Memory& m, std::int64_t at, int count, bool repeats, F (&x)[4]) {
  if constexpr (std::is_same_v<F, double>) {
    load_as<double>(m.data, at, count, repeats, x);
  } else if constexpr (std::is_same_v<F, float>) {
    if (m.type == DType::f32) return load_as<float>(m.data, at, count, repeats, x);
    if (m.type == DType::bf16) return load_as<scalar::BFloat16>(m.data, at, count, repeats, x);
    load_as<scalar::Float16>(m.data, at, count, repeats, x);
  } else {
    if (m.type == DType::i64) return load_as<std::int64_t>(m.data, at, count, repeats, x);
    if (m.type == DType::i32) return load_as<std::int32_t>(m.data, at, count, repeats, x);
    if (m.type == DType::i8) return load_as<std::int8_t>(m.data, at, count, repeats, x);
    load_as<std::uint8_t>(m.data, at, count, repeats, x);
  }
}
template <class F>
__device__ inline void store(const Memory& m, std::int64_t at, int count, const F (&x)[4]) {
  if constexpr (std::is_same_v<F, double>) {
    store_as<double>(m.data, at, count, x);
  } else if constexpr (std::is_same_v<F, float>) {
    if (m.type == DType::f32) return store_as<float>(m.data, at, count, x);
    if (m.type == DType::bf16) return store_as<scalar::BFloat16>(m.data, at, count, x);
    store_as<scalar::Float16>(m.data, at, count, x);
  } else {
    if (m.type == DType::i64) return store_as<std::int64_t>(m.data, at, count, x);
    if (m.type == DType::i32) return store_as<std::int32_t>(m.data, at, count, x);
    if (m.type == DType::i8) return store_as<std::int8_t>(m.data, at, count, x);
    store_as<std::uint8_t>(m.data, at, count, x);
  }
}

// x[j] = fn(x[j], others[j]..) for the elements of a piece. A loop that turns the arrays, because a formula
// that stands here four times is compiled four times, and an array with a changing index lies in memory.
template <class F, class Fn, class... Others>
__device__ inline void apply(int count, Fn fn, F (&x)[4], Others&... others) {
  const auto turn = [](F(&a)[4], F last) {
    for (int j = 0; j < 3; ++j) a[j] = a[j + 1];
    a[3] = last;
  };
  GPU_ROLLED
  for (int j = 0; j < count; ++j) {
    turn(x, fn(x[0], others[0]...));
    (turn(others, others[0]), ...);
  }
  if (count == 1) x[0] = x[3];
}

// Calls fn with formula `op` of the list (an Op()), found by halves: a chain of comparisons would be as long
// as the list.
template <class List, int kFirst = 0, int kCount = List::size, class Fn>
__device__ inline void choose(int op, Fn fn) {
  constexpr int kHalf = kCount / 2;
  if constexpr (kCount == 1)
    fn(TypeAt<kFirst, List>());
  else if (op < kFirst + kHalf)
    choose<List, kFirst, kHalf>(op, fn);
  else
    choose<List, kFirst + kHalf, kCount - kHalf>(op, fn);
}
#endif

}  // namespace veldt::cuda
