// Reading, writing and adding by index along one dimension. Trailing dimensions over which the index does not
// change (its stride is 0) and memory is dense are moved as one row: embedding look-ups and shuffled batches
// copy whole rows. Otherwise elements are moved one by one, in memory order.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "veldt/core/coalesce.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/reduce_tile.h"
#include "veldt/cpu/stage.h"
#include "veldt/kernels/convert.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements a task

// One loop of the walk: over the index, the indexed tensor ("table") and the dense one
// ("rows", of the index's shape).
struct Loop {
  std::int64_t size, index, table, rows;
};

// Dimension `dim` is the innermost loop, because its order of additions matters; the loops in `outer` are
// slices that never overlap in the table. Each step handles `row` neighbouring elements.
struct IndexWalk {
  Loop outer[kMaxRank];
  int outer_count = 0;
  Loop along;
  std::int64_t slices = 1;
  std::int64_t row = 1;
  std::int64_t table_step;  // between neighbours along `dim` in the table

  // Where slice `i` starts.
  Loop start(std::int64_t i) const {
    Loop at = {0, 0, 0, 0};
    for (int d = outer_count - 1; d >= 0; --d) {
      const std::int64_t k = i % outer[d].size;
      i /= outer[d].size;
      at.index += k * outer[d].index;
      at.table += k * outer[d].table;
      at.rows += k * outer[d].rows;
    }
    return at;
  }
};

IndexWalk walk_of(const View& table, int dim, const View& index, const View& rows) {
  IndexWalk w;
  int last = index.shape.rank() - 1;
  for (; last > dim; --last) {
    if (index.shape[last] == 1) continue;
    const bool dense = table.strides[last] == w.row && rows.strides[last] == w.row;
    if (!dense || index.strides[last] != 0) break;
    w.row *= index.shape[last];
  }
  for (int d = 0; d <= last; ++d) {
    if (d == dim || index.shape[d] == 1) continue;
    w.outer[w.outer_count++] = {index.shape[d], index.strides[d], table.strides[d], rows.strides[d]};
    w.slices *= index.shape[d];
  }
  w.along = {index.shape[dim], index.strides[dim], 0, rows.strides[dim]};
  w.table_step = table.strides[dim];
  return w;
}

template <class T> void copy_row(const T* from, T* to, std::int64_t n) {
  if (n <= 16) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  }
}

// Steps begin..end along `dim` of one slice.
template <class T>
void gather_slice(const IndexWalk& w, const Loop& at, const T* x, const std::int64_t* index, T* out,
                  std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    copy_row(x + at.table + index[at.index + i * w.along.index] * w.table_step,
             out + at.rows + i * w.along.rows, w.row);
}

// The loops of a walk element by element, the last dimension innermost, those of size 1 left out. Along the
// indexed dimension the table's offset does not change. With any loop outside, each place is visited in the
// index's order.
struct Nest {
  Loop loops[kMaxRank] = {{1, 0, 0, 0}};  // never empty
  int count = 0, along = -1;              // along: the indexed dimension's loop, if it is one
  std::int64_t table_step;

  Nest(const View& table, int dim, const View& index, const View& rows) : table_step(table.strides[dim]) {
    for (int d = 0; d < index.shape.rank(); ++d) {
      if (index.shape[d] == 1) continue;
      if (d == dim) along = count;
      loops[count++] = {index.shape[d], index.strides[d], d == dim ? 0 : table.strides[d], rows.strides[d]};
    }
    count = std::max(count, 1);
  }
  const Loop& inner() const { return loops[count - 1]; }
  // Positions begin..end of one loop.
  Nest part(int loop, std::int64_t begin, std::int64_t end, Loop* start) const {
    Nest n = *this;
    Loop& l = n.loops[loop];
    *start = {0, begin * l.index, begin * l.table, begin * l.rows};
    l.size = end - begin;
    return n;
  }
  // Calls run(offsets) for each run of the innermost loop, in order.
  template <class Run> void walk(const Loop& start, const Run& run) const {
    std::int64_t runs = 1;
    for (int d = 0; d + 1 < count; ++d) runs *= loops[d].size;
    for (std::int64_t i = 0; i < runs; ++i) {
      Loop at = start;
      std::int64_t rest = i;
      for (int d = count - 2; d >= 0; --d) {
        const std::int64_t k = rest % loops[d].size;
        rest /= loops[d].size;
        at.index += k * loops[d].index;
        at.table += k * loops[d].table;
        at.rows += k * loops[d].rows;
      }
      run(at);
    }
  }
};

