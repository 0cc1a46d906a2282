// Norms of lines: each is read while the cache holds it, once for the mean, once for the variance and once
// for the result; and the same for its gradients.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/norm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/stage.h"

#ifndef VELDT_CPU_NORM_LINE
#define VELDT_CPU_NORM_LINE
namespace veldt::cpu {
namespace {

// A line of n, and its factors and shifts: a number for each `run` neighbours, or null.
template <class T> struct NormLine {
  bool centred;
  double eps;
  std::int64_t n, run;
  const T *weight, *bias;
};

}  // namespace
}  // namespace veldt::cpu
#endif

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

template <class T> void norm_line(const NormLine<T>& line, const T* x, T* moments, T* y) {
  const std::int64_t n = line.n;
  const double mean =
      line.centred
          ? sum_of<T>(n, [&](auto d, std::int64_t i) { return hn::LoadU(d, x + i); }) / static_cast<double>(n)
          : 0;
  const T by = static_cast<T>(mean);
  const double squares = sum_of<T>(n, [&](auto d, std::int64_t i) {
    const auto off = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by));
    return hn::Mul(off, off);
  });
  const T scale = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + line.eps));
  moments[0] = by;
  moments[1] = scale;
  const auto unit = [&](auto d, std::int64_t i) {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by)), hn::Set(d, scale));
  };
  const auto write = [&](std::int64_t first, std::int64_t count, const auto& weight, const auto& bias) {
    for_each<T>(count, [&](auto d, std::int64_t i) {
      auto v = unit(d, first + i);
      if (line.weight) v = hn::Mul(v, weight(d, i));
      if (line.bias) v = hn::Add(v, bias(d, i));
      hn::StoreU(v, d, y + first + i);
    });
  };
  if (line.run == 1)
    return write(
        0, n, [&](auto d, std::int64_t i) { return hn::LoadU(d, line.weight + i); },
        [&](auto d, std::int64_t i) { return hn::LoadU(d, line.bias + i); });
  for (std::int64_t c = 0; c < n / line.run; ++c)
    write(
        c * line.run, line.run, [&](auto d, std::int64_t) { return hn::Set(d, line.weight[c]); },
        [&](auto d, std::int64_t) { return hn::Set(d, line.bias[c]); });
}

// With u = (x - mean) scale and h = g weight: dx = scale (h - mean of h - u mean of (h u)). Adds g u to
// dweight and g to dbias, if they are not null.
template <class T>
void slope_line(const NormLine<T>& line, const T* x, const T* moments, const T* g, T* dx, T* dweight,
                T* dbias) {
  const T by = moments[0], scale = moments[1], *const weights = line.weight;
  const std::int64_t n = line.n;
  const auto unit = [&](auto d, std::int64_t i) {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by)), hn::Set(d, scale));
  };
  const auto weighted = [&](auto d, std::int64_t i) {
    const auto v = hn::LoadU(d, g + i);
    return weights ? hn::Mul(v, hn::LoadU(d, weights + i)) : v;
  };
  const double count = static_cast<double>(n);
  const T mean = line.centred ? static_cast<T>(sum_of<T>(n, weighted) / count) : T(0);
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

