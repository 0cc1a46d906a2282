// The largest element of each window, and where it is: one thread a window.
#include "veldt/core/pooling.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

template <class T, bool kAdaptive>
__global__ void __launch_bounds__(kThreads)
    pool_kernel(PoolLayout p, const T* all, T* out, std::int64_t* index) {
  const std::int64_t count = p.planes * p.outputs();
  for (std::int64_t o = first_element(); o < count; o += element_step()) {
    const std::int64_t plane = o / p.outputs(), place = o - plane * p.outputs();
    const std::int64_t row = place / p.out[2], slice = row / p.out[1];
    const PoolLayout::Window depth = p.window<kAdaptive>(0, slice),
                             height = p.window<kAdaptive>(1, row - slice * p.out[1]),
                             width = p.window<kAdaptive>(2, place - row * p.out[2]);
    const T* const x = all + plane * p.inputs();
    std::int64_t found = (depth.begin * p.in[1] + height.begin) * p.in[2] + width.begin;
    T most = x[found];
    GPU_ROLLED
    for (std::int64_t i = depth.begin; i < depth.end; i += depth.step) GPU_ROLLED
    for (std::int64_t j = height.begin; j < height.end; j += height.step) GPU_ROLLED
    for (std::int64_t k = width.begin; k < width.end; k += width.step) {
      const std::int64_t at = (i * p.in[1] + j) * p.in[2] + k;
      const T value = x[at];
      if (value > most || (value != value && most == most)) {  // the first NaN stays
        most = value;
        found = at;
      }
    }
    out[o] = most;
    if (index) index[o] = found;
  }
}

template <class T> void run(const PoolLayout& p, const View& x, const View& out, const View* index) {
  const std::int64_t count = p.planes * p.outputs();
  if (count > 0)
    launch(p.adaptive ? pool_kernel<T, true> : pool_kernel<T, false>, blocks_for(count), kThreads, 0, p,
           x.as<const T>(), out.as<T>(), index ? index->as<std::int64_t>() : nullptr);
}

}  // namespace

void max_pool(const PoolLayout& layout, const View& x, const View& out, const View* index) {
  if (x.dtype == DType::f32) return run<float>(layout, x, out, index);
  run<double>(layout, x, out, index);
}

}  // namespace veldt::cuda
