// Layer norms: each line is read while the cache holds it, once for the mean, once for the variance and once
// for the result; and the same for its gradients.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/norm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hwy/highway.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::int64_t kSpan = 1024;  // elements that are added in T; spans are added in double

// The sum of of(i) over 0..n, whatever the register width that of() is asked for.
template <class T, class Of> HWY_INLINE double sum_of(std::int64_t n, const Of& of) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  double total = 0;
  for (std::int64_t first = 0; first < n; first += kSpan) {
    const std::int64_t end = std::min(n, first + kSpan);
    auto a = hn::Zero(d), b = hn::Zero(d);
    std::int64_t i = first;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      a = hn::Add(a, of(d, i));
      b = hn::Add(b, of(d, i + lanes));
    }
    T rest = 0;
    for (; i < end; ++i) rest += hn::GetLane(of(one, i));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)))) + static_cast<double>(rest);
  }
  return total;
}

// Calls each(tag, i) for 0..n, a register at a time and one by one at the end.
template <class T, class Each> HWY_INLINE void for_each(std::int64_t n, const Each& each) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) each(d, i);
  for (; i < n; ++i) each(hn::CappedTag<T, 1>(), i);
}

// weight and bias may be null.
template <class T>
void norm_line(bool centred, double eps, const T* x, const T* weight, const T* bias, std::int64_t n,
               T* moments, T* y) {
  const double mean = centred ? sum_of<T>(n, [&](auto d, std::int64_t i) { return hn::LoadU(d, x + i); }) /
                                    static_cast<double>(n)
                              : 0;
  const T by = static_cast<T>(mean);
  const double squares = sum_of<T>(n, [&](auto d, std::int64_t i) {
    const auto off = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by));
    return hn::Mul(off, off);
  });
  const T scale = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + eps));
  moments[0] = by;
  moments[1] = scale;
  for_each<T>(n, [&](auto d, std::int64_t i) {
    auto v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by)), hn::Set(d, scale));
    if (weight) v = hn::Mul(v, hn::LoadU(d, weight + i));
    if (bias) v = hn::Add(v, hn::LoadU(d, bias + i));
    hn::StoreU(v, d, y + i);
  });
}

// With u = (x - mean) scale and h = g weight: dx = scale (h - mean of h - u mean of (h u)). Adds g u to
// dweight and g to dbias, if they are not null.
template <class T>
void slope_line(bool centred, const T* x, const T* weight, const T* moments, const T* g, std::int64_t n,
                T* dx, T* dweight, T* dbias) {
  const T by = moments[0], scale = moments[1];
  const auto unit = [&](auto d, std::int64_t i) {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by)), hn::Set(d, scale));
  };
  const auto weighted = [&](auto d, std::int64_t i) {
    const auto v = hn::LoadU(d, g + i);
    return weight ? hn::Mul(v, hn::LoadU(d, weight + i)) : v;
  };
  const double count = static_cast<double>(n);
  const T mean = centred ? static_cast<T>(sum_of<T>(n, weighted) / count) : T(0);
  const T along = static_cast<T>(
      sum_of<T>(n, [&](auto d, std::int64_t i) { return hn::Mul(weighted(d, i), unit(d, i)); }) / count);
  for_each<T>(n, [&](auto d, std::int64_t i) {
    const auto u = unit(d, i), v = hn::LoadU(d, g + i);
    const auto rest = hn::Sub(hn::Sub(weighted(d, i), hn::Set(d, mean)), hn::Mul(u, hn::Set(d, along)));
    hn::StoreU(hn::Mul(rest, hn::Set(d, scale)), d, dx + i);
    if (dweight) hn::StoreU(hn::Add(hn::LoadU(d, dweight + i), hn::Mul(v, u)), d, dweight + i);
    if (dbias) hn::StoreU(hn::Add(hn::LoadU(d, dbias + i), v), d, dbias + i);
  });
}

