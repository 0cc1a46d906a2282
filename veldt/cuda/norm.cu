// Layer norms: a warp a line, in sums of f64; gradients of weight and bias by column, in two stages.
#include "veldt/core/error.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"
#include "veldt/cuda/scratch.h"

namespace veldt::cuda {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::int64_t kWarps = kThreads / kWarp;

__device__ inline double warp_sum(double x) {
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(gpu::kWholeWarp, x, apart);
  return x;
}

// The sum of of(i) over 0..n, for all lanes.
template <class Of> __device__ inline double line_sum(std::int64_t n, const Of& of) {
  double own = 0;
  for (std::int64_t i = threadIdx.x % kWarp; i < n; i += kWarp) own += of(i);
  return warp_sum(own);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    norm_kernel(bool centred, double eps, std::int64_t lines, std::int64_t n, const T* all, const T* weight,
                const T* bias, T* moments, T* out) {
  for (std::int64_t line = blockIdx.x * kWarps + threadIdx.x / kWarp; line < lines;
       line += gridDim.x * kWarps) {
    const T* const x = all + line * n;
    const double count = static_cast<double>(n);
    const T mean =
        centred ? static_cast<T>(line_sum(n, [&](std::int64_t i) { return double(x[i]); }) / count) : T(0);
    const double squares = line_sum(n, [&](std::int64_t i) {
      const double off = static_cast<double>(x[i] - mean);
      return off * off;
    });
    const T scale = static_cast<T>(1 / ::sqrt(squares / count + eps));
    for (std::int64_t i = threadIdx.x % kWarp; i < n; i += kWarp) {
      T y = (x[i] - mean) * scale;
      if (weight) y = y * weight[i];
      if (bias) y = y + bias[i];
      out[line * n + i] = y;
    }
    if (threadIdx.x % kWarp == 0) {
      moments[2 * line] = mean;
      moments[2 * line + 1] = scale;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    slope_kernel(bool centred, std::int64_t lines, std::int64_t n, const T* all_x, const T* weight,
                 const T* moments, const T* all_g, T* dx) {
  for (std::int64_t line = blockIdx.x * kWarps + threadIdx.x / kWarp; line < lines;
       line += gridDim.x * kWarps) {
    const T *const x = all_x + line * n, *const g = all_g + line * n;
    const T mean = moments[2 * line], scale = moments[2 * line + 1];
    const double count = static_cast<double>(n);
    const auto weighted = [&](std::int64_t i) { return weight ? g[i] * weight[i] : g[i]; };
    const auto unit = [&](std::int64_t i) { return (x[i] - mean) * scale; };
    const T shift =
        centred ? static_cast<T>(line_sum(n, [&](std::int64_t i) { return double(weighted(i)); }) / count)
                : T(0);
    const T along = static_cast<T>(
        line_sum(n, [&](std::int64_t i) { return double(weighted(i)) * double(unit(i)); }) / count);
    for (std::int64_t i = threadIdx.x % kWarp; i < n; i += kWarp)
      dx[line * n + i] = (weighted(i) - shift - unit(i) * along) * scale;
  }
}

// partials [chunks, 2, n]: of g unit and of g, over `chunk` lines; a block has kWarp columns, and each of its
// warps every kWarps-th line.
template <class T>
__global__ void __launch_bounds__(kThreads)
    columns_kernel(std::int64_t lines, std::int64_t n, std::int64_t chunk, const T* x, const T* moments,
                   const T* g, double* partials) {
  GPU_SHARED(double, shared, 2 * kThreads);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t tiles = (n + kWarp - 1) / kWarp, chunks = (lines + chunk - 1) / chunk;
  for (std::int64_t item = blockIdx.x; item < tiles * chunks; item += gridDim.x) {
    const std::int64_t part = item / tiles, column = item % tiles * kWarp + lane;
    const std::int64_t end = (part + 1) * chunk < lines ? (part + 1) * chunk : lines;
    double by_weight = 0, by_bias = 0;
    if (column < n)
      for (std::int64_t line = part * chunk + warp; line < end; line += kWarps) {
        const T v = g[line * n + column];
        by_weight +=
            static_cast<double>(v * ((x[line * n + column] - moments[2 * line]) * moments[2 * line + 1]));
        by_bias += static_cast<double>(v);
      }
    shared[threadIdx.x] = by_weight;
    shared[kThreads + threadIdx.x] = by_bias;
    __syncthreads();
    if (warp < 2 && column < n) {
      double sum = 0;
      for (unsigned w = 0; w < kWarps; ++w) sum += shared[warp * kThreads + w * kWarp + lane];
      partials[(part * 2 + warp) * n + column] = sum;
    }
    __syncthreads();
  }
}

// out may be null.
template <class T>
__global__ void __launch_bounds__(kThreads)
    total_kernel(std::int64_t n, std::int64_t chunks, const double* partials, T* dweight, T* dbias) {
  for (std::int64_t i = first_element(); i < 2 * n; i += element_step()) {
    T* const out = i < n ? dweight : dbias;
    if (out == nullptr) continue;
    double sum = 0;
    for (std::int64_t c = 0; c < chunks; ++c) sum += partials[c * 2 * n + i];
    out[i < n ? i : i - n] = static_cast<T>(sum);
  }
}

template <class T> T* data_or_null(const View* v) { return v ? v->as<T>() : nullptr; }

template <class T>
void run(bool centred, double eps, const View& x, const View* weight, const View* bias, const View& moments,
         const View& y) {
  const std::int64_t lines = x.shape[0], n = x.shape[1];
  launch(norm_kernel<T>, blocks_for(lines * kWarp), kThreads, 0, centred, eps, lines, n, x.as<const T>(),
         data_or_null<const T>(weight), data_or_null<const T>(bias), moments.as<T>(), y.as<T>());
}

template <class T>
void run_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
               const View& dx, const View* dweight, const View* dbias) {
  const std::int64_t lines = x.shape[0], n = x.shape[1];
  launch(slope_kernel<T>, blocks_for(lines * kWarp), kThreads, 0, centred, lines, n, x.as<const T>(),
         data_or_null<const T>(weight), moments.as<const T>(), g.as<const T>(), dx.as<T>());
  if (!dweight && !dbias) return;
  constexpr std::int64_t kMostChunks = 64;
  const std::int64_t chunk = std::max<std::int64_t>(8 * kWarps, (lines + kMostChunks - 1) / kMostChunks);
  const std::int64_t chunks = (lines + chunk - 1) / chunk;
  const Scratch partials(static_cast<std::size_t>(2 * chunks * n) * sizeof(double));
  launch(columns_kernel<T>, blocks_for((n + kWarp - 1) / kWarp * chunks * kThreads), kThreads, 0, lines, n,
         chunk, x.as<const T>(), moments.as<const T>(), g.as<const T>(), partials.as<double>());
  launch(total_kernel<T>, blocks_for(2 * n), kThreads, 0, n, chunks, partials.as<const double>(),
         data_or_null<T>(dweight), data_or_null<T>(dbias));
}

[[noreturn]] void refuse(DType dtype) {
  throw DeviceError(str("cuda has no layer norm of ", dtype), "it has kernels for f32 and f64",
                    "convert the tensor to f32 first");
}

}  // namespace

void layer_norm(bool centred, double eps, const View& x, const View* weight, const View* bias,
                const View& moments, const View& y, Stream) {
  if (numel(x.shape) == 0) return;
  if (x.dtype == DType::f32) return run<float>(centred, eps, x, weight, bias, moments, y);
  if (x.dtype == DType::f64) return run<double>(centred, eps, x, weight, bias, moments, y);
  refuse(x.dtype);
}

void layer_norm_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
                      const View& dx, const View* dweight, const View* dbias, Stream stream) {
  if (numel(x.shape) == 0) {
    for (const View* total : {dweight, dbias})
      if (total) fill(*total, 0, stream);
    return;
  }
  if (x.dtype == DType::f32) return run_slope<float>(centred, x, weight, moments, g, dx, dweight, dbias);
  if (x.dtype == DType::f64) return run_slope<double>(centred, x, weight, moments, g, dx, dweight, dbias);
  refuse(x.dtype);
}

}  // namespace veldt::cuda
