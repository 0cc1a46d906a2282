// Softmax and its logarithm along one dimension: the largest element of each line, the sum of the
// exponentials, and the results, in three passes over a line that the caches hold. Their gradients: a sum and
// the results.
#include <cmath>
#include <limits>

#include "veldt/cuda/fold-inl.h"
#include "veldt/cuda/kernels.h"
#include "veldt/kernels/convert.h"
#include "veldt/kernels/math-inl.h"

namespace veldt::cuda {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// A NaN wins.
template <class T> struct Largest {
  using State = double;
  __device__ double start() const { return kNothing; }
  __device__ double of(T x, std::int64_t) const { return static_cast<double>(scalar::load(x)); }
  __device__ double join(double a, double b) const { return b > a || b != b ? b : a; }
};

// F: what a T is computed as, Y: what the result is stored as.
template <class T, class F, class Y>
__global__ void __launch_bounds__(kThreads) softmax_kernel(Lines l, bool log, const T* x, Y* out) {
  GPU_SHARED(double, shared, kThreads);
  const Lane lane(l);
  const std::int64_t lines = std::int64_t{kThreads} >> l.lane_bits, length = l.along.count;
  for (std::int64_t first = blockIdx.x * lines; first < l.kept.count; first += gridDim.x * lines) {
    const bool there = first + lane.line < l.kept.count;
    std::int64_t line[2] = {0, 0};
    if (there) offsets_of(l.kept, first + lane.line, line);
    const std::int64_t end = there ? length : 0;
    const Largest<T> largest;
    const F most =
        static_cast<F>(join_lanes(largest, lane, fold_lane(largest, l, lane, x + line[0], 0, end), shared));
    double own = 0;
    for (std::int64_t r = lane.index; r < end; r += lane.count) {
      std::int64_t at[1];
      offsets_of(l.along, r, at);
      own += static_cast<double>(scalar::exp(scalar::load(x[line[0] + at[0]]) - most));
    }
    const double sum = join_lanes(Add{}, lane, own, shared);
    const F total = static_cast<F>(sum), shift = static_cast<F>(::log(sum));
    for (std::int64_t r = lane.index; r < end; r += lane.count) {
      std::int64_t at[2];
      offsets_of(l.along, r, at);
      const F above = scalar::load(x[line[0] + at[0]]) - most;
      out[line[1] + at[1]] = scalar::store<Y>(log ? above - shift : scalar::exp(above) / total);
    }
  }
}

// With y the result and g its gradient: of softmax y (g - sum of (y g)), of its logarithm g - e^y sum of g.
// The views in order are y, dx and g.
template <class T, class F>
__global__ void __launch_bounds__(kThreads)
    softmax_slope_kernel(Lines l, bool log, const T* y, const T* g, T* dx) {
  GPU_SHARED(double, shared, kThreads);
  const Lane lane(l);
  const std::int64_t lines = std::int64_t{kThreads} >> l.lane_bits, length = l.along.count;
  for (std::int64_t first = blockIdx.x * lines; first < l.kept.count; first += gridDim.x * lines) {
    const bool there = first + lane.line < l.kept.count;
    std::int64_t line[3] = {0, 0, 0};
    if (there) offsets_of(l.kept, first + lane.line, line);
    const std::int64_t end = there ? length : 0;
    double own = 0;
    for (std::int64_t r = lane.index; r < end; r += lane.count) {
      std::int64_t at[3];
      offsets_of(l.along, r, at);
      const F by = scalar::load(g[line[2] + at[2]]);
      own += static_cast<double>(log ? by : by * scalar::load(y[line[0] + at[0]]));
    }
    const F all = static_cast<F>(join_lanes(Add{}, lane, own, shared));
    for (std::int64_t r = lane.index; r < end; r += lane.count) {
      std::int64_t at[3];
      offsets_of(l.along, r, at);
      const F by = scalar::load(g[line[2] + at[2]]), value = scalar::load(y[line[0] + at[0]]);
      dx[line[1] + at[1]] = scalar::store<T>(log ? by - scalar::exp(value) * all : value * (by - all));
    }
  }
}

template <class T, class F = T>
void run_softmax_slope(bool log, const View& y, const View& g, int dim, const View& dx) {
  Lines l = lines_of(y, dx, 1u << dim, false);
  l.kept = axes_of({&y, &dx, &g}, ~(1u << dim));
  l.along = axes_of({&y, &dx, &g}, 1u << dim);
  launch(softmax_slope_kernel<T, F>, l.blocks(), kThreads, 0, l, log, y.as<const T>(), g.as<const T>(),
         dx.as<T>());
}

template <class T, class F = T, class Y = T>
void run_softmax(bool log, const View& x, int dim, const View& out) {
  const Lines l = lines_of(x, out, 1u << dim, false);
  launch(softmax_kernel<T, F, Y>, l.blocks(), kThreads, 0, l, log, x.as<const T>(), out.as<Y>());
}

}  // namespace

void softmax(bool log, const View& x, int dim, const View& out) {
  if (numel(out.shape) == 0) return;
  if (x.dtype == DType::f32) return run_softmax<float>(log, x, dim, out);
  if (x.dtype == DType::f64) return run_softmax<double>(log, x, dim, out);
  using scalar::BFloat16, scalar::Float16;
  const bool wide = out.dtype == DType::f32;
  if (x.dtype == DType::bf16)
    return (wide ? run_softmax<BFloat16, float, float> : run_softmax<BFloat16, float>)(log, x, dim, out);
  (wide ? run_softmax<Float16, float, float> : run_softmax<Float16, float>)(log, x, dim, out);
}

void softmax_slope(bool log, const View& y, const View& g, int dim, const View& dx) {
  if (numel(dx.shape) == 0) return;
  if (y.dtype == DType::f32) return run_softmax_slope<float>(log, y, g, dim, dx);
  if (y.dtype == DType::f64) return run_softmax_slope<double>(log, y, g, dim, dx);
  if (y.dtype == DType::bf16) return run_softmax_slope<scalar::BFloat16, float>(log, y, g, dim, dx);
  run_softmax_slope<scalar::Float16, float>(log, y, g, dim, dx);
}

}  // namespace veldt::cuda
