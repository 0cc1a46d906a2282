// Batch norms: blocks sum pieces of a channel in f64, a thread a channel joins them, and all elements are
// written in one pass.
#include <limits>

#include "veldt/cuda/kernels.h"
#include "veldt/cuda/quotient.h"
#include "veldt/cuda/runtime.h"
#include "veldt/cuda/scratch.h"
#include "veldt/kernels/batch_norm.h"
#include "veldt/kernels/convert.h"

namespace veldt::cuda {
namespace {

constexpr unsigned kWarp = 32, kWarps = kThreads / kWarp;
// Blocks of a multiprocessor: left to itself, ptxas spills doubles for a fifth.
constexpr unsigned kBlocks = 4;

// A view [n, channels, run]; the numbers of a channel are summed in `chunks` pieces.
struct Channels {
  std::int64_t count, each, chunk, chunks;  // channels, the numbers of each, and those of a piece
  Quotient channels, run;

  explicit Channels(const View& x)
      : count(x.shape[1]), each(x.shape[0] * x.shape[2]), channels(x.shape[1]), run(x.shape[2]) {
    constexpr std::int64_t kLeast = 16 * kThreads, kMost = 64;  // numbers of a piece, and pieces
    chunk = std::max(kLeast, (each + kMost - 1) / kMost);
    chunks = (each + chunk - 1) / chunk;
  }
  std::int64_t numbers() const { return count * each; }
  // Where number i of channel c is, and the channel of the number at a place.
  __device__ std::int64_t place(std::int64_t c, std::int64_t i) const {
    const std::int64_t row = run.of(i);
    return (row * count + c) * run.divisor + i - row * run.divisor;
  }
  __device__ std::int64_t channel(std::int64_t place) const {
    const std::int64_t row = run.of(place);
    return row - channels.of(row) * count;
  }
};

// The sum over the block, for its first thread.
__device__ inline double block_sum(double own, double* shared) {
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) own += __shfl_xor_sync(gpu::kWholeWarp, own, apart);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = own;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (unsigned w = 0; w < kWarps; ++w) sum += shared[w];
  __syncthreads();
  return sum;
}

// partials [chunks, 2, channels]: of the distances from the channel's first number and of their squares; or,
// for a gradient g, of g and of g times the distance from the mean.
template <class T, class F>
__global__ void __launch_bounds__(kThreads, kBlocks)
    sums_kernel(Channels l, const T* x, const T* g, const F* means, double* partials) {
  GPU_SHARED(double, shared, kWarps);
  for (std::int64_t item = blockIdx.x; item < l.count * l.chunks; item += gridDim.x) {
    const std::int64_t c = item % l.count, part = item / l.count;
    const std::int64_t end = (part + 1) * l.chunk < l.each ? (part + 1) * l.chunk : l.each;
    const double origin = static_cast<double>(g ? means[c] : scalar::load(x[c * l.run.divisor]));
    double one = 0, two = 0;
    for (std::int64_t i = part * l.chunk + threadIdx.x; i < end; i += kThreads) {
      const std::int64_t at = l.place(c, i);
      const double off = static_cast<double>(scalar::load(x[at])) - origin;
      const double by = g ? static_cast<double>(scalar::load(g[at])) : off;
      one += by;
      two += by * off;
    }
    one = block_sum(one, shared);
    two = block_sum(two, shared);
    if (threadIdx.x == 0) {
      partials[(part * 2 + 0) * l.count + c] = one;
      partials[(part * 2 + 1) * l.count + c] = two;
    }
  }
}

__device__ inline double joined(const Channels& l, const double* partials, int which, std::int64_t c) {
  double sum = 0;
  for (std::int64_t part = 0; part < l.chunks; ++part) sum += partials[(part * 2 + which) * l.count + c];
  return sum;
}

template <class F>
__device__ inline double scale_of(const F* moments, const Channels& l, std::int64_t c, double eps) {
  return 1 / ::sqrt(static_cast<double>(moments[l.count + c]) + eps);
}

// factors: what distances from the mean are multiplied by.
template <class T, class F>
__global__ void __launch_bounds__(kThreads, kBlocks)
    moments_kernel(Channels l, double eps, const T* x, const F* weight, const double* partials, F* moments,
                   F* factors) {
  for (std::int64_t c = first_element(); c < l.count; c += element_step()) {
    const scalar::ChannelMoments found(static_cast<double>(scalar::load(x[c * l.run.divisor])),
                                       joined(l, partials, 0, c), joined(l, partials, 1, c),
                                       static_cast<double>(l.each));
    moments[c] = static_cast<F>(found.mean);
    moments[l.count + c] = static_cast<F>(found.variance);
    const double scale = scale_of(moments, l, c, eps);
    factors[c] = static_cast<F>(weight ? static_cast<double>(weight[c]) * scale : scale);
  }
}

template <class T, class F>
__global__ void __launch_bounds__(kThreads, kBlocks)
    apply_kernel(Channels l, const T* x, const F* moments, const F* factors, const F* bias, T* y) {
  for (std::int64_t i = first_element(); i < l.count * l.each; i += element_step()) {
    const std::int64_t c = l.channel(i);
    const F v = (scalar::load(x[i]) - moments[c]) * factors[c];
    y[i] = scalar::store<T>(bias ? v + bias[c] : v);
  }
}

template <class F> struct Slopes {
  F *by_g, *by_off, *shift, *dweight, *dbias;  // of each channel; the last two may be null
};

template <class F>
__global__ void __launch_bounds__(kThreads, kBlocks)
    slopes_kernel(Channels l, double eps, const F* weight, const F* moments, const double* partials,
                  Slopes<F> to) {
  for (std::int64_t c = first_element(); c < l.count; c += element_step()) {
    const double of_g = joined(l, partials, 0, c), of_off = joined(l, partials, 1, c),
                 scale = scale_of(moments, l, c, eps);
    const scalar::ChannelSlope<F> found(scale, weight ? static_cast<double>(weight[c]) : 1, of_g, of_off,
                                        static_cast<double>(l.each));
    to.by_g[c] = found.by_g;
    to.by_off[c] = found.by_off;
    to.shift[c] = found.shift;
    if (to.dweight) to.dweight[c] = static_cast<F>(of_off * scale);
    if (to.dbias) to.dbias[c] = static_cast<F>(of_g);
  }
}

template <class T, class F>
__global__ void __launch_bounds__(kThreads, kBlocks)
    slope_kernel(Channels l, const T* x, const T* g, const F* moments, Slopes<F> by, T* dx) {
  for (std::int64_t i = first_element(); i < l.count * l.each; i += element_step()) {
    const std::int64_t c = l.channel(i);
    const F off = scalar::load(x[i]) - moments[c];
    dx[i] = scalar::store<T>(scalar::load(g[i]) * by.by_g[c] + (off * by.by_off[c] + by.shift[c]));
  }
}

template <class T> T* data_or_null(const View* v) { return v ? v->as<T>() : nullptr; }

template <class T, class F>
void find_sums(const Channels& l, const View& x, const T* g, const F* means, const Scratch& partials) {
  launch(sums_kernel<T, F>, blocks_for(l.count * l.chunks * kThreads), kThreads, 0, l, x.as<const T>(), g,
         means, partials.as<double>());
}
std::size_t bytes_of_sums(const Channels& l) {
  return static_cast<std::size_t>(2 * l.chunks * l.count) * sizeof(double);
}

template <class T, class F = T>
void run(double eps, const View& x, const View* weight, const View* bias, const View& moments,
         const View& y) {
  const Channels l(x);
  const std::size_t sums = bytes_of_sums(l);
  const Scratch held(sums + static_cast<std::size_t>(l.count) * sizeof(F));
  F* const factors = held.as<F>(sums);
  find_sums<T, F>(l, x, nullptr, nullptr, held);
  launch(moments_kernel<T, F>, blocks_for(l.count), kThreads, 0, l, eps, x.as<const T>(),
         data_or_null<const F>(weight), held.as<const double>(), moments.as<F>(), factors);
  launch(apply_kernel<T, F>, blocks_for(l.numbers()), kThreads, 0, l, x.as<const T>(), moments.as<const F>(),
         factors, data_or_null<const F>(bias), y.as<T>());
}

template <class T, class F = T>
void run_slope(double eps, const View& x, const View* weight, const View& moments, const View& g,
               const View& dx, const View* dweight, const View* dbias) {
  const Channels l(x);
  const std::size_t sums = bytes_of_sums(l), list = static_cast<std::size_t>(l.count) * sizeof(F);
  const Scratch held(sums + 3 * list);
  find_sums<T, F>(l, x, g.as<const T>(), moments.as<const F>(), held);
  const Slopes<F> slopes = {held.as<F>(sums), held.as<F>(sums + list), held.as<F>(sums + 2 * list),
                            data_or_null<F>(dweight), data_or_null<F>(dbias)};
  launch(slopes_kernel<F>, blocks_for(l.count), kThreads, 0, l, eps, data_or_null<const F>(weight),
         moments.as<const F>(), held.as<const double>(), slopes);
  launch(slope_kernel<T, F>, blocks_for(l.numbers()), kThreads, 0, l, x.as<const T>(), g.as<const T>(),
         moments.as<const F>(), slopes, dx.as<T>());
}

}  // namespace

