// The multiresolution grid: reading features at points, and adding gradients into the table.
//
// Both take many points through one level after the other, so that a core's cache holds a level's data, or
// fetches it once. A row of all levels is several cache lines, which would be fetched again for each level;
// so each level has its features of all points in a panel, and a separate pass joins panels to rows or splits
// them. `Corners` are computed in SIMD for 16 points at a time: the entries of the cells' vertices and their
// weights. Then each point's features are moved by loads as wide as an entry, which are faster than gathers.
// When reading, points are distributed over threads. When adding, levels are: one thread takes a level's
// points in order, so there are no atomics, and the bits are the same for any number of threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/grid.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/grid.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/kernels/grid-inl.h"

#ifndef VELDT_CPU_GRID_ONCE
#define VELDT_CPU_GRID_ONCE
namespace veldt::cpu {
constexpr int kGridBlock = 16;

template <class T> struct GridCall {
  const GridLayout& grid;
  const GridDerivative& derivative;
  const T* x;  // [n, dims]
  T* table;    // [entries, features], or its gradient
  T* out;      // [n, levels * features], or its gradient
  std::int64_t n;

  T* table_of(int l) const { return table + grid.level[static_cast<std::size_t>(l)].first * grid.features; }
  std::int64_t width() const { return static_cast<std::int64_t>(grid.levels) * grid.features; }
};

// Points begin .. end - 1.
struct Span {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};
// The features of some points, level by level: [level][point][features].
template <class T> struct Panels {
  Span points;
  std::int64_t
      stride;  // elements of a level: no power of two, or all levels would compete for the same lines
  T* data;
  T* of(int l) const { return data + l * stride; }
};
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::HWY_NAMESPACE {
namespace {
using cpu::GridCall;
using cpu::kGridBlock;
using cpu::Panels;
using cpu::Span;
using Level = GridLayout::Level;

// For each vertex of a block's cells (bit k of its number: the upper one along axis k) its entry in the
// level, and its weight.
template <class T, int D> struct Corners {
  HWY_ALIGN std::uint32_t entry[1 << D][kGridBlock];
  HWY_ALIGN T weight[1 << D][kGridBlock];
};

template <int D, class V> HWY_INLINE void load_points(const float* x, V (&p)[D]) {
  const hn::ScalableTag<float> d;
  if constexpr (D == 1) p[0] = hn::LoadU(d, x);
  if constexpr (D == 2) hn::LoadInterleaved2(d, x, p[0], p[1]);
  if constexpr (D == 3) hn::LoadInterleaved3(d, x, p[0], p[1], p[2]);
  if constexpr (D == 4) hn::LoadInterleaved4(d, x, p[0], p[1], p[2], p[3]);
}

template <int D>
HWY_NOINLINE void find_corners(const GridCall<float>& call, int l, const float* x,
                               Corners<float, D>& corners) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const hn::RebindToUnsigned<decltype(d)> bits;
  static_assert(hn::MaxLanes(hn::ScalableTag<float>()) <= kGridBlock);
  const Level& level = call.grid.level[static_cast<std::size_t>(l)];
  const auto mask = hn::Set(bits, static_cast<std::uint32_t>(call.grid.entries_of(l)) - 1);
  for (std::size_t i = 0; i < kGridBlock; i += hn::Lanes(d)) {
    hn::Vec<decltype(d)> p[D], weight[D][2];
    hn::Vec<decltype(bits)> place[D][2];
    load_points<D>(x + i * D, p);
#pragma GCC unroll 4
    for (int k = 0; k < D; ++k) {
      const auto axis = grid_axis(Lanes<float>(p[k]), level.cells, call.grid.smooth,
                                  call.derivative.order[static_cast<std::size_t>(k)]);
      weight[k][0] = axis.low.v;
      weight[k][1] = axis.high.v;
      const auto step = hn::Set(bits, level.step_along(k));
      place[k][0] = hn::Mul(hn::BitCast(bits, hn::ConvertTo(whole, axis.cell.v)), step);
      place[k][1] = hn::Add(place[k][0], step);
    }
#pragma GCC unroll 16
    for (int c = 0; c < 1 << D; ++c) {
      auto w = weight[0][c & 1];
      auto entry = place[0][c & 1];
#pragma GCC unroll 4
      for (int k = 1; k < D; ++k) {
        const int end = c >> k & 1;
        w = hn::Mul(w, weight[k][end]);
        entry = level.hashed ? hn::Xor(entry, place[k][end]) : hn::Add(entry, place[k][end]);
      }
      if (level.hashed) entry = hn::And(entry, mask);
      hn::Store(entry, bits, corners.entry[c] + i);
      hn::Store(w, d, corners.weight[c] + i);
    }
  }
}

// The same for the doubles of gradient checks, one at a time.
template <int D>
HWY_NOINLINE void find_corners(const GridCall<double>& call, int l, const double* x,
                               Corners<double, D>& corners) {
  const Level& level = call.grid.level[static_cast<std::size_t>(l)];
  const auto mask = static_cast<std::uint32_t>(call.grid.entries_of(l)) - 1;
  for (int i = 0; i < kGridBlock; ++i) {
    for (int c = 0; c < 1 << D; ++c) corners.entry[c][i] = 0, corners.weight[c][i] = 1;
    for (int k = 0; k < D; ++k) {
      const auto axis = grid_axis(x[i * D + k], level.cells, call.grid.smooth,
                                  call.derivative.order[static_cast<std::size_t>(k)]);
      const std::uint32_t step = level.step_along(k), place = static_cast<std::uint32_t>(axis.cell) * step;
      for (int c = 0; c < 1 << D; ++c) {
        const bool upper = (c >> k & 1) != 0;
        std::uint32_t& entry = corners.entry[c][i];
        entry = level.hashed ? entry ^ (place + (upper ? step : 0)) : entry + place + (upper ? step : 0);
        corners.weight[c][i] *= upper ? axis.high : axis.low;
      }
    }
    if (level.hashed)
      for (int c = 0; c < 1 << D; ++c) corners.entry[c][i] &= mask;
  }
}

// Prefetches the memory of a block while the previous one is processed: with many concurrent misses, time
// depends on the memory's throughput, not its latency.
template <class T, int D>
HWY_INLINE void prefetch(const GridCall<T>& call, int l, const Corners<T, D>& corners) {
  constexpr std::int64_t kNear = std::int64_t{1} << 19;  // bytes of a level that stay in a core's own cache
  const std::int64_t features = call.grid.features;
  if (call.grid.entries_of(l) * features * static_cast<std::int64_t>(sizeof(T)) <= kNear) return;
  const T* const table = call.table_of(l);
  for (int c = 0; c < 1 << D; ++c)
    for (int i = 0; i < kGridBlock; ++i) hwy::Prefetch(table + corners.entry[c][i] * features);
}

// Calls body(corners, the number of points) for the blocks of points begin .. end - 1 in one
// level.
template <int D, class T, class Body>
HWY_INLINE void each_block(const GridCall<T>& call, int l, Span points, Body body) {
  Corners<T, D> corners[2];
  T rest[kGridBlock * D] = {};
  const auto look = [&](std::int64_t i) HWY_ATTR {
    if (i >= points.end) return;
    const std::int64_t count = std::min<std::int64_t>(kGridBlock, points.end - i);
    const T* x = call.x + i * D;
    if (count < kGridBlock) x = (std::copy(x, x + count * D, rest), rest);
    Corners<T, D>& to = corners[i / kGridBlock % 2];
    find_corners<D>(call, l, x, to);
    prefetch(call, l, to);
  };
  for (std::int64_t i = points.begin - kGridBlock; i < points.end; i += kGridBlock) {
    look(i + kGridBlock);
    if (i < points.begin) continue;
    body(corners[i / kGridBlock % 2], static_cast<int>(std::min<std::int64_t>(kGridBlock, points.end - i)));
  }
}

// An entry's features as one register where there are two floats of them; else an array.
template <class T, int D, bool Pair> struct Move {
  static HWY_INLINE void read(const Corners<T, D>& c, int i, const T* table, int features, T* out) {
    T sum[GridLayout::kMaxFeatures] = {};
    for (int k = 0; k < 1 << D; ++k) {
      const T* from = table + static_cast<std::size_t>(c.entry[k][i]) * static_cast<std::size_t>(features);
      for (int f = 0; f < features; ++f) sum[f] += c.weight[k][i] * from[f];
    }
    std::copy(sum, sum + features, out);
  }
  static HWY_INLINE void add(const Corners<T, D>& c, int i, const T* g, int features, T* table) {
    for (int k = 0; k < 1 << D; ++k) {
      T* to = table + static_cast<std::size_t>(c.entry[k][i]) * static_cast<std::size_t>(features);
      for (int f = 0; f < features; ++f) to[f] += c.weight[k][i] * g[f];
    }
  }
};
#if HWY_TARGET != HWY_SCALAR
template <int D> struct Move<float, D, true> {
  static HWY_INLINE void read(const Corners<float, D>& c, int i, const float* table, int, float* out) {
    const hn::FixedTag<float, 2> d;
    auto sum = hn::Mul(hn::Set(d, c.weight[0][i]), hn::LoadU(d, table + 2 * std::size_t{c.entry[0][i]}));
#pragma GCC unroll 16
    for (int k = 1; k < 1 << D; ++k)
      sum = hn::MulAdd(hn::Set(d, c.weight[k][i]), hn::LoadU(d, table + 2 * std::size_t{c.entry[k][i]}), sum);
    hn::StoreU(sum, d, out);
  }
  static HWY_INLINE void add(const Corners<float, D>& c, int i, const float* g, int, float* table) {
    const hn::FixedTag<float, 2> d;
    const auto gradient = hn::LoadU(d, g);
#pragma GCC unroll 16
    for (int k = 0; k < 1 << D; ++k) {
      float* const to = table + 2 * std::size_t{c.entry[k][i]};
      hn::StoreU(hn::MulAdd(hn::Set(d, c.weight[k][i]), gradient, hn::LoadU(d, to)), d, to);
    }
  }
};
#endif

template <int D, bool Pair, class T>
void read_level(const GridCall<T>& call, int l, const Panels<T>& panels) {
  const int features = call.grid.features;
  const T* const table = call.table_of(l);
  T* out = panels.of(l);
  each_block<D>(call, l, panels.points, [&](const Corners<T, D>& corners, int count) HWY_ATTR {
    for (int i = 0; i < count; ++i, out += features) Move<T, D, Pair>::read(corners, i, table, features, out);
  });
}

template <int D, bool Pair, class T> void add_level(const GridCall<T>& call, int l, const Panels<T>& panels) {
  const int features = call.grid.features;
  T* const table = call.table_of(l);
  const T* g = panels.of(l);
  if (panels.points.begin == 0) std::fill(table, call.table_of(l + 1), T(0));
  each_block<D>(call, l, panels.points, [&](const Corners<T, D>& corners, int count) HWY_ATTR {
    for (int i = 0; i < count; ++i, g += features) Move<T, D, Pair>::add(corners, i, g, features, table);
  });
}

// run(D, Pair) with the call's own as constants.
template <class T, class Run> void specialised(const GridLayout& grid, Run run) {
  constexpr bool kPairs = sizeof(T) == 4 && HWY_TARGET != HWY_SCALAR;
  using std::integral_constant;
  if constexpr (kPairs) {
    if (grid.dims == 2 && grid.features == 2) return run(integral_constant<int, 2>(), std::true_type());
    if (grid.dims == 3 && grid.features == 2) return run(integral_constant<int, 3>(), std::true_type());
  }
  switch (grid.dims) {
    case 1: return run(integral_constant<int, 1>(), std::false_type());
    case 2: return run(integral_constant<int, 2>(), std::false_type());
    case 3: return run(integral_constant<int, 3>(), std::false_type());
    default: return run(integral_constant<int, 4>(), std::false_type());
  }
}

template <class T> void read(const GridCall<T>& call, int l, const Panels<T>& panels) {
  specialised<T>(call.grid, [&](auto dims, auto pair) {
    read_level<decltype(dims)::value, decltype(pair)::value>(call, l, panels);
  });
}
template <class T> void add(const GridCall<T>& call, int l, const Panels<T>& panels) {
  specialised<T>(call.grid, [&](auto dims, auto pair) {
    add_level<decltype(dims)::value, decltype(pair)::value>(call, l, panels);
  });
}
void grid_read_f32(const GridCall<float>& call, int l, const Panels<float>& out) { read(call, l, out); }
void grid_add_f32(const GridCall<float>& call, int l, const Panels<float>& g) { add(call, l, g); }
#if HWY_ONCE
void grid_read_f64(const GridCall<double>& call, int l, const Panels<double>& out) { read(call, l, out); }
void grid_add_f64(const GridCall<double>& call, int l, const Panels<double>& g) { add(call, l, g); }
#endif

}  // namespace
}  // namespace veldt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(grid_read_f32);
VELDT_EXPORT(grid_add_f32);
}  // namespace

