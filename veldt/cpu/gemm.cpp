// Matrix product after Goto & van de Geijn ("Anatomy of high-performance matrix multiplication", 2008): both
// operands are packed so that the innermost loop reads memory in order and keeps a tile of c in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/gemm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/product-inl.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/stage.h"

#ifndef VELDT_CPU_GEMM_BLOCK
#define VELDT_CPU_GEMM_BLOCK
namespace veldt::cpu {
namespace {

constexpr std::int64_t kBlockRows = 96;  // of a block of a: 96 x 256 floats are a tenth of L2
constexpr std::int64_t kSlack = 16;      // elements between packed rows
constexpr std::int64_t kStrip = 8;       // elements of a column, of which a tile takes all or but six

// Memory that will be read soon: `lines` of that many bytes each, `step` bytes apart.
struct Upcoming {
  const char* at = nullptr;
  std::int64_t lines = 0, bytes = 0, step = 0;
};
template <class T> Upcoming upcoming(Matrix<const T> x, std::int64_t rows, std::int64_t cols) {
  if (x.col != 1) return x.row == 1 ? upcoming(x.transposed(), cols, rows) : Upcoming();
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  return {reinterpret_cast<const char*>(x.data), rows, cols * kBytes, x.row * kBytes};
}

// rows x cols of c, from this depth of k. Each row's sum begins with the bias, if there is one.
template <class T> struct Block {
  std::int64_t rows, cols, k;
  bool add;
  const T* bias;
  Upcoming next_a, next_b;
};

}  // namespace
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns of b: [k, n] to [n / width][k][width], the last panel filled up with zeros. This is one panel.
template <class T>
HWY_INLINE void pack_panel(Matrix<const T> b, std::int64_t n, std::int64_t k, std::int64_t panel, T* to) {
  const std::int64_t width = 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t first = panel * width, count = std::min(width, n - first);
  to += panel * k * width;
  if (b.row == 1 && b.col != 1 && count == width)
    return stage().turn[stage_index(sizeof(T))](&b.at(0, first), b.col, to, width, k, count);
  for (std::int64_t p = 0; p < k; ++p, to += width) {
    const T* const row = &b.at(p, first);
    if (b.col == 1 && count == width) {
      RegisterRow<T, 2>(row).store(to);
      continue;
    }
    for (std::int64_t j = 0; j < count; ++j) to[j] = row[j * b.col];
    std::fill(to + count, to + width, T(0));
  }
}

// Prefetches the upcoming memory gradually.
class Fetching {
 public:
  // In that many calls.
  Fetching(const Upcoming& what, std::int64_t calls)
      : left_(what), share_((what.lines * per_line() + calls - 1) / calls) {}
  HWY_INLINE void some() {
    for (std::int64_t i = 0; i < share_ && left_.lines > 0; ++i) {
      __builtin_prefetch(left_.at + done_, 0, 2);  // into the second cache
      if ((done_ += kLine) < left_.bytes) continue;
      done_ = 0;
      left_.at += left_.step;
      --left_.lines;
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  std::int64_t per_line() const { return (left_.bytes + kLine - 1) / kLine; }

  Upcoming left_;
  std::int64_t done_ = 0, share_;
};

// Rows of a [rows, k], as a tile reads them: unchanged if possible; strips of kProductRows rows, [k][kStrip],
// if a column of a is dense; and else rows with an extra register at the end, so that a column does not fall
// into one cache set.
template <class T> class PackedRows {
 public:
  PackedRows(Matrix<const T> a, std::int64_t rows, std::int64_t k, T* to)
      : at_(to), strips_(a.row == 1 && a.col != 1), step_(strips_ ? k * kStrip + kSlack : k + kSlack) {
    if (strips_) {
      pack_strips(a, rows, k, to, step_);
      return;
    }
    if (a.col == 1 && a.row * static_cast<std::int64_t>(sizeof(T)) % kFar != 0) {
      at_ = a.data, step_ = a.row;
      return;
    }
    for (std::int64_t i = 0; i < rows; ++i, to += step_) {
      const T* const row = &a.at(i, 0);
      if (a.col == 1)
        std::copy_n(row, k, to);
      else
        for (std::int64_t p = 0; p < k; ++p) to[p] = row[p * a.col];
    }
  }
  bool in_strips() const { return strips_; }
  HWY_INLINE Matrix<const T> operator()(std::int64_t i) const {
    if (!strips_) return {at_ + i * step_, step_, 1};
    return {at_ + i / kProductRows * step_ + i % kProductRows, 1, kStrip};
  }

 private:
  static constexpr std::int64_t kFar = 4096;  // bytes between elements that share a cache set

  // By cache lines, which are far apart; kStrip elements are moved at once if there are that many.
  static void pack_strips(Matrix<const T> a, std::int64_t rows, std::int64_t k, T* to, std::int64_t step) {
    for (std::int64_t p = 0; p < k; ++p) {
      const T* const column = &a.at(0, p);
      T* strip = to + p * kStrip;
      for (std::int64_t i = 0; i < rows; i += kProductRows, strip += step) {
        if (i + kStrip <= rows)
          std::memcpy(strip, column + i, kStrip * sizeof(T));
        else
          std::copy_n(column + i, std::min(kProductRows, rows - i), strip);
      }
    }
  }

  const T* at_;
  bool strips_;
  std::int64_t step_;  // between rows, or strips
};

// The same for one panel, prefetching the tile's output and more of the upcoming memory.
template <class T> struct RowsAhead {
  const PackedRows<T>& rows;
  Fetching &next_a, &next_b;
  T* c;
  std::int64_t c_row;

  bool in_strips() const { return rows.in_strips(); }
  HWY_INLINE Matrix<const T> operator()(std::int64_t i) const {
    next_a.some();
    next_b.some();
    for (std::int64_t r = i; r < i + kProductRows; ++r)
      fetch(c + r * c_row, 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>())));
    return rows(i);
  }
};

// A block of c: packs its rows of a, then runs through the panels of the packed b.
template <class T> void block(const Block<T>& x, Matrix<const T> a, const T* b, Matrix<T> c, T* scratch) {
  constexpr std::int64_t kMost = 2 * hn::MaxLanes(hn::ScalableTag<T>());
  const std::int64_t width = 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t tiles =
      std::max<std::int64_t>(1, x.rows / kProductRows * ((x.cols + width - 1) / width));
  Fetching next_a(x.next_a, tiles), next_b(x.next_b, tiles);
  const PackedRows<T> packed(a, x.rows, x.k, scratch);
  for (std::int64_t j = 0; j < x.cols; j += width, b += x.k * width) {
    const std::int64_t count = std::min(width, x.cols - j);
    T* const out = c.data + j * c.col;
    const RowsAhead<T> rows{packed, next_a, next_b, out, c.row};
    if (count == width && c.col == 1) {
      product_panel<T, 2>(x.rows, x.k, rows, b, width, out, c.row, x.add, x.bias ? x.bias + j : nullptr);
      continue;
    }
    static_assert(kBlockRows % kProductRows == 0, "even_grain may give more rows than `edge` has");
    HWY_ALIGN T edge[kBlockRows * kMost];
    HWY_ALIGN T start[kMost] = {};
    if (x.bias) std::copy_n(x.bias + j, count, start);
    product_panel<T, 2>(x.rows, x.k, rows, b, width, edge, width, false, start);
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t q = 0; q < count; ++q) {
        T& to = out[i * c.row + q * c.col];
        to = x.add ? to + edge[i * width + q] : edge[i * width + q];
      }
  }
}

