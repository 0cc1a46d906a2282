// Where the largest or smallest element up to each position of a line is. A line is one thread's.
#include "veldt/cuda/axes.h"
#include "veldt/cuda/kernels.h"
#include "veldt/kernels/order_key.h"

namespace veldt::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads)
    running_extreme_kernel(Axes lines, bool largest, std::int64_t length, std::int64_t step,
                           std::int64_t index_step, const T* x, std::int64_t* index) {
  for (std::int64_t line = first_element(); line < lines.count; line += element_step()) {
    std::int64_t at[2], best = 0;
    offsets_of(lines, line, at);
    std::uint64_t highest = 0;
    for (std::int64_t k = 0; k < length; ++k) {
      const std::uint64_t key = rank_key(x[at[0] + k * step], largest);
      best = key >= highest ? k : best;
      highest = key >= highest ? key : highest;
      index[at[1] + k * index_step] = best;
    }
  }
}

}  // namespace

void running_extreme(ReduceOp op, const View& x, int dim, const View& index) {
  if (numel(x.shape) == 0) return;
  const Axes lines = axes_of({&x, &index}, ~(1u << dim));
  scalar::with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    launch(running_extreme_kernel<T>, blocks_for(lines.count), kThreads, 0, lines, op == ReduceOp::max,
           x.shape[dim], x.strides[dim], index.strides[dim], x.as<const T>(), index.as<std::int64_t>());
  });
}

}  // namespace veldt::cuda
