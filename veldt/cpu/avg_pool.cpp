// The mean of each window, and the transpose of that. Rows of a window are added first, whole registers at a
// time, then the elements within the row, so each element is added about once per dimension.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/avg_pool.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/pooling.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/room.h"

#ifndef VELDT_CPU_AVG_POOL_PLANE
#define VELDT_CPU_AVG_POOL_PLANE
namespace veldt::cpu {
namespace {

constexpr std::int64_t kSpan = 1024;
constexpr std::int64_t kShort = 256;  // kernel of stride 1, up to which a register has a window in each lane

template <class T> struct AvgPool {
  const PoolLayout& layout;
  std::vector<PoolLayout::Window> windows[2];  // of the planes and of the rows
  std::vector<T> counts[3];                    // what the sum over a window is divided by, in each dimension

  std::int64_t rows_in(std::size_t d, std::size_t h) const {
    return (windows[0][d].end - windows[0][d].begin) * (windows[1][h].end - windows[1][h].begin);
  }
};

}  // namespace
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[i] = of(to[i], from[i])
template <class T, class Of> HWY_INLINE void each(std::int64_t n, const T* from, T* to, const Of& of) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(of(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  for (; i < n; ++i) hn::StoreU(of(hn::LoadU(one, to + i), hn::LoadU(one, from + i)), one, to + i);
}

template <class T> void add_to(std::int64_t n, const T* from, T* to) {
  each(n, from, to, [](auto a, auto b) { return hn::Add(a, b); });
}
template <class T> void add_number(std::int64_t n, T number, T* to) {
  each(n, to, to, [&](auto a, auto) { return hn::Add(a, hn::Set(hn::DFromV<decltype(a)>(), number)); });
}
template <class T> void divide_by(std::int64_t n, const T* from, T factor, T* to) {
  each(n, from, to, [&](auto a, auto b) {
    const hn::DFromV<decltype(a)> d;
    return hn::Div(a, hn::Mul(b, hn::Set(d, factor)));
  });
}

// The sum of n neighbours: in T up to kSpan of them, in double beyond.
template <class T> T sum_of(const T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  double total = 0;
  for (std::int64_t first = 0; first < n; first += kSpan) {
    const std::int64_t end = std::min(n, first + kSpan);
    auto a = hn::Zero(d), b = hn::Zero(d);
    std::int64_t i = first;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      a = hn::Add(a, hn::LoadU(d, x + i));
      b = hn::Add(b, hn::LoadU(d, x + i + lanes));
    }
    T rest = i == first ? T(0) : hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
    for (; i < end; ++i) rest += x[i];
    total += static_cast<double>(rest);
  }
  return static_cast<T>(total);
}

// The sums of windows first..end, at least as many as a register holds: each in its own lane, so that it does
// not depend on its position. They are complete, and neighbours: of stride 1, or pairs.
template <class T>
void sum_neighbours(const PoolLayout& p, const T* row, std::int64_t first, std::int64_t end, T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = first; i < end; i += lanes) {
    const std::int64_t o = std::min(i, end - lanes);  // the last ones again
    const T* const x = row + o * p.stride[2] - p.padding[2];
    auto sum = hn::Zero(d);
    if (p.stride[2] == 2) {
      hn::Vec<decltype(d)> even, odd;
      hn::LoadInterleaved2(d, x, even, odd);
      sum = hn::Add(hn::Add(sum, even), odd);
    } else {
      for (std::int64_t k = 0; k < p.kernel[2]; ++k) sum = hn::Add(sum, hn::LoadU(d, x + k));
    }
    hn::StoreU(sum, d, out + o);
  }
}

// out[o] = the sum of row over window o.
template <class T> void sum_windows(const AvgPool<T>& pool, const T* row, T* out) {
  const PoolLayout& p = pool.layout;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t stride = p.stride[2], kernel = p.kernel[2], padding = p.padding[2], n = p.out[2];
  const bool near = (stride == 2 && kernel == 2) || (stride == 1 && kernel <= kShort);
  std::int64_t first = (padding + stride - 1) / stride,  // of the windows without padding
      end = std::min(n, (p.in[2] + padding - kernel + stride) / stride);
  if (p.adaptive || !near || end - first < lanes)
    first = end = n;
  else
    sum_neighbours(p, row, first, end, out);
  for (std::int64_t o = first == 0 ? end : 0; o < n; o = o + 1 == first ? end : o + 1) {
    const PoolLayout::Window w = p.window(2, o);
    T sum = 0;
    if (w.end - w.begin >= lanes)
      sum = sum_of(row + w.begin, w.end - w.begin);
    else
      for (std::int64_t i = w.begin; i < w.end; ++i) sum += row[i];
    out[o] = sum;
  }
}