// Calls move(table offset, rows offset) for each element of a run.
template <class Move>
void move_run(const Loop& l, std::int64_t step, const std::int64_t* index, std::int64_t table,
              std::int64_t rows, const Move& move) {
  if (l.index == 1 && l.rows == 1) {
    for (std::int64_t j = 0; j < l.size; ++j) move(table + j * l.table + index[j] * step, rows + j);
  } else {
    for (std::int64_t j = 0; j < l.size; ++j)
      move(table + j * l.table + index[j * l.index] * step, rows + j * l.rows);
  }
}

// Calls move(table offset, rows offset) for each element. The largest loop except the indexed dimension's, or
// with `free`, if any order is allowed, the largest of all, is parallel.
template <class Move>
void move_elements(const View& table, int dim, const View& index, const View& rows, bool free,
                   const Move& move) {
  const Nest nest(table, dim, index, rows);
  int cut = -1;
  for (int d = 0; d < nest.count; ++d)
    if ((free || d != nest.along) && (cut < 0 || nest.loops[d].size > nest.loops[cut].size)) cut = d;
  const auto work = [&](const Nest& part, const Loop& start) {
    part.walk(start, [&](const Loop& at) {
      move_run(part.inner(), part.table_step, index.as<const std::int64_t>() + at.index, at.table, at.rows,
               move);
    });
  };
  if (cut < 0) return work(nest, {0, 0, 0, 0});
  const std::int64_t size = nest.loops[cut].size;
  const std::int64_t most = std::max<std::int64_t>(1, kGrain / (numel(index.shape) / size));
  const std::int64_t grain = std::max(most, even_grain(size, size, 1));
  parallel_for(size, grain, [&](std::int64_t b, std::int64_t e) {
    Loop start;
    const Nest part = nest.part(cut, b, e, &start);
    work(part, start);
  });
}

template <class T> void run_gather(const View& x, int dim, const View& index_view, const View& out) {
  const IndexWalk w = walk_of(x, dim, index_view, out);
  if (w.row == 1) {
    const T* from = x.as<const T>();
    T* to = out.as<T>();
    return move_elements(x, dim, index_view, out, true,
                         [=](std::int64_t table, std::int64_t rows) { to[rows] = from[table]; });
  }
  const std::int64_t* index = index_view.as<const std::int64_t>();
  const std::int64_t steps = w.along.size;
  if (w.slices == 1) {
    parallel_for(steps, std::max<std::int64_t>(1, kGrain / w.row), [&](std::int64_t b, std::int64_t e) {
      gather_slice(w, w.start(0), x.as<const T>(), index, out.as<T>(), b, e);
    });
    return;
  }
  parallel_for(w.slices, std::max<std::int64_t>(1, kGrain / (steps * w.row)),
               [&](std::int64_t b, std::int64_t e) {
                 for (std::int64_t s = b; s < e; ++s)
                   gather_slice(w, w.start(s), x.as<const T>(), index, out.as<T>(), 0, steps);
               });
}