void batch_norm(double eps, const View& x, const View* weight, const View* bias, const View& moments,
                const View& y) {
  if (numel(x.shape) == 0) return fill(moments, std::numeric_limits<double>::quiet_NaN());
  if (x.dtype == DType::f32) return run<float>(eps, x, weight, bias, moments, y);
  if (x.dtype == DType::f64) return run<double>(eps, x, weight, bias, moments, y);
  if (x.dtype == DType::bf16) return run<scalar::BFloat16, float>(eps, x, weight, bias, moments, y);
  run<scalar::Float16, float>(eps, x, weight, bias, moments, y);
}

void batch_norm_slope(double eps, const View& x, const View* weight, const View& moments, const View& g,
                      const View& dx, const View* dweight, const View* dbias) {
  if (numel(x.shape) == 0) {
    for (const View* total : {dweight, dbias})
      if (total) fill(*total, 0);
    return;
  }
  if (x.dtype == DType::f32) return run_slope<float>(eps, x, weight, moments, g, dx, dweight, dbias);
  if (x.dtype == DType::f64) return run_slope<double>(eps, x, weight, moments, g, dx, dweight, dbias);
  if (x.dtype == DType::bf16)
    return run_slope<scalar::BFloat16, float>(eps, x, weight, moments, g, dx, dweight, dbias);
  run_slope<scalar::Float16, float>(eps, x, weight, moments, g, dx, dweight, dbias);
}

}  // namespace veldt::cuda
