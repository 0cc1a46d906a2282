// The inner loops of the reductions, one for each way that a tile can lie in memory.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/reduce_tile.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "veldt/cpu/reduce_tile.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Everything is accumulated in double: at memory speed the conversion is free, and the mean of 10^7 floats is
// right to the last bit of a float.
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

HWY_INLINE V load(const double* p) { return hn::LoadU(D(), p); }
HWY_INLINE V load(const float* p) { return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<float, D>(), p)); }

struct Sum {
  static double start() { return 0; }
  static HWY_INLINE V join(V a, V x) { return hn::Add(a, x); }
  static HWY_INLINE double join(double a, double x) { return a + x; }
};
struct Product {
  static double start() { return 1; }
  static HWY_INLINE V join(V a, V x) { return hn::Mul(a, x); }
  static HWY_INLINE double join(double a, double x) { return a * x; }
};
// A NaN wins: it is taken where it appears, and nothing compares greater than it afterwards.
struct Max {
  static double start() { return -std::numeric_limits<double>::infinity(); }
  static HWY_INLINE V join(V a, V x) { return hn::IfThenElse(hn::Or(hn::Gt(x, a), hn::IsNaN(x)), x, a); }
  static HWY_INLINE double join(double a, double x) { return x > a || x != x ? x : a; }
};
struct Min {
  static double start() { return std::numeric_limits<double>::infinity(); }
  static HWY_INLINE V join(V a, V x) { return hn::IfThenElse(hn::Or(hn::Lt(x, a), hn::IsNaN(x)), x, a); }
  static HWY_INLINE double join(double a, double x) { return x < a || x != x ? x : a; }
};

template <class Op, class T> HWY_INLINE double row(const T* x, std::int64_t n, double acc) {
  const D d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  if (n >= 4 * lanes) {
    V s0 = hn::Set(d, Op::start()), s1 = s0, s2 = s0, s3 = s0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      s0 = Op::join(s0, load(x + i));
      s1 = Op::join(s1, load(x + i + lanes));
      s2 = Op::join(s2, load(x + i + 2 * lanes));
      s3 = Op::join(s3, load(x + i + 3 * lanes));
    }
    HWY_ALIGN double each[hn::MaxLanes(d)];
    hn::Store(Op::join(Op::join(s0, s1), Op::join(s2, s3)), d, each);
    for (std::int64_t l = 0; l < lanes; ++l) acc = Op::join(acc, each[l]);
  }
  for (; i < n; ++i) acc = Op::join(acc, static_cast<double>(x[i]));
  return acc;
}

// `Wide` registers of accumulators, which a strip of columns keeps while it runs down the rows. Recursive,
// because g++ keeps an array in memory.
template <class Op, int Wide> struct Strip {
  V first;
  Strip<Op, Wide - 1> rest;

  HWY_INLINE explicit Strip(const double* from) : first(hn::LoadU(D(), from)), rest(from + hn::Lanes(D())) {}
  template <class T> HWY_INLINE void join(const T* x) {
    first = Op::join(first, load(x));
    rest.join(x + hn::Lanes(D()));
  }
  HWY_INLINE void store(double* to) const {
    hn::StoreU(first, D(), to);
    rest.store(to + hn::Lanes(D()));
  }
};
template <class Op> struct Strip<Op, 0> {
  HWY_INLINE explicit Strip(const double*) {}
  template <class T> HWY_INLINE void join(const T*) {}
  HWY_INLINE void store(double*) const {}
};

template <class Op, int Wide, class T>
HWY_INLINE void strip(const T* x, std::int64_t rows, std::int64_t stride, double* acc) {
  Strip<Op, Wide> sums(acc);
  for (std::int64_t r = 0; r < rows; ++r) sums.join(x + r * stride);
  sums.store(acc);
}

// The additions into one column are in the order of the rows, whichever strip it falls in.
template <class Op, class T>
HWY_INLINE void columns(const T* x, std::int64_t cols, std::int64_t rows, std::int64_t stride, double* acc) {
  constexpr int kWide = HWY_TARGET <= HWY_AVX3 ? 16 : 8;  // half the registers
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  std::int64_t j = 0;
  for (; j + kWide * lanes <= cols; j += kWide * lanes) strip<Op, kWide>(x + j, rows, stride, acc + j);
  for (; j + kWide / 2 * lanes <= cols; j += kWide / 2 * lanes)
    strip<Op, kWide / 2>(x + j, rows, stride, acc + j);
  for (; j + kWide / 4 * lanes <= cols; j += kWide / 4 * lanes)
    strip<Op, kWide / 4>(x + j, rows, stride, acc + j);
  for (; j + lanes <= cols; j += lanes) strip<Op, 1>(x + j, rows, stride, acc + j);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = j; i < cols; ++i) acc[i] = Op::join(acc[i], static_cast<double>(x[r * stride + i]));
}

// [rows, cols] without gaps and with few columns is read as [rows / k, k cols], which fills the registers;
// the k groups of columns are folded at the end.
template <class Op, class T>
void narrow_columns(const T* x, std::int64_t cols, std::int64_t rows, double* acc) {
  constexpr std::int64_t kWide = 128;
  const std::int64_t k = kWide / cols, wide = k * cols, wide_rows = rows / k;
  double sums[kWide];
  for (std::int64_t j = 0; j < wide; ++j) sums[j] = Op::start();
  columns<Op>(x, wide, wide_rows, wide, sums);
  for (std::int64_t j = 0; j < wide; ++j) acc[j % cols] = Op::join(acc[j % cols], sums[j]);
  columns<Op>(x + wide_rows * wide, cols, rows - wide_rows * k, cols, acc);
}

template <class Op, class T> void tile(const T* x, const Tile& t, double* acc) {
  if (t.reduced_stride == 1) {
    for (std::int64_t j = 0; j < t.kept; ++j) acc[j] = row<Op>(x + j * t.kept_stride, t.reduced, acc[j]);
  } else if (t.kept_stride == 1 && t.kept < 64 && t.reduced_stride == t.kept) {
    narrow_columns<Op>(x, t.kept, t.reduced, acc);
  } else if (t.kept_stride == 1) {
    columns<Op>(x, t.kept, t.reduced, t.reduced_stride, acc);
  } else {
    for (std::int64_t l = 0; l < t.reduced; ++l)
      for (std::int64_t j = 0; j < t.kept; ++j)
        acc[j] = Op::join(acc[j], static_cast<double>(x[j * t.kept_stride + l * t.reduced_stride]));
  }
}

template <class T> void tile_of(ReduceOp op, const T* x, const Tile& t, double* acc) {
  if (op == ReduceOp::sum || op == ReduceOp::mean) return tile<Sum>(x, t, acc);
  if (op == ReduceOp::prod) return tile<Product>(x, t, acc);
  if (op == ReduceOp::max) return tile<Max>(x, t, acc);
  return tile<Min>(x, t, acc);
}
void tile_f32(ReduceOp op, const float* x, const Tile& t, double* acc) { tile_of(op, x, t, acc); }
void tile_f64(ReduceOp op, const double* x, const Tile& t, double* acc) { tile_of(op, x, t, acc); }

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
HWY_EXPORT(tile_f32);
HWY_EXPORT(tile_f64);
}  // namespace

void reduce_tile(ReduceOp op, const float* x, const Tile& t, double* acc) {
  HWY_DYNAMIC_DISPATCH(tile_f32)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const double* x, const Tile& t, double* acc) {
  HWY_DYNAMIC_DISPATCH(tile_f64)(op, x, t, acc);
}

}  // namespace veldt::cpu
#endif