// In the order of the index, so that of several writes to one place the last one stays.
template <class T> void run_scatter(const View& source, int dim, const View& index_view, const View& out) {
  const IndexWalk w = walk_of(out, dim, index_view, source);
  if (w.row == 1) {
    const T* from = source.as<const T>();
    T* to = out.as<T>();
    return move_elements(out, dim, index_view, source, false,
                         [=](std::int64_t table, std::int64_t rows) { to[table] = from[rows]; });
  }
  const std::int64_t* index = index_view.as<const std::int64_t>();
  parallel_for(w.slices, std::max<std::int64_t>(1, kGrain / (w.along.size * w.row)),
               [&](std::int64_t b, std::int64_t e) {
                 for (std::int64_t s = b; s < e; ++s) {
                   const Loop at = w.start(s);
                   for (std::int64_t i = 0; i < w.along.size; ++i)
                     copy_row(source.as<const T>() + at.rows + i * w.along.rows,
                              out.as<T>() + at.table + index[at.index + i * w.along.index] * w.table_step,
                              w.row);
                 }
               });
}

// Eight at a time, which g++ turns into SIMD: with fewer instructions a row, several rows' cache misses
// overlap.
template <class T> void add_row(const T* __restrict from, T* __restrict to, std::int64_t n) {
  std::int64_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (std::int64_t l = 0; l < 8; ++l) to[k + l] += from[k + l];
  for (; k < n; ++k) to[k] += from[k];
}
template <class Half>
requires(std::is_class_v<Half>) void add_row(const Half* from, float* to, std::int64_t n) {
  constexpr std::int64_t kStage = 512;
  const Stage& s = stage();
  const auto widen = std::is_same_v<Half, scalar::BFloat16> ? s.widen_bf16 : s.widen_f16;
  alignas(64) float row[kStage];
  for (std::int64_t k = 0; k < n; k += kStage) {
    const std::int64_t m = std::min(kStage, n - k);
    widen(from + k, row, m);
    add_row(row, to + k, m);
  }
}

// Adds the steps of one slice whose index lies in low..high-1, in order.
template <class T, class G>
void scatter_slice(const IndexWalk& w, const Loop& at, const G* g, const std::int64_t* index, T* out,
                   std::int64_t low, std::int64_t high) {
  for (std::int64_t i = 0; i < w.along.size; ++i) {
    const std::int64_t target = index[at.index + i * w.along.index];
    if (target < low || target >= high) continue;
    add_row(g + at.rows + i * w.along.rows, out + at.table + target * w.table_step, w.row);
  }
}

// Each target is written by only one task, which does its additions in the order of the index, so the result
// does not depend on the number of tasks.
template <class T, class G = T>
void run_scatter_add(const View& g, int dim, const View& index_view, const View& out) {
  const IndexWalk w = walk_of(out, dim, index_view, g);
  const std::int64_t* index = index_view.as<const std::int64_t>();
  const std::int64_t targets = out.shape[dim], slice_work = w.along.size * w.row;
  if (w.row == 1 && (w.slices > 1 || threads_here() == 1)) {
    const G* from = g.as<const G>();
    T* to = out.as<T>();
    return move_elements(out, dim, index_view, g, false, [=](std::int64_t table, std::int64_t rows) {
      to[table] = static_cast<T>(to[table] + scalar::load(from[rows]));
    });
  }
  if (w.slices == 1 && slice_work > kGrain) {
    // Each task reads the whole index and adds the elements of its share of the targets.
    const std::int64_t share = (targets + num_threads() - 1) / num_threads();
    parallel_for(targets, share, [&](std::int64_t b, std::int64_t e) {
      scatter_slice(w, w.start(0), g.as<const G>(), index, out.as<T>(), b, e);
    });
    return;
  }
  parallel_for(w.slices, std::max<std::int64_t>(1, kGrain / slice_work), [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t s = b; s < e; ++s)
      scatter_slice(w, w.start(s), g.as<const G>(), index, out.as<T>(), 0, targets);
  });
}

struct Range {
  std::int64_t low = std::numeric_limits<std::int64_t>::max();
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  void add(std::int64_t low_value, std::int64_t high_value) {
    low = std::min(low, low_value);
    high = std::max(high, high_value);
  }
};