void norm_line_f32(bool centred, double eps, const float* x, const float* weight, const float* bias,
                   std::int64_t n, float* moments, float* y) {
  norm_line(centred, eps, x, weight, bias, n, moments, y);
}
void norm_line_f64(bool centred, double eps, const double* x, const double* weight, const double* bias,
                   std::int64_t n, double* moments, double* y) {
  norm_line(centred, eps, x, weight, bias, n, moments, y);
}
void slope_line_f32(bool centred, const float* x, const float* weight, const float* moments, const float* g,
                    std::int64_t n, float* dx, float* dweight, float* dbias) {
  slope_line(centred, x, weight, moments, g, n, dx, dweight, dbias);
}
void slope_line_f64(bool centred, const double* x, const double* weight, const double* moments,
                    const double* g, std::int64_t n, double* dx, double* dweight, double* dbias) {
  slope_line(centred, x, weight, moments, g, n, dx, dweight, dbias);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
HWY_EXPORT(norm_line_f32);
HWY_EXPORT(norm_line_f64);
HWY_EXPORT(slope_line_f32);
HWY_EXPORT(slope_line_f64);

constexpr std::int64_t kGrain = 1 << 13;  // elements a task

auto norm_line_of(float) { return HWY_DYNAMIC_DISPATCH(norm_line_f32); }
auto norm_line_of(double) { return HWY_DYNAMIC_DISPATCH(norm_line_f64); }
auto slope_line_of(float) { return HWY_DYNAMIC_DISPATCH(slope_line_f32); }
auto slope_line_of(double) { return HWY_DYNAMIC_DISPATCH(slope_line_f64); }

template <class T> T* data_or_null(const View* v) { return v ? v->as<T>() : nullptr; }

template <class T>
void run(bool centred, double eps, const View& x, const View* weight, const View* bias, const View& moments,
         const View& y) {
  const std::int64_t lines = x.shape[0], n = x.shape[1];
  const auto line = norm_line_of(T());
  parallel_for(lines, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      line(centred, eps, x.as<const T>() + i * n, data_or_null<const T>(weight), data_or_null<const T>(bias),
           n, moments.as<T>() + 2 * i, y.as<T>() + i * n);
  });
}

template <class T>
void run_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
               const View& dx, const View* dweight, const View* dbias) {
  const std::int64_t lines = x.shape[0], n = x.shape[1];
  const auto line = slope_line_of(T());
  // Each task adds up the parameters' gradients of its lines.
  const std::int64_t grain = std::clamp<std::int64_t>(kGrain / n, 16, 64);
  const std::int64_t tasks = (lines + grain - 1) / grain;
  thread_local std::vector<T> room;
  room.assign(static_cast<std::size_t>(dweight || dbias ? 2 * tasks * n : 0), T(0));
  T* const parts = room.data();
  parallel_for(lines, grain, [&](std::int64_t begin, std::int64_t end) {
    T* const own = parts + begin / grain * 2 * n;
    for (std::int64_t i = begin; i < end; ++i)
      line(centred, x.as<const T>() + i * n, data_or_null<const T>(weight), moments.as<const T>() + 2 * i,
           g.as<const T>() + i * n, n, dx.as<T>() + i * n, dweight ? own : nullptr,
           dbias ? own + n : nullptr);
  });
  int which = 0;
  for (const View* total : {dweight, dbias}) {
    const T* const first = parts + n * which++;
    if (total)
      parallel_for(n, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          double sum = 0;
          for (std::int64_t t = 0; t < tasks; ++t) sum += static_cast<double>(first[t * 2 * n + i]);
          total->as<T>()[i] = static_cast<T>(sum);
        }
      });
  }
}

[[noreturn]] void refuse(DType dtype) {
  throw DeviceError(str("the cpu has no layer norm of ", dtype), "it has kernels for f32 and f64",
                    "convert the tensor to f32 first");
}

}  // namespace

void layer_norm(bool centred, double eps, const View& x, const View* weight, const View* bias,
                const View& moments, const View& y, Stream) {
  if (numel(x.shape) == 0) return;
  if (x.dtype == DType::f32) return run<float>(centred, eps, x, weight, bias, moments, y);
  if (x.dtype == DType::f64) return run<double>(centred, eps, x, weight, bias, moments, y);
  refuse(x.dtype);
}

void layer_norm_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
                      const View& dx, const View* dweight, const View* dbias, Stream stream) {
  if (numel(x.shape) == 0) {
    for (const View* total : {dweight, dbias})
      if (total) fill(*total, 0, stream);
    return;
  }
  if (x.dtype == DType::f32) return run_slope<float>(centred, x, weight, moments, g, dx, dweight, dbias);
  if (x.dtype == DType::f64) return run_slope<double>(centred, x, weight, moments, g, dx, dweight, dbias);
  refuse(x.dtype);
}

}  // namespace veldt::cpu
#endif
