// The largest element of each window, and its place. Windows that lie within their row are processed a
// register at a time if neighbours are one or two elements apart.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/max_pool.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/pooling.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

#ifndef VELDT_CPU_MAX_POOL_PLANE
#define VELDT_CPU_MAX_POOL_PLANE
namespace veldt::cpu {
namespace {

using Windows = std::vector<PoolLayout::Window>;

struct MaxPool {
  const PoolLayout& layout;
  const Windows (&windows)[2];  // of the planes and of the rows
  std::int64_t first, end;  // the windows of a row that registers may take: all alike, and none in padding
};

}  // namespace
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The largest number so far of each lane's window, and its place counted from the window's first element.
template <class D> struct Largest {
  using Signed = hn::RebindToSigned<D>;
  D d;
  hn::Vec<D> most;
  hn::Vec<Signed> place;

  HWY_INLINE void meet(hn::Vec<D> here, std::int64_t at) {
    const Signed di;
    const auto more = hn::AndNot(hn::Le(here, most), hn::Eq(most, most));  // the first NaN stays
    most = hn::IfThenElse(more, here, most);
    place = hn::IfThenElse(hn::RebindMask(di, more), hn::Set(di, static_cast<hn::TFromD<Signed>>(at)), place);
  }
};

// The elements of a row, `step` apart, of windows that are kStride apart. One load has both elements of a
// pair of neighbours.
template <int kStride, class D, class T>
HWY_INLINE void meet_row(Largest<D>& largest, const T* x, std::int64_t kernel, std::int64_t step,
                         std::int64_t place) {
  const D d;
  for (std::int64_t k = 0; k < kernel; ++k) {
    const T* const from = x + k * step;
    if constexpr (kStride == 1) {
      largest.meet(hn::LoadU(d, from), place + k * step);
    } else {
      hn::Vec<D> even, odd;
      hn::LoadInterleaved2(d, from, even, odd);
      largest.meet(even, place + k * step);
      if (step == 1 && k + 1 < kernel) largest.meet(odd, place + ++k);
    }
  }
}

// Windows `o` and on of a row, as many as fill registers; returns how many.
template <int kStride, class D, class T>
std::int64_t pool_registers(D d, const MaxPool& pool, const PoolLayout::Window& depth,
                            const PoolLayout::Window& height, std::int64_t o, const T* x, T* out,
                            std::int64_t* index) {
  using I = hn::TFromD<hn::RebindToSigned<D>>;
  const PoolLayout& p = pool.layout;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t kernel = p.kernel[2], step = p.dilation[2], begun = o;
  HWY_ALIGN I places[hn::MaxLanes(d)];
  for (; o + lanes <= pool.end; o += lanes) {
    const std::int64_t begin = o * kStride - p.padding[2];
    const std::int64_t corner = (depth.begin * p.in[1] + height.begin) * p.in[2] + begin;
    // Reads end within the plane.
    if (((depth.end - 1) * p.in[1] + height.end - 1) * p.in[2] + begin + (kernel - 1) * step +
            kStride * lanes >
        p.inputs())
      break;
    Largest<D> largest{d, hn::Set(d, -std::numeric_limits<T>::infinity()), hn::Zero(hn::RebindToSigned<D>())};
    for (std::int64_t i = depth.begin; i < depth.end; i += depth.step)
      for (std::int64_t j = height.begin; j < height.end; j += height.step) {
        const std::int64_t row = ((i - depth.begin) * p.in[1] + j - height.begin) * p.in[2];
        meet_row<kStride>(largest, x + corner + row, kernel, step, row);
      }
    hn::StoreU(largest.most, d, out + o);
    if (!index) continue;
    hn::Store(largest.place, hn::RebindToSigned<D>(), places);
    for (std::int64_t l = 0; l < lanes; ++l) index[o + l] = corner + l * kStride + places[l];
  }
  return o - begun;
}

// From window `o` on: with whole registers, then with fewer and fewer lanes; the last four may be repeated.
// Returns the first that is left.
template <int kStride, class T>
std::int64_t pool_row(const MaxPool& pool, const PoolLayout::Window& depth, const PoolLayout::Window& height,
                      std::int64_t o, const T* x, T* out, std::int64_t* index) {
  const auto run = [&](auto d)
                       HWY_ATTR { return pool_registers<kStride>(d, pool, depth, height, o, x, out, index); };
  constexpr std::int64_t kFew = 4;
  const hn::CappedTag<T, kFew> few;
  o += run(hn::ScalableTag<T>());
  o += run(hn::CappedTag<T, 2 * kFew>());
  o += run(few);
  if (o == pool.end || pool.end - pool.first < kFew) return o;
  const std::int64_t left = o;
  o = pool.end - kFew;
  return std::max(left, o + run(few));
}

// The larger of `most` and the number at `from`. Without branches on the numbers: for noise every other one
// would be mispredicted.
template <class D, class T> HWY_INLINE hn::Vec<D> larger(D d, hn::Vec<D> most, const T* from) {
  const auto here = hn::LoadU(d, from);
  return hn::IfThenElse(hn::AndNot(hn::Le(here, most), hn::Eq(most, most)), here, most);
}

// One window: its largest number, and then where that is first.
template <class T>
HWY_INLINE void pool_window(const PoolLayout& p, const PoolLayout::Window& depth,
                            const PoolLayout::Window& height, const PoolLayout::Window& width, const T* x,
                            T* out, std::int64_t* index) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 4> few;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d)),
             at_once = static_cast<std::int64_t>(hn::Lanes(few));
  const auto for_rows = [&](const auto& of) HWY_ATTR {
    for (std::int64_t i = depth.begin; i < depth.end; i += depth.step)
      for (std::int64_t j = height.begin; j < height.end; j += height.step)
        if (of((i * p.in[1] + j) * p.in[2])) return;
  };
  constexpr T kLeast = -std::numeric_limits<T>::infinity();
  auto wide = hn::Set(d, kLeast);
  auto narrow = hn::Set(few, kLeast);
  auto single = hn::Set(one, kLeast);
  const bool dense = width.step == 1 && width.end - width.begin >= at_once;
  for_rows([&](std::int64_t row) HWY_ATTR {
    std::int64_t k = width.begin;
    if (dense) {
      for (; k + lanes <= width.end; k += lanes) wide = larger(d, wide, x + row + k);
      for (; k + at_once <= width.end; k += at_once) narrow = larger(few, narrow, x + row + k);
      // The rest is processed together with some repeated ones.
      if (k < width.end) narrow = larger(few, narrow, x + row + width.end - at_once);
      return false;
    }
    for (; k < width.end; k += width.step) single = larger(one, single, x + row + k);
    return false;
  });
  if (dense) {
    HWY_ALIGN T each[hn::MaxLanes(d)];
    hn::Store(wide, d, each);
    for (std::int64_t l = 0; l < lanes; l += at_once) narrow = larger(few, narrow, each + l);
    hn::Store(narrow, few, each);
    for (std::int64_t l = 0; l < at_once; ++l) single = larger(one, single, each + l);
  }
  const T most = *out = hn::GetLane(single);
  if (!index) return;
  for_rows([&](std::int64_t row) {
    for (std::int64_t k = width.begin; k < width.end; k += width.step)
      if (x[row + k] == most || (x[row + k] != x[row + k] && most != most)) {
        *index = row + k;
        return true;
      }
    return false;
  });
}