std::int64_t tile_rows() { return kProductRows; }
std::int64_t width_f32() { return 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>())); }
std::int64_t width_f64() { return 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<double>())); }
void block_f32(const Block<float>& x, Matrix<const float> a, const float* b, Matrix<float> c,
               float* scratch) {
  block(x, a, b, c, scratch);
}
void block_f64(const Block<double>& x, Matrix<const double> a, const double* b, Matrix<double> c,
               double* scratch) {
  block(x, a, b, c, scratch);
}
void pack_f32(Matrix<const float> b, std::int64_t n, std::int64_t k, std::int64_t panel, float* to) {
  pack_panel(b, n, k, panel, to);
}
void pack_f64(Matrix<const double> b, std::int64_t n, std::int64_t k, std::int64_t panel, double* to) {
  pack_panel(b, n, k, panel, to);
}

template <class T>
bool in_place(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
              Matrix<T> c) {
  if (b.col != 1 || c.col != 1 || n % static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>())) != 0)
    return false;
  product(m, n, k, a, b.data, b.row, c.data, c.row, false);
  return true;
}
bool in_place_f32(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a,
                  Matrix<const float> b, Matrix<float> c) {
  return in_place(m, n, k, a, b, c);
}
bool in_place_f64(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a,
                  Matrix<const double> b, Matrix<double> c) {
  return in_place(m, n, k, a, b, c);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(tile_rows);
VELDT_EXPORT(width_f32);
VELDT_EXPORT(width_f64);
VELDT_EXPORT(block_f32);
VELDT_EXPORT(block_f64);
VELDT_EXPORT(pack_f32);
VELDT_EXPORT(pack_f64);
VELDT_EXPORT(in_place_f32);
VELDT_EXPORT(in_place_f64);

constexpr std::int64_t kDepth = 256;       // of a packed block
constexpr std::int64_t kOnePass = 512;     // depth up to which c is written once rather than added to
constexpr std::int64_t kCols = 1024;       // of a block of b: at most 1 MB of floats
constexpr std::int64_t kWork = 1 << 17;    // multiplications that are worth a thread
constexpr std::int64_t kPacked = 1 << 14;  // elements of b that one task packs
constexpr std::int64_t kSlab = 4096;       // of k, if c is so small that only k can be split
constexpr std::int64_t kSlabs = 32;        // at most

// Packing memory: 0 for b, 1 for a block of a.
template <class T> T* room(std::int64_t count, int which) {
  thread_local Room<T> rooms[2];
  return rooms[which].of(count, "a product of matrices");
}

template <class T> struct Kernels {
  std::int64_t (*rows)();  // of a tile
  std::int64_t (*width)();
  void (*block)(const Block<T>&, Matrix<const T> a, const T* b, Matrix<T> c, T* scratch);
  void (*pack)(Matrix<const T> b, std::int64_t n, std::int64_t k, std::int64_t panel, T* to);
};
Kernels<float> kernels_of(float) {
  return {VELDT_DISPATCH(tile_rows), VELDT_DISPATCH(width_f32), VELDT_DISPATCH(block_f32),
          VELDT_DISPATCH(pack_f32)};
}
Kernels<double> kernels_of(double) {
  return {VELDT_DISPATCH(tile_rows), VELDT_DISPATCH(width_f64), VELDT_DISPATCH(block_f64),
          VELDT_DISPATCH(pack_f64)};
}

template <class T> void pack_all(std::int64_t n, std::int64_t k, Matrix<const T> b, T* to) {
  const Kernels<T> use = kernels_of(T());
  const std::int64_t width = use.width();
  parallel_for((n + width - 1) / width,
               std::max<std::int64_t>(1, kPacked / std::max<std::int64_t>(1, k * width)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t panel = begin; panel < end; ++panel) use.pack(b, n, k, panel, to);
               });
}

