// Softmax and its logarithm along one dimension, in three passes over lines while they are in the cache, and
// their gradients in two: one line, or a panel of lines that are neighbours in memory. Both add in the same
// order, so a result does not depend on the line's layout.
#include <cmath>
#include <cstdint>

#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/stage.h"
#include "veldt/kernels/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/softmax.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/kernels/math-inl.h"

#ifndef VELDT_CPU_SOFTMAX_KERNELS
#define VELDT_CPU_SOFTMAX_KERNELS
namespace veldt::cpu {
constexpr std::int64_t kPanel = 64;  // lines: four cache lines of floats
constexpr std::int64_t kSums = 16;   // sums of a line's exponentials, in double: as many as fill registers

template <class T> struct SoftmaxKernels {
  // A line of n neighbours.
  void (*line)(bool log, const T* x, T* y, std::int64_t n);
  // `width` adjacent lines, at most kPanel, of n elements each, which are `from` and `to` apart.
  void (*panel)(bool log, const T* x, std::int64_t from, T* y, std::int64_t to, std::int64_t width,
                std::int64_t n);
  // The gradients dx for a result y and a gradient g of it.
  void (*slope_line)(bool log, const T* y, const T* g, T* dx, std::int64_t n);
  void (*slope_panel)(bool log, const T* y, std::int64_t y_apart, const T* g, std::int64_t g_apart, T* dx,
                      std::int64_t dx_apart, std::int64_t width, std::int64_t n);
};
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {
using cpu::kPanel, cpu::kSums;

// A NaN takes precedence.
template <class T> HWY_INLINE Lanes<T> larger(Lanes<T> a, Lanes<T> b) {
  return hn::IfThenElse(hn::Or(hn::Gt(b.v, a.v), hn::IsNaN(b.v)), b.v, a.v);
}
template <class T> T largest(const T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Lanes<T> most = hn::Neg(hn::Inf(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) most = larger(most, Lanes<T>(hn::LoadU(d, x + i)));
  HWY_ALIGN T each[hn::MaxLanes(d)];
  hn::Store(most.v, d, each);
  T all = each[0];
  for (std::int64_t k = 1; k < lanes; ++k) all = each[k] > all || each[k] != each[k] ? each[k] : all;
  for (; i < n; ++i) all = x[i] > all || x[i] != x[i] ? x[i] : all;
  return all;
}

// to[i] = of(lanes of from, i), a register at a time; the tail takes the same path, so a value never depends
// on its position.
template <class T, class Of> HWY_INLINE void each_lanes(const T* from, T* to, std::int64_t n, const Of& of) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(of(Lanes<T>(hn::LoadU(d, from + i)), i).v, d, to + i);
  if (i < n) {
    const auto rest = static_cast<std::size_t>(n - i);
    of(Lanes<T>::load_part(from + i, rest), i).store_part(to + i, rest);
  }
}

// The sum of of(i) over 0..n.
template <class Of> HWY_INLINE double sum_of(std::int64_t n, const Of& of) {
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (std::int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(of(i + k));
  for (; i < n; ++i) sums[0] += static_cast<double>(of(i));
  for (std::int64_t half = kSums / 2; half > 0; half /= 2)
    for (std::int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

// The same of two rows.
template <class T, class Of>
HWY_INLINE void each_lanes(const T* a, const T* b, T* to, std::int64_t n, const Of& of) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(of(Lanes<T>(hn::LoadU(d, a + i)), Lanes<T>(hn::LoadU(d, b + i)), i).v, d, to + i);
  if (i < n) {
    const auto rest = static_cast<std::size_t>(n - i);
    of(Lanes<T>::load_part(a + i, rest), Lanes<T>::load_part(b + i, rest), i).store_part(to + i, rest);
  }
}

template <class T> void line(bool log, const T* x, T* y, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const Lanes<T> most(hn::Set(d, largest(x, n)));
  each_lanes(x, y, n, [&](Lanes<T> v, std::int64_t) { return exp(v - most); });
  const double sum = sum_of(n, [&](std::int64_t i) { return y[i]; });
  if (log) {
    const Lanes<T> shift(hn::Set(d, static_cast<T>(std::log(sum))));
    each_lanes(x, y, n, [&](Lanes<T> v, std::int64_t) { return v - most - shift; });
  } else {
    const Lanes<T> total(hn::Set(d, static_cast<T>(sum)));
    each_lanes(y, y, n, [&](Lanes<T> v, std::int64_t) { return v / total; });
  }
}

// The gradient of softmax is y (g - sum of (y g)), that of its logarithm g - e^y sum of g.
template <class T> void slope_line(bool log, const T* y, const T* g, T* dx, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto total = [&](double sum) { return Lanes<T>(hn::Set(d, static_cast<T>(sum))); };
  if (log) {
    const Lanes<T> all = total(sum_of(n, [&](std::int64_t i) { return g[i]; }));
    each_lanes(y, g, dx, n, [&](Lanes<T> v, Lanes<T> by, std::int64_t) { return by - exp(v) * all; });
  } else {
    const Lanes<T> all = total(sum_of(n, [&](std::int64_t i) { return y[i] * g[i]; }));
    each_lanes(y, g, dx, n, [&](Lanes<T> v, Lanes<T> by, std::int64_t) { return v * (by - all); });
  }
}

template <class T>
HWY_INLINE void add_row(const T* __restrict y, double* __restrict sums, std::int64_t width) {
  for (std::int64_t j = 0; j < width; ++j) sums[j] += static_cast<double>(y[j]);
}
template <class T>
HWY_INLINE void add_products(const T* __restrict y, const T* __restrict g, double* __restrict sums,
                             std::int64_t width) {
  for (std::int64_t j = 0; j < width; ++j) sums[j] += static_cast<double>(y[j] * g[j]);
}

// Which of a line's sums takes element i of n.
HWY_INLINE std::int64_t sum_for(std::int64_t i, std::int64_t n) {
  return i < n / kSums * kSums ? i % kSums : 0;
}

HWY_INLINE void fold(double (&sums)[kSums][kPanel], std::int64_t width) {
  for (std::int64_t half = kSums / 2; half > 0; half /= 2)
    for (std::int64_t k = 0; k < half; ++k)
      for (std::int64_t j = 0; j < width; ++j) sums[k][j] += sums[k + half][j];
}

template <class T>
void panel(bool log, const T* x, std::int64_t from, T* y, std::int64_t to, std::int64_t width,
           std::int64_t n) {
  const hn::ScalableTag<T> d;
  // Whole registers are read of these, whatever the width.
  HWY_ALIGN T most[kPanel + hn::MaxLanes(d)] = {}, last[kPanel + hn::MaxLanes(d)] = {};
  HWY_ALIGN double sums[kSums][kPanel] = {};
  const auto at = [&](const T* row, std::int64_t j) { return Lanes<T>(hn::LoadU(d, row + j)); };
  for (std::int64_t j = 0; j < width; ++j) most[j] = -HUGE_VALF;
  for (std::int64_t i = 0; i < n; ++i)
    each_lanes(x + i * from, most, width, [&](Lanes<T> v, std::int64_t j) { return larger(at(most, j), v); });
  for (std::int64_t i = 0; i < n; ++i) {
    T* const row = y + i * to;
    each_lanes(x + i * from, row, width, [&](Lanes<T> v, std::int64_t j) { return exp(v - at(most, j)); });
    add_row(row, sums[sum_for(i, n)], width);
  }
  fold(sums, width);
  for (std::int64_t j = 0; j < width; ++j) last[j] = static_cast<T>(log ? std::log(sums[0][j]) : sums[0][j]);
  for (std::int64_t i = 0; i < n; ++i) {
    T* const row = y + i * to;
    if (log)
      each_lanes(x + i * from, row, width,
                 [&](Lanes<T> v, std::int64_t j) { return v - at(most, j) - at(last, j); });
    else
      each_lanes(row, row, width, [&](Lanes<T> v, std::int64_t j) { return v / at(last, j); });
  }
}

template <class T>
void slope_panel(bool log, const T* y, std::int64_t y_apart, const T* g, std::int64_t g_apart, T* dx,
                 std::int64_t dx_apart, std::int64_t width, std::int64_t n) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T all[kPanel + hn::MaxLanes(d)] = {};  // whole registers are read of it, whatever the width
  HWY_ALIGN double sums[kSums][kPanel] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    if (log)
      add_row(g + i * g_apart, sums[sum_for(i, n)], width);
    else
      add_products(y + i * y_apart, g + i * g_apart, sums[sum_for(i, n)], width);
  }
  fold(sums, width);
  for (std::int64_t j = 0; j < width; ++j) all[j] = static_cast<T>(sums[0][j]);
  const auto at = [&](std::int64_t j) { return Lanes<T>(hn::LoadU(d, all + j)); };
  for (std::int64_t i = 0; i < n; ++i) {
    const T *const y_row = y + i * y_apart, *const g_row = g + i * g_apart;
    if (log)
      each_lanes(y_row, g_row, dx + i * dx_apart, width,
                 [&](Lanes<T> v, Lanes<T> by, std::int64_t j) { return by - exp(v) * at(j); });
    else
      each_lanes(y_row, g_row, dx + i * dx_apart, width,
                 [&](Lanes<T> v, Lanes<T> by, std::int64_t j) { return v * (by - at(j)); });
  }
}

template <class T> cpu::SoftmaxKernels<T> kernels() {
  return {&line<T>, &panel<T>, &slope_line<T>, &slope_panel<T>};
}
cpu::SoftmaxKernels<float> kernels_f32() { return kernels<float>(); }
cpu::SoftmaxKernels<double> kernels_f64() { return kernels<double>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(kernels_f32);
VELDT_EXPORT(kernels_f64);
}  // namespace
namespace cpu {
namespace {

template <class F> SoftmaxKernels<F> kernels_of() {
  if constexpr (sizeof(F) == 4)
    return VELDT_DISPATCH(kernels_f32)();
  else
    return VELDT_DISPATCH(kernels_f64)();
}

// T: the stored type, F: the type of computation, Y: the result's stored type.
template <class T, class F, class Y = T> struct Softmax {
  bool log;
  SoftmaxKernels<F> kernels = kernels_of<F>();
  // From neighbours to neighbours.
  void (*widen)(const void* from, void* to, std::int64_t n) = nullptr;
  void (*narrow)(const void* from, void* to, std::int64_t n) = nullptr;

  void read(const T* x, std::int64_t apart, F* to, std::int64_t n) const {
    if (widen && apart == 1) return widen(x, to, n);
    for (std::int64_t i = 0; i < n; ++i) to[i] = scalar::load(x[i * apart]);
  }
  template <class To> void write(const F* from, To* y, std::int64_t apart, std::int64_t n) const {
    if (narrow && apart == 1 && !std::is_same_v<To, F>) return narrow(from, y, n);
    for (std::int64_t i = 0; i < n; ++i) y[i * apart] = scalar::store<To>(from[i]);
  }

  void line(const T* x, std::int64_t from, Y* y, std::int64_t to, std::int64_t n) const {
    if constexpr (std::is_same_v<T, F>)
      if (from == 1 && to == 1) return kernels.line(log, x, y, n);
    thread_local Room<F> room;
    F *const in = room.of(2 * n, "softmax"), *out = in + n;
    if constexpr (std::is_same_v<Y, F>)
      if (to == 1) out = y;
    read(x, from, in, n);
    kernels.line(log, in, out, n);
    if (out == in + n) write(out, y, to, n);
    room.trim();
  }

  void slope_line(const T* y, std::int64_t y_apart, const T* g, std::int64_t g_apart, T* dx,
                  std::int64_t dx_apart, std::int64_t n) const {
    if constexpr (std::is_same_v<T, F>)
      if (y_apart == 1 && g_apart == 1 && dx_apart == 1) return kernels.slope_line(log, y, g, dx, n);
    thread_local Room<F> room;
    F *const value = room.of(3 * n, "softmax"), *const by = value + n, *const out = by + n;
    read(y, y_apart, value, n);
    read(g, g_apart, by, n);
    kernels.slope_line(log, value, by, out, n);
    write(out, dx, dx_apart, n);
    room.trim();
  }

  void panel(const T* x, std::int64_t from, Y* y, std::int64_t to, std::int64_t width, std::int64_t n) const {
    if constexpr (std::is_same_v<T, F>) {
      kernels.panel(log, x, from, y, to, width, n);
    } else {
      thread_local Room<F> room;
      F *const in = room.of(2 * n * width, "softmax"), *const out = in + n * width;
      for (std::int64_t i = 0; i < n; ++i) widen(x + i * from, in + i * width, width);
      if constexpr (std::is_same_v<Y, F>) return kernels.panel(log, in, width, y, to, width, n);
      kernels.panel(log, in, width, out, width, width, n);
      for (std::int64_t i = 0; i < n; ++i) narrow(out + i * width, y + i * to, width);
    }
  }

  void slope_panel(const T* y, std::int64_t y_apart, const T* g, std::int64_t g_apart, T* dx,
                   std::int64_t dx_apart, std::int64_t width, std::int64_t n) const {
    if constexpr (std::is_same_v<T, F>) {
      kernels.slope_panel(log, y, y_apart, g, g_apart, dx, dx_apart, width, n);
    } else {
      thread_local Room<F> room;
      F *const value = room.of(3 * n * width, "softmax"), *const by = value + n * width,
               *const out = by + n * width;
      for (std::int64_t i = 0; i < n; ++i) {
        widen(y + i * y_apart, value + i * width, width);
        widen(g + i * g_apart, by + i * width, width);
      }
      kernels.slope_panel(log, value, width, by, width, out, width, width, n);
      for (std::int64_t i = 0; i < n; ++i) narrow(out + i * width, dx + i * dx_apart, width);
    }
  }

  void run(const View& x, int dim, const View& out) const {
    const std::int64_t n = x.shape[dim], from = x.strides[dim], to = out.strides[dim];
    for_each_bundle<2>({&x, &out}, dim, [&](const Bundle<2>& lines) {
      const T* source = x.as<const T>() + lines.at[0];
      Y* target = out.as<Y>() + lines.at[1];
      for (std::int64_t l = 0; l < lines.count; lines.dense ? l += kPanel : ++l) {
        if (lines.dense)
          panel(source + l, from, target + l, to, std::min(kPanel, lines.count - l), n);
        else
          line(source + l * lines.apart[0], from, target + l * lines.apart[1], to, n);
      }
    });
  }

  void run_slope(const View& y, const View& g, int dim, const View& dx) const {
    const std::int64_t n = y.shape[dim];
    const std::int64_t along[3] = {y.strides[dim], g.strides[dim], dx.strides[dim]};
    for_each_bundle<3>({&y, &g, &dx}, dim, [&](const Bundle<3>& lines) {
      for (std::int64_t l = 0; l < lines.count; lines.dense ? l += kPanel : ++l) {
        const T *const value = y.as<const T>() + lines.at[0] + l * lines.apart[0], *const by =
                                                                                       g.as<const T>() +
                                                                                       lines.at[1] +
                                                                                       l * lines.apart[1];
        T* const out = dx.as<T>() + lines.at[2] + l * lines.apart[2];
        if (lines.dense)
          slope_panel(value, along[0], by, along[1], out, along[2], std::min(kPanel, lines.count - l), n);
        else
          slope_line(value, along[0], by, along[1], out, along[2], n);
      }
    });
  }
};

template <class T, class Y, class Run>
void of_halves(bool log, Stage::Convert widen, Stage::Convert narrow, const Run& run) {
  run(Softmax<T, float, Y>{log, kernels_of<float>(), widen, narrow});
}

// Calls run(kernels for the dtypes of what is read and of the result).
template <class Run> void of_dtype(bool log, DType dtype, DType result, const Run& run) {
  using scalar::BFloat16, scalar::Float16;
  const Stage& s = stage();
  const bool wide = result == DType::f32;
  if (dtype == DType::f32) return run(Softmax<float, float>{log});
  if (dtype == DType::f64) return run(Softmax<double, double>{log});
  if (dtype == DType::bf16)
    return (wide ? of_halves<BFloat16, float, Run> : of_halves<BFloat16, BFloat16, Run>)(log, s.widen_bf16,
                                                                                         s.narrow_bf16, run);
  (wide ? of_halves<Float16, float, Run> : of_halves<Float16, Float16, Run>)(log, s.widen_f16, s.narrow_f16,
                                                                             run);
}

}  // namespace

void softmax(bool log, const View& x, int dim, const View& out) {
  if (numel(out.shape) > 0) of_dtype(log, x.dtype, out.dtype, [&](const auto& of) { of.run(x, dim, out); });
}

void softmax_slope(bool log, const View& y, const View& g, int dim, const View& dx) {
  if (numel(dx.shape) > 0)
    of_dtype(log, y.dtype, y.dtype, [&](const auto& of) { of.run_slope(y, g, dim, dx); });
}

}  // namespace cpu
}  // namespace veldt
#endif