namespace cpu {
namespace {

// The size of the panels for the points taken at a time: large enough that even the largest levels are
// fetched only a few times.
constexpr std::int64_t kPanelBytes = std::int64_t{8} << 20;

template <class T>
GridCall<T> call_of(const GridLayout& grid, const GridDerivative& derivative, const View& x,
                    const View& table, const View& out) {
  return {grid, derivative, x.as<const T>(), table.as<T>(), out.as<T>(), x.shape[0]};
}

struct Deallocate {
  void operator()(void* p) const { deallocate(p, 0); }
};

// Panels for the points, in a thread's own memory that only grows, because a step needs the same sizes
// repeatedly.
template <class T> Panels<T> panels_for(const GridCall<T>& call, Span points) {
  thread_local std::unique_ptr<void, Deallocate> held;
  thread_local std::size_t size = 0;
  const std::int64_t stride = points.size() * call.grid.features + static_cast<std::int64_t>(64 / sizeof(T));
  const std::size_t wanted = static_cast<std::size_t>(stride * call.grid.levels) * sizeof(T);
  if (size < wanted) {
    size = 0;
    held.reset();
    held.reset(allocate(wanted));
    size = wanted;
  }
  return {points, stride, static_cast<T*>(held.get())};
}

// Calls move(a part of a panel, its place in the row) for all levels of points begin .. end - 1.
template <class T, class Move>
void each_part(const GridCall<T>& call, const Panels<T>& panels, Span points, Move move) {
  const std::int64_t features = call.grid.features;
  T* row = call.out + points.begin * call.width();
  for (std::int64_t i = points.begin - panels.points.begin; i < points.end - panels.points.begin; ++i)
    for (int l = 0; l < call.grid.levels; ++l, row += features) move(panels.of(l) + i * features, row);
}

template <class T> void copy_part(const T* from, T* to, int features) {
  if (features == 2) return static_cast<void>(std::memcpy(to, from, 2 * sizeof(T)));  // one register
  std::copy(from, from + features, to);
}

template <class T> std::int64_t most_points(const GridCall<T>& call) {
  return std::max<std::int64_t>(256, kPanelBytes / (call.width() * static_cast<std::int64_t>(sizeof(T))));
}

template <class T, class Read> void read_all(const GridCall<T>& call, Read read) {
  constexpr std::int64_t kLeast = 16 * kGridBlock;
  const std::int64_t share = (call.n + num_threads() - 1) / num_threads();
  const std::int64_t grain = std::clamp<std::int64_t>(share, kLeast, most_points(call));
  parallel_for(call.n, grain, [&](std::int64_t begin, std::int64_t end) {
    const Panels<T> panels = panels_for(call, {begin, end});
    for (int l = 0; l < call.grid.levels; ++l) read(call, l, panels);
    each_part(call, panels, panels.points,
              [&](const T* part, T* row) { copy_part(part, row, call.grid.features); });
  });
}

// Threads take the next remaining level, the largest first.
template <class T, class Add> void add_all(const GridCall<T>& call, Add add) {
  const std::int64_t most = most_points(call);
  for (std::int64_t first = 0; first == 0 || first < call.n; first += most) {
    const Panels<T> panels = panels_for(call, {first, std::min(call.n, first + most)});
    parallel_for(panels.points.size(), 1024, [&](std::int64_t begin, std::int64_t end) {
      each_part(call, panels, {first + begin, first + end},
                [&](T* part, const T* row) { copy_part(row, part, call.grid.features); });
    });
    std::atomic<int> left{call.grid.levels};
    parallel_for(num_threads(), 1, [&](std::int64_t, std::int64_t) {
      for (int l = --left; l >= 0; l = --left) add(call, l, panels);
    });
  }
}

}  // namespace

void grid_encode(const GridLayout& grid, const GridDerivative& derivative, const View& x, const View& table,
                 const View& out) {
  if (x.dtype == DType::f32)
    return read_all(call_of<float>(grid, derivative, x, table, out), VELDT_DISPATCH(grid_read_f32));
  read_all(call_of<double>(grid, derivative, x, table, out), HWY_STATIC_DISPATCH(grid_read_f64));
}

void grid_scatter(const GridLayout& grid, const GridDerivative& derivative, const View& x, const View& g,
                  const View& table) {
  if (x.dtype == DType::f32)
    return add_all(call_of<float>(grid, derivative, x, table, g), VELDT_DISPATCH(grid_add_f32));
  add_all(call_of<double>(grid, derivative, x, table, g), HWY_STATIC_DISPATCH(grid_add_f64));
}

}  // namespace cpu
}  // namespace veldt
#endif