Range range_of(const std::int64_t* x, std::int64_t stride, std::int64_t n) {
  Range range;
  const ReduceTile line{1, 0, n, stride};
  reduce_tile(ReduceOp::min, x, line, &range.low);
  reduce_tile(ReduceOp::max, x, line, &range.high);
  return range;
}

}  // namespace

void gather(const View& x, int dim, const View& index, const View& out) {
  if (numel(out.shape) == 0) return;
  switch (size_of(x.dtype)) {
    case 1: return run_gather<std::uint8_t>(x, dim, index, out);
    case 2: return run_gather<std::uint16_t>(x, dim, index, out);
    case 4: return run_gather<std::uint32_t>(x, dim, index, out);
    default: return run_gather<std::uint64_t>(x, dim, index, out);
  }
}

void scatter_add(const View& g, int dim, const View& index, const View& out) {
  if (numel(index.shape) == 0) return;
  if (out.dtype == DType::f32 && g.dtype == DType::bf16)
    return run_scatter_add<float, scalar::BFloat16>(g, dim, index, out);
  if (out.dtype == DType::f32 && g.dtype == DType::f16)
    return run_scatter_add<float, scalar::Float16>(g, dim, index, out);
  if (out.dtype == DType::f32) return run_scatter_add<float>(g, dim, index, out);
  if (out.dtype == DType::f64) return run_scatter_add<double>(g, dim, index, out);
  // Unsigned, because a sum that overflows wraps.
  if (out.dtype == DType::i64) return run_scatter_add<std::uint64_t>(g, dim, index, out);
  if (out.dtype == DType::i32) return run_scatter_add<std::uint32_t>(g, dim, index, out);
  run_scatter_add<std::uint8_t>(g, dim, index, out);
}

void scatter(const View& source, int dim, const View& index, const View& out) {
  if (numel(index.shape) == 0) return;
  switch (size_of(out.dtype)) {
    case 1: return run_scatter<std::uint8_t>(source, dim, index, out);
    case 2: return run_scatter<std::uint16_t>(source, dim, index, out);
    case 4: return run_scatter<std::uint32_t>(source, dim, index, out);
    default: return run_scatter<std::uint64_t>(source, dim, index, out);
  }
}

void index_range(const View& index, std::int64_t* low, std::int64_t* high) {
  *low = 0;
  *high = -1;
  if (numel(index.shape) == 0) return;
  Coalesced<1> dims;  // except those of stride 0, which repeat earlier ones
  for (int d = 0; d < index.shape.rank(); ++d)
    if (index.shape[d] != 1 && index.strides[d] != 0)
      dims.push(index.shape[d], 1, [&](int) { return index.strides[d]; });
  if (dims.rank == 0) dims.push(1, 1, [](int) { return 1; });
  const int last = dims.rank - 1;
  const std::int64_t n = dims.sizes[last], stride = dims.strides[0][last];
  const std::int64_t rows =
      std::accumulate(dims.sizes, dims.sizes + last, std::int64_t{1}, std::multiplies<>());
  const std::int64_t chunk = std::min(n, kGrain), chunks = (n + chunk - 1) / chunk, pieces = rows * chunks;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / chunk);
  std::vector<Range> found(static_cast<std::size_t>((pieces + grain - 1) / grain));
  parallel_for(pieces, grain, [&](std::int64_t b, std::int64_t e) {
    Range& range = found[static_cast<std::size_t>(b / grain)];
    for (std::int64_t p = b; p < e; ++p) {
      const std::int64_t first = p % chunks * chunk;
      std::int64_t rest = p / chunks, at = first * stride;
      for (int d = last - 1; d >= 0; --d) {
        at += rest % dims.sizes[d] * dims.strides[0][d];
        rest /= dims.sizes[d];
      }
      const Range here = range_of(index.as<const std::int64_t>() + at, stride, std::min(chunk, n - first));
      range.add(here.low, here.high);
    }
  });
  Range all;
  for (const Range& r : found) all.add(r.low, r.high);
  *low = all.low;
  *high = all.high;
}

}  // namespace veldt::cpu
