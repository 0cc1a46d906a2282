// The inner loops of the reductions, one for each memory layout of a tile.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/reduce_tile.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/reduce_tile.h"
#include "veldt/cpu/stage.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Floats are accumulated in double: at memory speed the conversion is free, and the mean of 10^7 floats is
// right to the last bit of a float. Integers in i64. T: the type read, Acc: the type of accumulation.
template <class Acc> using D = hn::ScalableTag<Acc>;
template <class Acc> using V = hn::Vec<D<Acc>>;

template <class Acc> HWY_INLINE V<Acc> load(const Acc* p) { return hn::LoadU(D<Acc>(), p); }
template <class Acc> HWY_INLINE V<Acc> load(const float* p) {
  return hn::PromoteTo(D<Acc>(), hn::LoadU(hn::Rebind<float, D<Acc>>(), p));
}
template <class Acc> HWY_INLINE V<Acc> load(const std::int32_t* p) {
  return hn::PromoteTo(D<Acc>(), hn::LoadU(hn::Rebind<std::int32_t, D<Acc>>(), p));
}
template <class Acc> HWY_INLINE V<Acc> load(const std::uint8_t* p) requires(sizeof(Acc) == 8) {
  const hn::Rebind<std::int32_t, D<Acc>> four;
  return hn::PromoteTo(D<Acc>(), hn::PromoteTo(four, hn::LoadU(hn::Rebind<std::uint8_t, D<Acc>>(), p)));
}
template <class Acc> HWY_INLINE V<Acc> load(const std::int8_t* p) requires(sizeof(Acc) == 8) {
  const hn::Rebind<std::int32_t, D<Acc>> four;
  return hn::PromoteTo(D<Acc>(), hn::PromoteTo(four, hn::LoadU(hn::Rebind<std::int8_t, D<Acc>>(), p)));
}
template <class Acc> HWY_INLINE V<Acc> load(const scalar::BFloat16* p) {
  const hn::Rebind<float, D<Acc>> f;
  const hn::RebindToUnsigned<decltype(f)> bits;
  const hn::Rebind<std::uint16_t, D<Acc>> halves;
  const auto wide = hn::PromoteTo(bits, hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(p)));
  return hn::PromoteTo(D<Acc>(), hn::BitCast(f, hn::ShiftLeft<16>(wide)));
}
// As scalar::load(Float16), for targets without an instruction that Highway also uses for infinities.
template <class Acc> HWY_INLINE V<Acc> load(const scalar::Float16* p) {
  const hn::Rebind<float, D<Acc>> f;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  const hn::Rebind<hwy::float16_t, D<Acc>> halves;
  return hn::PromoteTo(D<Acc>(),
                       hn::PromoteTo(f, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(p))));
#else
  const hn::RebindToUnsigned<decltype(f)> bits;
  const hn::Rebind<std::uint16_t, D<Acc>> halves;
  const auto wide = hn::PromoteTo(bits, hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(p)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(bits, 0x7fffu)));
  const auto finite = hn::BitCast(bits, hn::Mul(hn::BitCast(f, magnitude), hn::Set(f, 0x1p112f)));
  const auto rest = hn::Or(magnitude, hn::Set(bits, 0x7f800000u));
  const auto kept = hn::IfThenElse(hn::Gt(magnitude, hn::Set(bits, 0x0f7fffffu)), rest, finite);
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(bits, 0x8000u)));
  return hn::PromoteTo(D<Acc>(), hn::BitCast(f, hn::Or(kept, sign)));
#endif
}

// Unsigned, because a sum or product that overflows wraps.
template <class Acc>
using Wrapping = typename std::conditional_t<std::is_integral_v<Acc>, std::make_unsigned<Acc>,
                                             std::type_identity<Acc>>::type;

