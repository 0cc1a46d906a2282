// Matrix product after Goto & van de Geijn ("Anatomy of high-performance matrix multiplication", 2008): both
// operands are packed so that the innermost loop reads memory in order and keeps a tile of c in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/gemm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hwy/highway.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/product-inl.h"
#include "veldt/cpu/room.h"

#ifndef VELDT_CPU_GEMM_BLOCK
#define VELDT_CPU_GEMM_BLOCK
namespace veldt::cpu {
namespace {

constexpr std::int64_t kBlockRows = 96;  // of a block of a: 96 x 256 floats are a tenth of L2
constexpr std::int64_t kSlack = 16;      // elements between packed rows

// rows x cols of c, from this depth of k.
template <class T> struct Block {
  std::int64_t rows, cols, k;
  bool add;
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

// Rows of a [rows, k], as a tile reads them: strips of kProductRows rows, [k][kProductRows], where a column
// of a is dense, and else rows that end in a register more than they need, so that a column of them does not
// fall into one set of the cache.
template <class T> class PackedRows {
 public:
  PackedRows(Matrix<const T> a, std::int64_t rows, std::int64_t k, T* to)
      : at_(to), strips_(a.row == 1 && a.col != 1), step_(strips_ ? k : k + kSlack) {
    if (!strips_) {
      for (std::int64_t i = 0; i < rows; ++i, to += step_) {
        const T* const row = &a.at(i, 0);
        if (a.col == 1)
          std::copy_n(row, k, to);
        else
          for (std::int64_t p = 0; p < k; ++p) to[p] = row[p * a.col];
      }
      return;
    }
    for (std::int64_t i = 0; i < rows; i += kProductRows) {
      const std::int64_t count = std::min(kProductRows, rows - i);
      const T* column = &a.at(i, 0);
      for (std::int64_t p = 0; p < k; ++p, to += kProductRows, column += a.col) {
        if (count == kProductRows)
          for (std::int64_t r = 0; r < kProductRows; ++r) to[r] = column[r];
        else
          std::copy_n(column, count, to);
      }
    }
  }
  bool in_strips() const { return strips_; }
  HWY_INLINE Matrix<const T> operator()(std::int64_t i) const {
    if (!strips_) return {at_ + i * step_, step_, 1};
    const std::int64_t within = i % kProductRows;
    return {at_ + (i - within) * step_ + within, 1, kProductRows};
  }

 private:
  const T* at_;
  bool strips_;
  std::int64_t step_;  // between rows, of a strip too
};

// A block of c: packs its rows of a, then runs through the panels of the packed b.
template <class T> void block(const Block<T>& x, Matrix<const T> a, const T* b, Matrix<T> c, T* scratch) {
  constexpr std::int64_t kMost = 2 * hn::MaxLanes(hn::ScalableTag<T>());
  const std::int64_t width = 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const PackedRows<T> rows(a, x.rows, x.k, scratch);
  for (std::int64_t j = 0; j < x.cols; j += width, b += x.k * width) {
    const std::int64_t count = std::min(width, x.cols - j);
    T* const out = c.data + j * c.col;
    if (count == width && c.col == 1) {
      product_panel<T, 2>(x.rows, x.k, rows, b, width, out, c.row, x.add);
      continue;
    }
    static_assert(kBlockRows % kProductRows == 0, "even_grain may give more rows than `edge` has");
    HWY_ALIGN T edge[kBlockRows * kMost];
    product_panel<T, 2>(x.rows, x.k, rows, b, width, edge, width, false);
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

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
HWY_EXPORT(tile_rows);
HWY_EXPORT(width_f32);
HWY_EXPORT(width_f64);
HWY_EXPORT(block_f32);
HWY_EXPORT(block_f64);
HWY_EXPORT(pack_f32);
HWY_EXPORT(pack_f64);

constexpr std::int64_t kDepth = 256;       // of a packed block
constexpr std::int64_t kCols = 1024;       // of a block of b: at most 1 MB of floats
constexpr std::int64_t kWork = 1 << 17;    // multiplications that are worth a thread
constexpr std::int64_t kPacked = 1 << 14;  // elements of b that one task packs
constexpr std::int64_t kSlab = 4096;       // of k, when c is so small that only k can be shared out
constexpr std::int64_t kSlabs = 32;        // at most

// Packing room: 0 for b, 1 for a block of a.
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
  return {HWY_DYNAMIC_DISPATCH(tile_rows), HWY_DYNAMIC_DISPATCH(width_f32), HWY_DYNAMIC_DISPATCH(block_f32),
          HWY_DYNAMIC_DISPATCH(pack_f32)};
}
Kernels<double> kernels_of(double) {
  return {HWY_DYNAMIC_DISPATCH(tile_rows), HWY_DYNAMIC_DISPATCH(width_f64), HWY_DYNAMIC_DISPATCH(block_f64),
          HWY_DYNAMIC_DISPATCH(pack_f64)};
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

// An element of c is the same sum however rows and columns are shared out, so that may
// follow the number of threads.
template <class T>
void by_blocks(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
               Matrix<T> c, bool add) {
  const Kernels<T> use = kernels_of(T());
  const std::int64_t width = use.width();
  for (std::int64_t j = 0; j < n; j += kCols) {
    const std::int64_t cols = std::min(kCols, n - j), panels = shares(cols, width);
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      T* const packed = room<T>(panels * width * depth, 0);
      pack_all<T>(cols, depth, from(b, p, j), packed);
      const std::int64_t threads = std::min<std::int64_t>(threads_here(), shares(m * cols * depth, kWork));
      // Many rows are shared out by rows, few by columns.
      const bool by_rows = threads > 1 && m >= 8 * kBlockRows;
      const std::int64_t rows = by_rows ? even_grain(m, kBlockRows, use.rows()) : kBlockRows;
      const std::int64_t tall = shares(m, rows);
      const std::int64_t span = (by_rows ? panels : shares(panels, threads)) * width;
      const auto task = [&](std::int64_t i, std::int64_t first) {
        const Block<T> x{std::min(rows, m - i), std::min(span, cols - first), depth, add || p > 0};
        use.block(x, from(a, i, p), packed + first * depth, from(c, i, j + first),
                  room<T>(rows * (depth + kSlack), 1));
      };
      if (threads == 1) {
        for (std::int64_t i = 0; i < tall; ++i) task(i * rows, 0);
      } else {
        parallel_for(tall * shares(cols, span), 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t t = begin; t < end; ++t) task(t % tall * rows, t / tall * span);
        });
      }
    }
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
    by_blocks<T>(m, n, std::min(slab, k - p), from(a, 0, p), from(b, p, 0),
                 {&parts[static_cast<std::size_t>(s * m * n)], n, 1}, false);
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
    by_blocks<T>(m, n, k, a, b, c, add);
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
          Matrix<float> c, bool add) {
  gemm_of(m, n, k, a, b, c, add);
}
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b,
          Matrix<double> c, bool add) {
  gemm_of(m, n, k, a, b, c, add);
}

}  // namespace veldt::cpu
#endif
