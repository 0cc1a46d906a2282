// Where the largest element of each window is.
#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/core/pooling.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 13;  // elements of a task

template <class T> void pool_plane(const PoolLayout& p, const T* x, std::int64_t* index) {
  for (std::int64_t a = 0; a < p.out[0]; ++a) {
    const PoolLayout::Window depth = p.window(0, a);
    for (std::int64_t b = 0; b < p.out[1]; ++b) {
      const PoolLayout::Window height = p.window(1, b);
      for (std::int64_t c = 0; c < p.out[2]; ++c) {
        const PoolLayout::Window width = p.window(2, c);
        std::int64_t found = (depth.begin * p.in[1] + height.begin) * p.in[2] + width.begin;
        T most = x[found];
        for (std::int64_t i = depth.begin; i < depth.end; i += depth.step)
          for (std::int64_t j = height.begin; j < height.end; j += height.step)
            for (std::int64_t k = width.begin; k < width.end; k += width.step) {
              const std::int64_t at = (i * p.in[1] + j) * p.in[2] + k;
              if (x[at] > most || (x[at] != x[at] && most == most)) {  // the first NaN stays
                most = x[at];
                found = at;
              }
            }
        *index++ = found;
      }
    }
  }
}

template <class T> void run(const PoolLayout& p, const View& x, const View& index) {
  parallel_for(p.planes, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, p.inputs())),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane)
                   pool_plane(p, x.as<const T>() + plane * p.inputs(),
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