// of(): an element's contribution; join(): for registers and for numbers.
struct Plain {
  template <class X> static HWY_INLINE X of(X x) { return x; }
};
struct Sum : Plain {
  template <class Acc> static Acc start() { return 0; }
  template <class X> static HWY_INLINE X join(X a, X x) {
    if constexpr (std::is_arithmetic_v<X>)
      return static_cast<X>(static_cast<Wrapping<X>>(a) + static_cast<Wrapping<X>>(x));
    else
      return hn::Add(a, x);
  }
};
struct Product : Plain {
  template <class Acc> static Acc start() { return 1; }
  template <class X> static HWY_INLINE X join(X a, X x) {
    if constexpr (std::is_arithmetic_v<X>)
      return static_cast<X>(static_cast<Wrapping<X>>(a) * static_cast<Wrapping<X>>(x));
    else
      return hn::Mul(a, x);
  }
};
struct Squares : Sum {
  template <class X> static HWY_INLINE X of(X x) { return Product::join(x, x); }
};
// A NaN takes precedence: it is taken when it appears, and afterwards nothing compares greater.
struct Max : Plain {
  template <class Acc> static Acc start() {
    using Limits = std::numeric_limits<Acc>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <class X> static HWY_INLINE X join(X a, X x) {
    if constexpr (std::is_arithmetic_v<X>)
      return x > a || x != x ? x : a;
    else if constexpr (std::is_floating_point_v<hn::TFromV<X>>)
      return hn::IfThenElse(hn::Or(hn::Gt(x, a), hn::IsNaN(x)), x, a);
    else
      return hn::Max(a, x);
  }
};
struct Min : Plain {
  template <class Acc> static Acc start() {
    using Limits = std::numeric_limits<Acc>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <class X> static HWY_INLINE X join(X a, X x) {
    if constexpr (std::is_arithmetic_v<X>)
      return x < a || x != x ? x : a;
    else if constexpr (std::is_floating_point_v<hn::TFromV<X>>)
      return hn::IfThenElse(hn::Or(hn::Lt(x, a), hn::IsNaN(x)), x, a);
    else
      return hn::Min(a, x);
  }
};

template <class Op, class Acc, class T> HWY_INLINE V<Acc> loaded(const T* x) { return Op::of(load<Acc>(x)); }
template <class Op, class Acc, class T> HWY_INLINE Acc number(T x) {
  return Op::of(static_cast<Acc>(scalar::load(x)));
}

template <class Op, class T, class Acc> HWY_INLINE Acc row(const T* x, std::int64_t n, Acc acc) {
  const D<Acc> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  if (n >= 4 * lanes) {
    V<Acc> s0 = hn::Set(d, Op::template start<Acc>()), s1 = s0, s2 = s0, s3 = s0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      s0 = Op::join(s0, loaded<Op, Acc>(x + i));
      s1 = Op::join(s1, loaded<Op, Acc>(x + i + lanes));
      s2 = Op::join(s2, loaded<Op, Acc>(x + i + 2 * lanes));
      s3 = Op::join(s3, loaded<Op, Acc>(x + i + 3 * lanes));
    }
    HWY_ALIGN Acc each[hn::MaxLanes(d)];
    hn::Store(Op::join(Op::join(s0, s1), Op::join(s2, s3)), d, each);
    for (std::int64_t l = 0; l < lanes; ++l) acc = Op::join(acc, each[l]);
  }
  for (; i < n; ++i) acc = Op::join(acc, number<Op, Acc>(x[i]));
  return acc;
}

// `Wide` registers of accumulators, which a strip of columns keeps while it goes through the rows. Recursive,
// because g++ keeps an array in memory.
template <class Op, class Acc, int Wide> struct Strip {
  V<Acc> first;
  Strip<Op, Acc, Wide - 1> rest;

  HWY_INLINE explicit Strip(const Acc* from)
      : first(hn::LoadU(D<Acc>(), from)), rest(from + hn::Lanes(D<Acc>())) {}
  template <class T> HWY_INLINE void join(const T* x) {
    first = Op::join(first, loaded<Op, Acc>(x));
    rest.join(x + hn::Lanes(D<Acc>()));
  }
  HWY_INLINE void store(Acc* to) const {
    hn::StoreU(first, D<Acc>(), to);
    rest.store(to + hn::Lanes(D<Acc>()));
  }
};
template <class Op, class Acc> struct Strip<Op, Acc, 0> {
  HWY_INLINE explicit Strip(const Acc*) {}
  template <class T> HWY_INLINE void join(const T*) {}
  HWY_INLINE void store(Acc*) const {}
};

template <class Op, int Wide, class T, class Acc>
HWY_INLINE void strip(const T* x, std::int64_t rows, std::int64_t stride, Acc* acc) {
  Strip<Op, Acc, Wide> sums(acc);
  for (std::int64_t r = 0; r < rows; ++r) sums.join(x + r * stride);
  sums.store(acc);
}

// The additions into one column are in the order of the rows, in any strip. Not inlined: each of its four
// callers would contain all strips, which took half of this file's compile time.
template <class Op, class T, class Acc>
HWY_NOINLINE void columns(const T* x, std::int64_t cols, std::int64_t rows, std::int64_t stride, Acc* acc) {
  constexpr int kWide = HWY_TARGET <= HWY_AVX3 ? 16 : 8;  // half the registers
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(D<Acc>()));
  std::int64_t j = 0;
  for (; j + kWide * lanes <= cols; j += kWide * lanes) strip<Op, kWide>(x + j, rows, stride, acc + j);
  for (; j + kWide / 2 * lanes <= cols; j += kWide / 2 * lanes)
    strip<Op, kWide / 2>(x + j, rows, stride, acc + j);
  for (; j + kWide / 4 * lanes <= cols; j += kWide / 4 * lanes)
    strip<Op, kWide / 4>(x + j, rows, stride, acc + j);
  for (; j + lanes <= cols; j += lanes) strip<Op, 1>(x + j, rows, stride, acc + j);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = j; i < cols; ++i) acc[i] = Op::join(acc[i], number<Op, Acc>(x[r * stride + i]));
}

