// Walks views along one dimension: ops whose result at one position depends on others of the same line.
// Tests: tests/cpu/reduce_test.cpp, tests/ops/lines_test.cpp, tests/ops/order_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "veldt/core/threads.h"
#include "veldt/core/view.h"

namespace veldt::cpu {

// Calls body(at) for each line along `dim`; at[k] is the offset of its first element in views[k]. The views
// have the shape of the first, except for their size along `dim`. Runs in parallel.
template <std::size_t N, class Body>
void for_each_line(const std::array<const View*, N>& views, int dim, const Body& body) {
  constexpr std::int64_t kGrain = 1 << 13;  // elements a task
  const Shape& shape = views[0]->shape;
  std::int64_t lines = 1;
  for (int d = 0; d < shape.rank(); ++d)
    if (d != dim) lines *= shape[d];
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, shape[dim]));
  parallel_for(lines, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::array<std::int64_t, N> at{};
      std::int64_t rest = i;
      for (int d = shape.rank() - 1; d >= 0; --d) {
        if (d == dim) continue;
        for (std::size_t k = 0; k < N; ++k) at[k] += rest % shape[d] * views[k]->strides[d];
        rest /= shape[d];
      }
      body(at);
    }
  });
}

// Consecutive lines along another dimension: in view k the first begins at at[k], and neighbours are apart[k]
// from each other.
template <std::size_t N> struct Bundle {
  std::array<std::int64_t, N> at, apart;
  std::int64_t count;
  bool dense;  // neighbours in the memory of all views
};

// Calls body(bundle) for all lines along `dim`, in bundles of up to kMostLines, dense where the views allow
// it. The bundles may depend on the number of threads. Runs in parallel.
inline constexpr std::int64_t kMostLines = 1024;
template <std::size_t N, class Body>
void for_each_bundle(const std::array<const View*, N>& views, int dim, const Body& body) {
  constexpr std::int64_t kGrain = 1 << 13;  // elements a task
  constexpr std::int64_t kStep = 64;        // lines: as many as registers hold
  const Shape& shape = views[0]->shape;
  Bundle<N> whole{{}, {}, 1, false};
  int along = -1;  // the dimension of bundles: one in which all are dense, or else the largest
  for (int d = 0; d < shape.rank(); ++d) {
    const bool dense =
        std::all_of(views.begin(), views.end(), [&](const View* v) { return v->strides[d] == 1; });
    if (d == dim || shape[d] == 1 || whole.dense || (!dense && shape[d] <= whole.count)) continue;
    along = d;
    whole.count = shape[d];
    whole.dense = dense;
  }
  if (along >= 0)
    for (std::size_t k = 0; k < N; ++k) whole.apart[k] = views[k]->strides[along];
  std::int64_t outer = 1;
  for (int d = 0; d < shape.rank(); ++d)
    if (d != dim && d != along) outer *= shape[d];
  const std::int64_t width = outer >= 4 * threads_here() ? std::min(whole.count, kMostLines)
                                                         : even_grain(whole.count, kMostLines, kStep);
  const std::int64_t pieces = (whole.count + width - 1) / width;
  const std::int64_t work = std::max<std::int64_t>(1, shape[dim] * width);
  parallel_for(outer * pieces, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t i = b; i < e; ++i) {
      Bundle<N> bundle = whole;
      const std::int64_t first = i % pieces * width;
      bundle.count = std::min(width, whole.count - first);
      for (std::size_t k = 0; k < N; ++k) bundle.at[k] = first * whole.apart[k];
      std::int64_t rest = i / pieces;
      for (int d = shape.rank() - 1; d >= 0; --d) {
        if (d == dim || d == along) continue;
        for (std::size_t k = 0; k < N; ++k) bundle.at[k] += rest % shape[d] * views[k]->strides[d];
        rest /= shape[d];
      }
      body(bundle);
    }
  });
}

}  // namespace veldt::cpu