template <class T> void pool_plane(const MaxPool& pool, const T* x, T* out, std::int64_t* index) {
  const PoolLayout& p = pool.layout;
  const std::int64_t columns = p.out[2];
  for (const PoolLayout::Window& depth : pool.windows[0])
    for (const PoolLayout::Window& height : pool.windows[1]) {
      std::int64_t o = 0;
      const auto one_by_one = [&](std::int64_t end) {
        for (; o < end; ++o)
          pool_window(p, depth, height, p.window(2, o), x, out + o, index ? index + o : nullptr);
      };
      one_by_one(pool.first);
      if (o < pool.end)
        o = p.stride[2] == 1 ? pool_row<1>(pool, depth, height, o, x, out, index)
                             : pool_row<2>(pool, depth, height, o, x, out, index);
      one_by_one(columns);
      out += columns;
      if (index) index += columns;
    }
}

void pool_plane_f32(const MaxPool& pool, const float* x, float* out, std::int64_t* index) {
  pool_plane(pool, x, out, index);
}
void pool_plane_f64(const MaxPool& pool, const double* x, double* out, std::int64_t* index) {
  pool_plane(pool, x, out, index);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(pool_plane_f32);
VELDT_EXPORT(pool_plane_f64);

constexpr std::int64_t kGrain = 1 << 13;  // elements of a task

auto pool_plane_of(float) { return VELDT_DISPATCH(pool_plane_f32); }
auto pool_plane_of(double) { return VELDT_DISPATCH(pool_plane_f64); }

Windows windows_of(const PoolLayout& p, int d) {
  Windows windows;
  for (std::int64_t i = 0; i < p.out[d]; ++i) windows.push_back(p.window(d, i));
  return windows;
}

template <class T> void run(const PoolLayout& p, const View& x, const View& out, const View* index) {
  const Windows windows[2] = {windows_of(p, 0), windows_of(p, 1)};
  MaxPool pool{p, windows, 0, 0};
  // A place within a plane has to fit into a lane.
  if (!p.adaptive && p.stride[2] <= 2 && p.inputs() <= std::numeric_limits<std::int32_t>::max()) {
    const std::int64_t reach = (p.kernel[2] - 1) * p.dilation[2];
    const auto inside = [&](std::int64_t o) {
      const std::int64_t begin = o * p.stride[2] - p.padding[2];
      return begin >= 0 && begin + reach < p.in[2];
    };
    while (pool.first < p.out[2] && !inside(pool.first)) ++pool.first;
    for (pool.end = pool.first; pool.end < p.out[2] && inside(pool.end);) ++pool.end;
  }
  const auto plane = pool_plane_of(T());
  parallel_for(p.planes, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, p.inputs())),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i)
                   plane(pool, x.as<const T>() + i * p.inputs(), out.as<T>() + i * p.outputs(),
                         index ? index->as<std::int64_t>() + i * p.outputs() : nullptr);
               });
}

}  // namespace

void max_pool(const PoolLayout& layout, const View& x, const View& out, const View* index) {
  if (x.dtype == DType::f32) return run<float>(layout, x, out, index);
  run<double>(layout, x, out, index);
}

}  // namespace veldt::cpu
#endif
