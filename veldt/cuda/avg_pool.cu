// The mean of each window, a few threads a window, and the transpose of that, one thread an element.
#include "veldt/core/pooling.h"
#include "veldt/cuda/fold-inl.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

constexpr std::int64_t kElementsOfLane = 16;  // at least, of a row of a window

// Element or window `place` of a plane whose sizes are `sizes`.
struct Place {
  std::int64_t at[3];
  __device__ Place(std::int64_t place, const std::int64_t (&sizes)[3])
      : at{place / (sizes[1] * sizes[2]), place / sizes[2] % sizes[1], place % sizes[2]} {}
};

template <class T> struct Sum {
  using State = T;
  __device__ T join(T a, T b) const { return a + b; }
};

// The lanes of a window share each of its rows.
template <class T>
__global__ void __launch_bounds__(kThreads) mean_kernel(PoolLayout p, Lines l, const T* x, T* y) {
  GPU_SHARED(T, shared, kThreads);
  const Lane lane(l);
  const std::int64_t windows = std::int64_t{kThreads} >> l.lane_bits, count = p.planes * p.outputs();
  for (std::int64_t group = blockIdx.x * windows; group < count; group += gridDim.x * windows) {
    const std::int64_t o = group + lane.line, plane = o / p.outputs();
    const Place place(o - plane * p.outputs(), p.out);
    T sum = 0;
    if (o < count) {
      const PoolLayout::Window depth = p.window(0, place.at[0]), height = p.window(1, place.at[1]),
                               width = p.window(2, place.at[2]);
      GPU_ROLLED
      for (std::int64_t i = depth.begin; i < depth.end; ++i) GPU_ROLLED
      for (std::int64_t j = height.begin; j < height.end; ++j) GPU_ROLLED
      for (std::int64_t k = width.begin + lane.index; k < width.end; k += lane.count)
        sum += x[plane * p.inputs() + (i * p.in[1] + j) * p.in[2] + k];
    }
    if (lane.count > 1) sum = join_lanes(Sum<T>(), lane, sum, shared);
    if (o < count && lane.index == 0)
      y[o] = sum / static_cast<T>(p.averaged(0, place.at[0]) * p.averaged(1, place.at[1]) *
                                  p.averaged(2, place.at[2]));
  }
}

// The windows of dimension d that element i is in: from `first` on, `end` no more.
struct Reach {
  std::int64_t first, end;
  __device__ Reach(const PoolLayout& p, int d, std::int64_t i) {
    if (p.adaptive) {  // o is the first whose end, (o + 1) in / out rounded up, is behind i; and so the last
      first = i * p.out[d] / p.in[d];
      end = ((i + 1) * p.out[d] - 1) / p.in[d] + 1;
      return;
    }
    const std::int64_t least = i + p.padding[d] - p.kernel[d] + 1, last = (i + p.padding[d]) / p.stride[d];
    first = least > 0 ? (least + p.stride[d] - 1) / p.stride[d] : 0;
    end = last < p.out[d] ? last + 1 : p.out[d];
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads) spread_kernel(PoolLayout p, const T* g, T* dx) {
  const std::int64_t count = p.planes * p.inputs();
  for (std::int64_t at = first_element(); at < count; at += element_step()) {
    const std::int64_t plane = at / p.inputs();
    const Place place(at - plane * p.inputs(), p.in);
    const Reach depth(p, 0, place.at[0]), height(p, 1, place.at[1]), width(p, 2, place.at[2]);
    T sum = 0;
    GPU_ROLLED
    for (std::int64_t i = depth.first; i < depth.end; ++i) GPU_ROLLED
    for (std::int64_t j = height.first; j < height.end; ++j) {
      const std::int64_t rows = p.averaged(0, i) * p.averaged(1, j);
      GPU_ROLLED
      for (std::int64_t k = width.first; k < width.end; ++k)
        sum += g[plane * p.outputs() + (i * p.out[1] + j) * p.out[2] + k] /
               static_cast<T>(rows * p.averaged(2, k));
    }
    dx[at] = sum;
  }
}

// A thread a window, or up to a block where its rows are long.
Lines lanes_of(const PoolLayout& p) {
  Lines l;
  l.rows = true;
  l.kept.count = p.planes * p.outputs();
  const std::int64_t row = p.adaptive ? p.in[2] / p.out[2] : p.kernel[2];
  while (l.lane_bits < kThreadBits && row >> l.lane_bits >= 2 * kElementsOfLane) ++l.lane_bits;
  return l;
}

template <class T> void run(const PoolLayout& p, bool transposed, const View& from, const View& to) {
  const T* const x = from.as<const T>();
  if (transposed) {
    if (const std::int64_t count = p.planes * p.inputs(); count > 0)
      launch(spread_kernel<T>, blocks_for(count), kThreads, 0, p, x, to.as<T>());
  } else if (const Lines l = lanes_of(p); l.kept.count > 0) {
    launch(mean_kernel<T>, l.blocks(), kThreads, 0, p, l, x, to.as<T>());
  }
}

}  // namespace

void avg_pool(const PoolLayout& layout, bool transposed, const View& from, const View& to) {
  if (from.dtype == DType::f32) return run<float>(layout, transposed, from, to);
  run<double>(layout, transposed, from, to);
}

}  // namespace veldt::cuda