// The same where each weight is for a run of neighbours: the sums over runs are the parameters' gradients.
template <class T>
void slope_runs(const NormLine<T>& line, const T* x, const T* moments, const T* g, T* dx, T* dweight,
                T* dbias) {
  const T by = moments[0], scale = moments[1];
  const auto unit = [&](auto d, std::int64_t i) {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, by)), hn::Set(d, scale));
  };
  const std::int64_t run = line.run;
  const auto weight = [&](std::int64_t first) { return line.weight ? line.weight[first / run] : T(1); };
  double sum = 0, sum_along = 0;
  for (std::int64_t first = 0; first < line.n; first += run) {
    const double of_g = sum_of<T>(run, [&](auto d, std::int64_t i) { return hn::LoadU(d, g + first + i); });
    const double of_gu = sum_of<T>(run, [&](auto d, std::int64_t i) {
      return hn::Mul(hn::LoadU(d, g + first + i), unit(d, first + i));
    });
    sum += static_cast<double>(weight(first)) * of_g;
    sum_along += static_cast<double>(weight(first)) * of_gu;
    if (dweight) dweight[first / run] += static_cast<T>(of_gu);
    if (dbias) dbias[first / run] += static_cast<T>(of_g);
  }
  const double count = static_cast<double>(line.n);
  const T mean = line.centred ? static_cast<T>(sum / count) : T(0), along = static_cast<T>(sum_along / count);
  for (std::int64_t first = 0; first < line.n; first += run) {
    const T by_weight = weight(first);
    for_each<T>(run, [&](auto d, std::int64_t i) {
      const auto h = hn::Mul(hn::LoadU(d, g + first + i), hn::Set(d, by_weight));
      const auto rest = hn::Sub(hn::Sub(h, hn::Set(d, mean)), hn::Mul(unit(d, first + i), hn::Set(d, along)));
      hn::StoreU(hn::Mul(rest, hn::Set(d, scale)), d, dx + first + i);
    });
  }
}

void norm_line_f32(const NormLine<float>& line, const float* x, float* moments, float* y) {
  norm_line(line, x, moments, y);
}
void norm_line_f64(const NormLine<double>& line, const double* x, double* moments, double* y) {
  norm_line(line, x, moments, y);
}
void slope_line_f32(const NormLine<float>& line, const float* x, const float* moments, const float* g,
                    float* dx, float* dweight, float* dbias) {
  (line.run == 1 ? slope_line<float> : slope_runs<float>)(line, x, moments, g, dx, dweight, dbias);
}
void slope_line_f64(const NormLine<double>& line, const double* x, const double* moments, const double* g,
                    double* dx, double* dweight, double* dbias) {
  (line.run == 1 ? slope_line<double> : slope_runs<double>)(line, x, moments, g, dx, dweight, dbias);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(norm_line_f32);
VELDT_EXPORT(norm_line_f64);
VELDT_EXPORT(slope_line_f32);
VELDT_EXPORT(slope_line_f64);

constexpr std::int64_t kGrain = 1 << 13;  // elements a task

auto norm_line_of(float) { return VELDT_DISPATCH(norm_line_f32); }
auto norm_line_of(double) { return VELDT_DISPATCH(norm_line_f64); }
auto slope_line_of(float) { return VELDT_DISPATCH(slope_line_f32); }
auto slope_line_of(double) { return VELDT_DISPATCH(slope_line_f64); }

// Lines of a view: in place, or as floats in `room` if they are halves.
struct Storage {
  const View& view;
  std::int64_t n;
  Stage::Convert widen = nullptr, narrow = nullptr;

  explicit Storage(const View& v) : view(v), n(v.shape[1]) {
    const Stage& s = stage();
    if (v.dtype == DType::bf16) widen = s.widen_bf16, narrow = s.narrow_bf16;
    if (v.dtype == DType::f16) widen = s.widen_f16, narrow = s.narrow_f16;
  }
  template <class T> T* line(std::int64_t i, T* room) const { return widen ? room : view.as<T>() + i * n; }
  template <class T> const T* read(std::int64_t i, T* room) const {
    if (widen) widen(view.as<const std::uint16_t>() + i * n, room, n);
    return line(i, room);
  }
  template <class T> void write(const T* from, std::int64_t i) const {
    if (narrow) narrow(from, view.as<std::uint16_t>() + i * n, n);
  }
};

template <class T> T* room_of(std::int64_t count) {
  thread_local Room<T> room;
  return room.of(count, "a norm");
}

// The parameters of line i: row i modulo their number.
template <class T> T* row_or_null(const View* v, std::int64_t i) {
  return v ? v->as<T>() + i % v->shape[0] * v->shape[1] : nullptr;
}

template <class T>
NormLine<T> line_of(bool centred, double eps, const View& x, const View* weight, const View* bias,
                    std::int64_t i) {
  const View* const given = weight ? weight : bias;
  return {centred,
          eps,
          x.shape[1],
          given ? x.shape[1] / given->shape[1] : 1,
          row_or_null<const T>(weight, i),
          row_or_null<const T>(bias, i)};
}

template <class T>
void run(bool centred, double eps, const View& x, const View* weight, const View* bias, const View& moments,
         const View& y) {
  const std::int64_t lines = x.shape[0], n = x.shape[1];
  const auto norm = norm_line_of(T());
  const Storage from(x), to(y);
  parallel_for(lines, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
    T* const room = from.widen ? room_of<T>(n) : nullptr;
    for (std::int64_t i = begin; i < end; ++i) {
      T* const out = to.line(i, room);
      norm(line_of<T>(centred, eps, x, weight, bias, i), from.read(i, room), moments.as<T>() + 2 * i, out);
      to.write(out, i);
    }
  });
}

