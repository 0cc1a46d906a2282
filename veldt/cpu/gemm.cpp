// Matrix product after Goto & van de Geijn ("Anatomy of high-performance matrix multiplication", 2008): both
// operands are packed so that the innermost loop reads memory in order and keeps a tile of c in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/gemm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a register tile; it is two registers wide. 24 + 3 of 32 registers, or 12 + 3 of 16.
inline constexpr int kTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;

// One tile: a is packed [k][kTileRows], b [k][two registers]. Writes rows x cols of it: less at the edges.
template <class T>
HWY_INLINE void tile(std::int64_t k, const T* a, const T* b, Matrix<T> c, std::int64_t rows,
                     std::int64_t cols, bool add) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  RegisterTile<T, kTileRows, 2> sum;
  for (std::int64_t p = 0; p < k; ++p, a += kTileRows, b += 2 * lanes)
    sum.add_outer(a, 1, RegisterRow<T, 2>(b));
  if (rows == kTileRows && cols == 2 * lanes && c.col == 1)
    return add ? sum.add_to(c.data, c.row) : sum.store(c.data, c.row);
  HWY_ALIGN T edge[kTileRows * 2 * hn::MaxLanes(d)];
  sum.store(edge, 2 * lanes);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) {
      const T value = edge[i * 2 * lanes + j];
      c.at(i, j) = add ? c.at(i, j) + value : value;
    }
}

// [rows, k] to [rows / height][k][height], the last strip filled up with zeros.
template <class T>
HWY_INLINE void pack(Matrix<const T> from, std::int64_t rows, std::int64_t k, std::int64_t height, T* to) {
  for (std::int64_t i = 0; i < rows; i += height, to += height * k) {
    const std::int64_t h = std::min(height, rows - i);
    const T* strip = from.data + i * from.row;
    if (h < height) std::fill_n(to, height * k, T(0));
    if (from.row == 1) {
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t r = 0; r < h; ++r) to[p * height + r] = strip[p * from.col + r];
    } else {
      for (std::int64_t r = 0; r < h; ++r)
        for (std::int64_t p = 0; p < k; ++p) to[p * height + r] = strip[r * from.row + p * from.col];
    }
  }
}

// A block of rows of c: packs its a, then runs through the panels of the packed b.
template <class T>
void block(std::int64_t rows, std::int64_t n, std::int64_t k, Matrix<const T> a, const T* b, Matrix<T> c,
           bool add, T* scratch) {
  const std::int64_t width = 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  pack(a, rows, k, kTileRows, scratch);
  for (std::int64_t j = 0; j < n; j += width)
    for (std::int64_t i = 0; i < rows; i += kTileRows)
      tile(k, scratch + i * k, b + j * k, Matrix<T>{&c.at(i, j), c.row, c.col},
           std::min<std::int64_t>(kTileRows, rows - i), std::min(width, n - j), add);
}

void block_f32(std::int64_t rows, std::int64_t n, std::int64_t k, Matrix<const float> a, const float* b,
               Matrix<float> c, bool add, float* scratch) {
  block(rows, n, k, a, b, c, add, scratch);
}
void block_f64(std::int64_t rows, std::int64_t n, std::int64_t k, Matrix<const double> a, const double* b,
               Matrix<double> c, bool add, double* scratch) {
  block(rows, n, k, a, b, c, add, scratch);
}
// Columns of b: [k, n] to [n / width][k][width].
void pack_b_f32(Matrix<const float> b, std::int64_t n, std::int64_t k, float* to) {
  pack(b.transposed(), n, k, 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>())), to);
}
void pack_b_f64(Matrix<const double> b, std::int64_t n, std::int64_t k, double* to) {
  pack(b.transposed(), n, k, 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<double>())), to);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
HWY_EXPORT(block_f32);
HWY_EXPORT(block_f64);
HWY_EXPORT(pack_b_f32);
HWY_EXPORT(pack_b_f64);

constexpr std::int64_t kDepth = 256;  // of a packed block: 12 rows of a and 32 columns of b fit into L1
constexpr std::int64_t kRows = 96;    // of a block of a: 96 x 256 floats are a tenth of L2
constexpr std::int64_t kCols = 1024;  // of a block of b: at most 1 MB of floats
constexpr std::int64_t kSlab = 4096;  // of k, when c is so small that only k can be shared out
constexpr std::int64_t kSlabs = 32;   // at most
constexpr std::int64_t kSlack = 32;   // room for the filling of a last strip

