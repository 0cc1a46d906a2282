// Walks views along one dimension: ops whose result at one position depends on others of the same line.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "veldt/core/threads.h"
#include "veldt/core/view.h"

namespace veldt::cpu {

// Calls body(at) for each line along `dim`; at[k] is the offset of its first element in views[k]. The views
// have the shape of the first, but for their size along `dim`. Runs in parallel.
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

}  // namespace veldt::cpu
