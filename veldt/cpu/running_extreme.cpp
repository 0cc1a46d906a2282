// Where the largest or smallest element up to each position of a line is.
#include <cstdint>

#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"
#include "veldt/kernels/order_key.h"

namespace veldt::cpu {

void running_extreme(ReduceOp op, const View& x, int dim, const View& index) {
  const std::int64_t n = x.shape[dim], step = x.strides[dim], index_step = index.strides[dim];
  if (n == 0) return;
  scalar::with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_line(std::array{&x, &index}, dim, [&](const auto& at) {
      const T* from = x.as<const T>() + at[0];
      std::int64_t *to = index.as<std::int64_t>() + at[1], best = 0;
      std::uint64_t highest = 0;
      for (std::int64_t k = 0; k < n; ++k, from += step, to += index_step) {
        const std::uint64_t key = rank_key(*from, op == ReduceOp::max);
        best = key >= highest ? k : best;
        highest = key >= highest ? key : highest;
        *to = best;
      }
    });
  });
}

}  // namespace veldt::cpu