// The transpose: row[i] = the sum of g over the windows that i is in.
template <class T> void spread_windows(const AvgPool<T>& pool, const T* g, T* row) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const PoolLayout& p = pool.layout;
  std::int64_t o = 0;
  if (p.kernel[2] == 2 && p.stride[2] == 2 && p.padding[2] == 0)
    for (; o + lanes <= p.out[2] && 2 * (o + lanes) <= p.in[2]; o += lanes)
      hn::StoreInterleaved2(hn::LoadU(d, g + o), hn::LoadU(d, g + o), d, row + 2 * o);
  std::fill(row + 2 * o, row + p.in[2], T(0));
  for (; o < p.out[2]; ++o) {
    const PoolLayout::Window w = p.window(2, o);
    add_number(w.end - w.begin, g[o], row + w.begin);
  }
}

// Calls of(row of the plane, whether it is the first of its window) for each row in window (d, h).
template <class T, class Of>
HWY_INLINE void for_rows(const AvgPool<T>& pool, std::size_t d, std::size_t h, const Of& of) {
  const PoolLayout::Window &depth = pool.windows[0][d], &height = pool.windows[1][h];
  for (std::int64_t i = depth.begin; i < depth.end; ++i)
    for (std::int64_t j = height.begin; j < height.end; ++j)
      of(i * pool.layout.in[1] + j, i == depth.begin && j == height.begin);
}

template <class T> void pool_plane(const AvgPool<T>& pool, const T* x, T* y, T* room) {
  const PoolLayout& p = pool.layout;
  for (std::size_t d = 0; d < pool.windows[0].size(); ++d)
    for (std::size_t h = 0; h < pool.windows[1].size(); ++h, y += p.out[2]) {
      const T* sum = room;
      for_rows(pool, d, h, [&](std::int64_t at, bool first) {
        const T* const row = x + at * p.in[2];
        if (first && pool.rows_in(d, h) == 1)
          sum = row;
        else if (first)
          std::copy_n(row, p.in[2], room);
        else
          add_to(p.in[2], row, room);
      });
      sum_windows(pool, sum, y);
      divide_by(p.out[2], pool.counts[2].data(), pool.counts[0][d] * pool.counts[1][h], y);
    }
}

template <class T> void spread_plane(const AvgPool<T>& pool, const T* g, T* dx, T* room) {
  const PoolLayout& p = pool.layout;
  T *const shares = room, *const spread = room + p.out[2];
  std::vector<bool> met(static_cast<std::size_t>(p.in[0] * p.in[1]));
  for (std::size_t d = 0; d < pool.windows[0].size(); ++d)
    for (std::size_t h = 0; h < pool.windows[1].size(); ++h, g += p.out[2]) {
      std::copy_n(g, p.out[2], shares);
      divide_by(p.out[2], pool.counts[2].data(), pool.counts[0][d] * pool.counts[1][h], shares);
      spread_windows(pool, shares, spread);
      for_rows(pool, d, h, [&](std::int64_t at, bool) {
        if (met[static_cast<std::size_t>(at)])
          add_to(p.in[2], spread, dx + at * p.in[2]);
        else
          std::copy_n(spread, p.in[2], dx + at * p.in[2]);
        met[static_cast<std::size_t>(at)] = true;
      });
    }
  for (std::size_t at = 0; at < met.size(); ++at)
    if (!met[at]) std::fill_n(dx + static_cast<std::int64_t>(at) * p.in[2], p.in[2], T(0));
}

void pool_f32(const AvgPool<float>& pool, bool transposed, const float* from, float* to, float* room) {
  (transposed ? spread_plane<float> : pool_plane<float>)(pool, from, to, room);
}
void pool_f64(const AvgPool<double>& pool, bool transposed, const double* from, double* to, double* room) {
  (transposed ? spread_plane<double> : pool_plane<double>)(pool, from, to, room);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(pool_f32);
VELDT_EXPORT(pool_f64);

constexpr std::int64_t kGrain = 1 << 13;  // elements of a task

auto pool_of(float) { return VELDT_DISPATCH(pool_f32); }
auto pool_of(double) { return VELDT_DISPATCH(pool_f64); }

template <class T> void run(const PoolLayout& p, bool transposed, const View& from, const View& to) {
  AvgPool<T> pool{p, {}, {}};
  for (int d = 0; d < 3; ++d) {
    pool.counts[d].reserve(static_cast<std::size_t>(p.out[d]));
    for (std::int64_t o = 0; o < p.out[d]; ++o) {
      if (d < 2) pool.windows[d].push_back(p.window(d, o));
      pool.counts[d].push_back(static_cast<T>(p.averaged(d, o)));
    }
  }
  const std::int64_t read = transposed ? p.outputs() : p.inputs(),
                     written = transposed ? p.inputs() : p.outputs();
  const auto plane = pool_of(T());
  parallel_for(p.planes, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, p.inputs())),
               [&](std::int64_t begin, std::int64_t end) {
                 thread_local Room<T> room;
                 T* const own = room.of(p.in[2] + p.out[2], "a pooling");
                 for (std::int64_t i = begin; i < end; ++i)
                   plane(pool, transposed, from.as<const T>() + i * read, to.as<T>() + i * written, own);
               });
}

}  // namespace

void avg_pool(const PoolLayout& layout, bool transposed, const View& from, const View& to) {
  if (from.dtype == DType::f32) return run<float>(layout, transposed, from, to);
  run<double>(layout, transposed, from, to);
}

}  // namespace veldt::cpu
#endif