template <class T>
void run_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
               const View& dx, const View* dweight, const View* dbias) {
  const std::int64_t lines = x.shape[0], n = x.shape[1];
  const auto slope = slope_line_of(T());
  const View* const wanted = dweight ? dweight : dbias;
  const std::int64_t own_size = wanted ? numel(wanted->shape) : 0;
  // Each task sums the parameters' gradients of its lines; together they are no larger than x.
  const std::int64_t most = std::max<std::int64_t>(1, lines * n / std::max<std::int64_t>(1, 2 * own_size));
  const std::int64_t grain =
      std::max(std::clamp<std::int64_t>(kGrain / n, 16, 64), (lines + most - 1) / most);
  const std::int64_t tasks = (lines + grain - 1) / grain;
  thread_local std::vector<T> sums;
  sums.assign(static_cast<std::size_t>(2 * tasks * own_size), T(0));
  T* const parts = sums.data();
  const Storage from(x), by(g), to(dx);
  parallel_for(lines, grain, [&](std::int64_t begin, std::int64_t end) {
    T* const own = parts + begin / grain * 2 * own_size;
    T *const x_room = from.widen ? room_of<T>(2 * n) : nullptr, *const g_room = x_room ? x_room + n : nullptr;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = wanted ? i % wanted->shape[0] * wanted->shape[1] : 0;
      T* const out = to.line(i, g_room);
      slope(line_of<T>(centred, 0, x, weight, wanted, i), from.read(i, x_room), moments.as<const T>() + 2 * i,
            by.read(i, g_room), out, dweight ? own + at : nullptr, dbias ? own + own_size + at : nullptr);
      to.write(out, i);
    }
  });
  int which = 0;
  for (const View* total : {dweight, dbias}) {
    const T* const first = parts + own_size * which++;
    if (total)
      parallel_for(own_size, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          double sum = 0;
          for (std::int64_t t = 0; t < tasks; ++t) sum += static_cast<double>(first[t * 2 * own_size + i]);
          total->as<T>()[i] = static_cast<T>(sum);
        }
      });
  }
}

}  // namespace

void layer_norm(bool centred, double eps, const View& x, const View* weight, const View* bias,
                const View& moments, const View& y) {
  if (numel(x.shape) == 0) return;
  if (x.dtype == DType::f64) return run<double>(centred, eps, x, weight, bias, moments, y);
  run<float>(centred, eps, x, weight, bias, moments, y);
}

void layer_norm_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
                      const View& dx, const View* dweight, const View* dbias) {
  if (numel(x.shape) == 0) {
    for (const View* total : {dweight, dbias})
      if (total) fill(*total, 0);
    return;
  }
  if (x.dtype == DType::f64) return run_slope<double>(centred, x, weight, moments, g, dx, dweight, dbias);
  run_slope<float>(centred, x, weight, moments, g, dx, dweight, dbias);
}

}  // namespace veldt::cpu
#endif