std::int64_t shares(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

template <class T> struct Product {
  std::int64_t m, n, k;
  Matrix<const T> a, b;
  Matrix<T> c;
  bool add;
  const T* bias;  // of each column, or null

  Product part(std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t cols) const {
    return {rows, cols, k, from(a, i, 0), from(b, 0, j), from(c, i, j), add, bias ? bias + j : nullptr};
  }
};

// Rows begin .. end of c, from k's p .. p + depth and b's packed columns j .. j + cols. Meanwhile it
// prefetches the next rows of a, and its part of b that will be packed next.
template <class T>
void by_rows(const Product<T>& x, std::int64_t begin, std::int64_t end, std::int64_t p, std::int64_t depth,
             std::int64_t j, std::int64_t cols, const T* packed) {
  const std::int64_t next = p + depth, next_depth = std::min(depth, x.k - next);
  const Kernels<T> use = kernels_of(T());
  T* const scratch = room<T>(shares(kBlockRows, use.rows()) * kStrip * (depth + kSlack), 1);
  for (std::int64_t i = begin; i < end; i += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, end - i), behind = i + rows;
    Block<T> block{rows, cols, depth, x.add || p > 0, p == 0 && x.bias ? x.bias + j : nullptr, {}, {}};
    if (behind < end)
      block.next_a = upcoming(from(x.a, behind, p), std::min(kBlockRows, end - behind), depth);
    else if (next_depth > 0)
      block.next_a = upcoming(from(x.a, begin, next), std::min(kBlockRows, end - begin), next_depth);
    if (next_depth > 0) {
      const std::int64_t first = next_depth * i / x.m, last = next_depth * behind / x.m;
      block.next_b = upcoming(from(x.b, next + first, j), last - first, cols);
    }
    use.block(block, from(x.a, i, p), packed, from(x.c, i, j), scratch);
  }
}