// [rows, cols] without gaps and with few columns is read as [rows / k, k cols], which fills the registers;
// the k groups of columns are folded at the end.
template <class Op, class T, class Acc>
void narrow_columns(const T* x, std::int64_t cols, std::int64_t rows, Acc* acc) {
  constexpr std::int64_t kWide = 128;
  const std::int64_t k = kWide / cols, wide = k * cols, wide_rows = rows / k;
  Acc sums[kWide];
  for (std::int64_t j = 0; j < wide; ++j) sums[j] = Op::template start<Acc>();
  columns<Op>(x, wide, wide_rows, wide, sums);
  for (std::int64_t j = 0; j < wide; ++j) acc[j % cols] = Op::join(acc[j % cols], sums[j]);
  columns<Op>(x + wide_rows * wide, cols, rows - wide_rows * k, cols, acc);
}

// Elements with gaps, gathered a piece at a time: of each row, or of the columns of each row; or one by one
// if these are short.
template <class Op, class T, class Acc> void gathered(const T* x, const ReduceTile& t, Acc* acc) {
  constexpr std::int64_t kPiece = 4096 / sizeof(T), kShort = 16;
  const auto move = cpu::stage().move[cpu::stage_index(sizeof(T))];
  const bool by_rows = std::abs(t.reduced_stride) < std::abs(t.kept_stride) || t.kept == 1;
  if ((by_rows ? t.reduced : t.kept) < kShort) {
    for (std::int64_t l = 0; l < t.reduced; ++l)
      for (std::int64_t j = 0; j < t.kept; ++j)
        acc[j] = Op::join(acc[j], number<Op, Acc>(x[j * t.kept_stride + l * t.reduced_stride]));
    return;
  }
  alignas(64) T piece[kPiece];
  if (by_rows) {
    for (std::int64_t j = 0; j < t.kept; ++j)
      for (std::int64_t l = 0; l < t.reduced; l += kPiece) {
        const std::int64_t n = std::min(kPiece, t.reduced - l);
        move(x + j * t.kept_stride + l * t.reduced_stride, t.reduced_stride, piece, 1, n);
        acc[j] = row<Op>(piece, n, acc[j]);
      }
    return;
  }
  const std::int64_t rows = std::max<std::int64_t>(1, kPiece / t.kept), wide = std::min(t.kept, kPiece);
  for (std::int64_t l = 0; l < t.reduced; l += rows)
    for (std::int64_t j = 0; j < t.kept; j += wide) {
      const std::int64_t height = std::min(rows, t.reduced - l), width = std::min(wide, t.kept - j);
      for (std::int64_t r = 0; r < height; ++r)
        move(x + j * t.kept_stride + (l + r) * t.reduced_stride, t.kept_stride, piece + r * width, 1, width);
      columns<Op>(piece, width, height, width, acc + j);
    }
}

template <class Op, class T, class Acc> void tile(const T* x, const ReduceTile& t, Acc* acc) {
  if (t.reduced_stride == 1) {
    for (std::int64_t j = 0; j < t.kept; ++j) acc[j] = row<Op>(x + j * t.kept_stride, t.reduced, acc[j]);
  } else if (t.kept_stride == 1 && t.kept < 64 && t.reduced_stride == t.kept) {
    narrow_columns<Op>(x, t.kept, t.reduced, acc);
  } else if (t.kept_stride == 1) {
    columns<Op>(x, t.kept, t.reduced, t.reduced_stride, acc);
  } else {
    gathered<Op>(x, t, acc);
  }
}

