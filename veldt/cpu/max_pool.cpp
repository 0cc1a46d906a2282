// Where the largest element of each window is.
#include <algorithm>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/pooling.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 13;  // elements of a task

using Windows = std::vector<PoolLayout::Window>;

Windows windows_of(const PoolLayout& p, int d) {
  Windows windows;
  for (std::int64_t i = 0; i < p.out[d]; ++i) windows.push_back(p.window(d, i));
  return windows;
}

// No branch depends on the numbers: of noise every other one would be guessed wrong.
template <class T>
void pool_plane(const PoolLayout& p, const Windows (&windows)[3], const T* x, std::int64_t* index) {
  for (const PoolLayout::Window& depth : windows[0])
    for (const PoolLayout::Window& height : windows[1])
      for (const PoolLayout::Window& width : windows[2]) {
        std::int64_t found = (depth.begin * p.in[1] + height.begin) * p.in[2] + width.begin;
        T most = x[found];
        for (std::int64_t i = depth.begin; i < depth.end; i += depth.step)
          for (std::int64_t j = height.begin; j < height.end; j += height.step)
            for (std::int64_t k = width.begin; k < width.end; k += width.step) {
              const std::int64_t at = (i * p.in[1] + j) * p.in[2] + k;
              const bool more = !(x[at] <= most) & (most == most);  // the first NaN stays
              found ^= (found ^ at) & -static_cast<std::int64_t>(more);
              most = x[found];
            }
        *index++ = found;
      }
}

template <class T> void run(const PoolLayout& p, const View& x, const View& index) {
  const Windows windows[3] = {windows_of(p, 0), windows_of(p, 1), windows_of(p, 2)};
  parallel_for(p.planes, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, p.inputs())),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane)
                   pool_plane(p, windows, x.as<const T>() + plane * p.inputs(),
                              index.as<std::int64_t>() + plane * p.outputs());
               });
}

}  // namespace

void max_pool(const PoolLayout& layout, const View& x, const View& index, Stream) {
  if (x.dtype == DType::f32) return run<float>(layout, x, index);
  if (x.dtype == DType::f64) return run<double>(layout, x, index);
  throw DeviceError(str("the cpu cannot pool tensors of ", x.dtype), "it has kernels for f32 and f64",
                    "convert them to f32");
}

}  // namespace veldt::cpu