// An element of c is the same sum for any split of rows and columns, so the split may depend on the number of
// threads.
template <class T> void by_blocks(const Product<T>& x) {
  const Kernels<T> use = kernels_of(T());
  const std::int64_t width = use.width();
  const bool shared = threads_here() > 1 && x.m * x.n * x.k >= 2 * kWork;
  if (shared && x.m < 8 * kBlockRows) {  // too few rows to pack b for: each thread works alone
    const bool tall = x.m >= x.n;
    const std::int64_t size = tall ? x.m : x.n, grain = even_grain(size, size, tall ? use.rows() : width);
    if (grain < size)
      return parallel_for(size, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t count = end - begin;
        by_blocks(tall ? x.part(begin, count, 0, x.n) : x.part(0, x.m, begin, count));
      });
  }
  const std::int64_t most = x.k <= kOnePass ? kOnePass : kDepth;
  for (std::int64_t j = 0; j < x.n; j += kCols) {
    const std::int64_t cols = std::min(kCols, x.n - j);
    for (std::int64_t p = 0; p < x.k; p += most) {
      const std::int64_t depth = std::min(most, x.k - p);
      T* const packed = room<T>(shares(cols, width) * width * depth, 0);
      pack_all<T>(cols, depth, from(x.b, p, j), packed);
      parallel_for(x.m, shared ? even_grain(x.m, x.m, use.rows()) : x.m,
                   [&](std::int64_t begin, std::int64_t end) {
                     by_rows<T>(x, begin, end, p, depth, j, cols, packed);
                   });
    }
  }
}

// A small c from a long k, such as a weight's gradient: slabs of k make partial products, added in order.
template <class T>
void by_slabs(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
              Matrix<T> c, bool add, const T* bias) {
  // At most kSlabs of them, so that a long k needs no more memory.
  const std::int64_t least = std::max(kSlab, (k + kSlabs - 1) / kSlabs);
  const std::int64_t slab = (least + kDepth - 1) / kDepth * kDepth, slabs = (k + slab - 1) / slab;
  std::vector<T> parts(static_cast<std::size_t>(slabs * m * n));
  parallel_for(slabs, 1, [&](std::int64_t s, std::int64_t) {
    const std::int64_t p = s * slab;
    T* const part = &parts[static_cast<std::size_t>(s * m * n)];
    by_blocks<T>({m, n, std::min(slab, k - p), from(a, 0, p), from(b, p, 0), {part, n, 1}, false, nullptr});
  });
  parallel_for(m, std::max<std::int64_t>(1, kSlab / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T sum = add ? c.at(i, j) : bias ? bias[j] : T(0);
        for (std::int64_t s = 0; s < slabs; ++s) sum += parts[static_cast<std::size_t>((s * m + i) * n + j)];
        c.at(i, j) = sum;
      }
  });
}

template <class T>
void gemm_of(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
             Matrix<T> c, bool add, const T* bias) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (std::int64_t i = 0; i < m && !add; ++i)
      for (std::int64_t j = 0; j < n; ++j) c.at(i, j) = bias ? bias[j] : T(0);
  } else if (c.row == 1 && c.col != 1 && !bias) {
    gemm_of<T>(n, m, k, b.transposed(), a.transposed(), c.transposed(), add,
               nullptr);  // c^T = b^T a^T, so that rows are dense
  } else if (m * n <= 512 * 512 && k >= 2 * kSlab) {
    by_slabs(m, n, k, a, b, c, add, bias);
  } else {
    by_blocks<T>({m, n, k, a, b, c, add, bias});
  }
}

}  // namespace

std::int64_t panel_width(float) { return kernels_of(float()).width(); }
std::int64_t panel_width(double) { return kernels_of(double()).width(); }
void pack_panels(std::int64_t n, std::int64_t k, Matrix<const float> b, float* to) { pack_all(n, k, b, to); }
void pack_panels(std::int64_t n, std::int64_t k, Matrix<const double> b, double* to) {
  pack_all(n, k, b, to);
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
          Matrix<float> c, bool add, const float* bias) {
  gemm_of(m, n, k, a, b, c, add, bias);
}
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b,
          Matrix<double> c, bool add, const double* bias) {
  gemm_of(m, n, k, a, b, c, add, bias);
}

bool gemm_in_place(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a,
                   Matrix<const float> b, Matrix<float> c) {
  return VELDT_DISPATCH(in_place_f32)(m, n, k, a, b, c);
}
bool gemm_in_place(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a,
                   Matrix<const double> b, Matrix<double> c) {
  return VELDT_DISPATCH(in_place_f64)(m, n, k, a, b, c);
}

}  // namespace veldt::cpu
#endif