// Packing room, one a thread; it grows and stays, because a step asks for the same sizes again and again.
template <class T> T* room(std::size_t count, int which) {
  thread_local hwy::AlignedFreeUniquePtr<T[]> held[2];
  thread_local std::size_t sizes[2] = {0, 0};
  if (sizes[which] < count) {
    sizes[which] = 0;
    held[which] = hwy::AllocateAligned<T>(count);
    if (!held[which])
      throw OutOfMemory(str("cannot allocate ", count * sizeof(T), " bytes to multiply matrices"),
                        "the system has no memory left for it", "use a smaller batch or a smaller network");
    sizes[which] = count;
  }
  return held[which].get();
}

void block_of(std::int64_t rows, std::int64_t n, std::int64_t k, Matrix<const float> a, const float* b,
              Matrix<float> c, bool add, float* scratch) {
  HWY_DYNAMIC_DISPATCH(block_f32)(rows, n, k, a, b, c, add, scratch);
}
void block_of(std::int64_t rows, std::int64_t n, std::int64_t k, Matrix<const double> a, const double* b,
              Matrix<double> c, bool add, double* scratch) {
  HWY_DYNAMIC_DISPATCH(block_f64)(rows, n, k, a, b, c, add, scratch);
}
void pack_b(Matrix<const float> b, std::int64_t n, std::int64_t k, float* to) {
  HWY_DYNAMIC_DISPATCH(pack_b_f32)(b, n, k, to);
}
void pack_b(Matrix<const double> b, std::int64_t n, std::int64_t k, double* to) {
  HWY_DYNAMIC_DISPATCH(pack_b_f64)(b, n, k, to);
}

template <class T> Matrix<T> from(Matrix<T> x, std::int64_t i, std::int64_t j) {
  return {&x.at(i, j), x.row, x.col};
}

template <class T>
void by_blocks(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
               Matrix<T> c, bool add) {
  for (std::int64_t j = 0; j < n; j += kCols)
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t cols = std::min(kCols, n - j), depth = std::min(kDepth, k - p);
      T* const packed = room<T>(static_cast<std::size_t>((cols + kSlack) * depth), 0);
      pack_b(from(b, p, j), cols, depth, packed);
      parallel_for(m, kRows, [&](std::int64_t begin, std::int64_t end) {
        T* const scratch = room<T>(static_cast<std::size_t>((kRows + kSlack) * depth), 1);
        block_of(end - begin, cols, depth, from(a, begin, p), packed, from(c, begin, j), add || p > 0,
                 scratch);
      });
    }
}

// A small c from a long k, such as a weight's gradient: slabs of k make partial products, added in order.
template <class T>
void by_slabs(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
              Matrix<T> c, bool add) {
  // At most kSlabs of them, so that a long k needs no more memory.
  const std::int64_t least = std::max(kSlab, (k + kSlabs - 1) / kSlabs);
  const std::int64_t slab = (least + kDepth - 1) / kDepth * kDepth, slabs = (k + slab - 1) / slab;
  std::vector<T> parts(static_cast<std::size_t>(slabs * m * n));
  parallel_for(slabs, 1, [&](std::int64_t s, std::int64_t) {
    const std::int64_t p = s * slab;
    by_blocks(m, n, std::min(slab, k - p), from(a, 0, p), from(b, p, 0),
              Matrix<T>{&parts[static_cast<std::size_t>(s * m * n)], n, 1}, false);
  });
  parallel_for(m, std::max<std::int64_t>(1, kSlab / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T sum = add ? c.at(i, j) : T(0);
        for (std::int64_t s = 0; s < slabs; ++s) sum += parts[static_cast<std::size_t>((s * m + i) * n + j)];
        c.at(i, j) = sum;
      }
  });
}

template <class T>
void gemm_of(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
             Matrix<T> c, bool add) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (std::int64_t i = 0; i < m && !add; ++i)
      for (std::int64_t j = 0; j < n; ++j) c.at(i, j) = 0;
  } else if (c.row == 1 && c.col != 1) {
    gemm_of(n, m, k, b.transposed(), a.transposed(), c.transposed(),
            add);  // c^T = b^T a^T, so that rows are dense
  } else if (m * n <= 512 * 512 && k >= 2 * kSlab) {
    by_slabs(m, n, k, a, b, c, add);
  } else {
    by_blocks(m, n, k, a, b, c, add);
  }
}

}  // namespace

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
          Matrix<float> c, bool add) {
  gemm_of(m, n, k, a, b, c, add);
}
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b,
          Matrix<double> c, bool add) {
  gemm_of(m, n, k, a, b, c, add);
}

}  // namespace veldt::cpu
#endif