template <class T, class Acc> void tile_of(ReduceOp op, const T* x, const ReduceTile& t, Acc* acc) {
  if (op == ReduceOp::max) return tile<Max>(x, t, acc);
  if (op == ReduceOp::min) return tile<Min>(x, t, acc);
  if constexpr (sizeof(Acc) == 8) {
    if (op == ReduceOp::prod) return tile<Product>(x, t, acc);
    if constexpr (std::is_floating_point_v<Acc>)
      if (op == ReduceOp::norm) return tile<Squares>(x, t, acc);
    tile<Sum>(x, t, acc);
  }
}
void tile_f32(ReduceOp op, const float* x, const ReduceTile& t, double* acc) { tile_of(op, x, t, acc); }
void tile_f64(ReduceOp op, const double* x, const ReduceTile& t, double* acc) { tile_of(op, x, t, acc); }
void tile_bf16(ReduceOp op, const scalar::BFloat16* x, const ReduceTile& t, double* acc) {
  tile_of(op, x, t, acc);
}
void tile_f16(ReduceOp op, const scalar::Float16* x, const ReduceTile& t, double* acc) {
  tile_of(op, x, t, acc);
}
void tile_i64(ReduceOp op, const std::int64_t* x, const ReduceTile& t, std::int64_t* acc) {
  tile_of(op, x, t, acc);
}
void tile_i32(ReduceOp op, const std::int32_t* x, const ReduceTile& t, std::int64_t* acc) {
  tile_of(op, x, t, acc);
}
void tile_u8(ReduceOp op, const std::uint8_t* x, const ReduceTile& t, std::int64_t* acc) {
  tile_of(op, x, t, acc);
}
void tile_i8(ReduceOp op, const std::int8_t* x, const ReduceTile& t, std::int64_t* acc) {
  tile_of(op, x, t, acc);
}
void extremes_u8(ReduceOp op, const std::uint8_t* x, const ReduceTile& t, std::uint8_t* acc) {
  tile_of(op, x, t, acc);
}
void extremes_i8(ReduceOp op, const std::int8_t* x, const ReduceTile& t, std::int8_t* acc) {
  tile_of(op, x, t, acc);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(tile_f32);
VELDT_EXPORT(tile_f64);
VELDT_EXPORT(tile_bf16);
VELDT_EXPORT(tile_f16);
VELDT_EXPORT(tile_i64);
VELDT_EXPORT(tile_i32);
VELDT_EXPORT(tile_u8);
VELDT_EXPORT(extremes_u8);
VELDT_EXPORT(tile_i8);
VELDT_EXPORT(extremes_i8);
}  // namespace

void reduce_tile(ReduceOp op, const float* x, const ReduceTile& t, double* acc) {
  VELDT_DISPATCH(tile_f32)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const double* x, const ReduceTile& t, double* acc) {
  VELDT_DISPATCH(tile_f64)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const scalar::BFloat16* x, const ReduceTile& t, double* acc) {
  VELDT_DISPATCH(tile_bf16)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const scalar::Float16* x, const ReduceTile& t, double* acc) {
  VELDT_DISPATCH(tile_f16)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const std::int64_t* x, const ReduceTile& t, std::int64_t* acc) {
  VELDT_DISPATCH(tile_i64)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const std::int32_t* x, const ReduceTile& t, std::int64_t* acc) {
  VELDT_DISPATCH(tile_i32)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const std::uint8_t* x, const ReduceTile& t, std::int64_t* acc) {
  VELDT_DISPATCH(tile_u8)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const std::uint8_t* x, const ReduceTile& t, std::uint8_t* acc) {
  VELDT_DISPATCH(extremes_u8)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const std::int8_t* x, const ReduceTile& t, std::int64_t* acc) {
  VELDT_DISPATCH(tile_i8)(op, x, t, acc);
}
void reduce_tile(ReduceOp op, const std::int8_t* x, const ReduceTile& t, std::int8_t* acc) {
  VELDT_DISPATCH(extremes_i8)(op, x, t, acc);
}

}  // namespace veldt::cpu
#endif
