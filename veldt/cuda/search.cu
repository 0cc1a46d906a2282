// Where numbers fall among the rising numbers of a line: a thread halves what is left for each.
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

__global__ void __launch_bounds__(kThreads)
    search_kernel(std::int64_t n, std::int64_t k, std::int64_t count, const double* x, const double* values,
                  std::int64_t* out) {
  for (std::int64_t i = first_element(); i < count; i += element_step()) {
    const double* const line = x + i / k * n;
    std::int64_t begin = 0, end = n;
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (line[middle] <= values[i])
        begin = middle + 1;
      else
        end = middle;
    }
    out[i] = begin;
  }
}

}  // namespace

void search(const View& x, const View& values, const View& out) {
  const std::int64_t count = numel(out.shape);
  if (count == 0) return;
  launch(search_kernel, blocks_for(count), kThreads, 0, x.shape[1], values.shape[1], count,
         x.as<const double>(), values.as<const double>(), out.as<std::int64_t>());
}

}  // namespace veldt::cuda
