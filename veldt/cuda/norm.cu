// Layer norms: a warp a line, in sums of f64; gradients of weight and bias by column, in two stages.
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/quotient.h"
#include "veldt/cuda/runtime.h"
#include "veldt/cuda/scratch.h"
#include "veldt/kernels/convert.h"

namespace veldt::cuda {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::int64_t kWarps = kThreads / kWarp;

__device__ inline double warp_sum(double x) {
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(gpu::kWholeWarp, x, apart);
  return x;
}

// The mean of of(i) over 0..n, for all lanes.
template <class Of> __device__ inline double line_mean(std::int64_t n, const Of& of) {
  double own = 0;
  for (std::int64_t i = threadIdx.x % kWarp; i < n; i += kWarp) own += of(i);
  return warp_sum(own) / static_cast<double>(n);
}

// What lines are multiplied by and shifted, [groups, k] or null: row line % groups, each number for `run`
// neighbours.
template <class F> struct Parameters {
  Quotient groups{1}, run{1};
  std::int64_t k = 1;
  const F *weight = nullptr, *bias = nullptr;

  __device__ const F* row(const F* all, std::int64_t line) const {
    return all == nullptr ? all : all + (line - groups.of(line) * groups.divisor) * k;
  }
};

// T: what is stored, F: what it is computed as. Four blocks: left to itself, ptxas spills doubles for a
// fifth.
template <class T, class F>
__global__ void __launch_bounds__(kThreads, 4)
    norm_kernel(bool centred, double eps, std::int64_t lines, std::int64_t n, const T* all, Parameters<F> p,
                F* moments, T* out) {
  for (std::int64_t line = blockIdx.x * kWarps + threadIdx.x / kWarp; line < lines;
       line += gridDim.x * kWarps) {
    const T* const x = all + line * n;
    const F mean =
        centred ? static_cast<F>(line_mean(n, [&](std::int64_t i) { return double(scalar::load(x[i])); }))
                : F(0);
    const double variance = line_mean(n, [&](std::int64_t i) {
      const double off = static_cast<double>(scalar::load(x[i]) - mean);
      return off * off;
    });
    const F scale = static_cast<F>(1 / ::sqrt(variance + eps));
    if (threadIdx.x % kWarp == 0) {
      moments[2 * line] = mean;
      moments[2 * line + 1] = scale;
    }
    const F *const weight = p.row(p.weight, line), *const bias = p.row(p.bias, line);
    T* const y = out + line * n;
    for (std::int64_t i = threadIdx.x % kWarp; i < n; i += kWarp) {
      F v = (scalar::load(x[i]) - mean) * scale;
      if (weight) v = v * weight[p.run.of(i)];
      if (bias) v = v + bias[p.run.of(i)];
      y[i] = scalar::store<T>(v);
    }
  }
}

template <class T, class F>
__global__ void __launch_bounds__(kThreads, 4)
    slope_kernel(bool centred, std::int64_t lines, std::int64_t n, const T* all_x, Parameters<F> p,
                 const F* moments, const T* all_g, T* dx) {
  for (std::int64_t line = blockIdx.x * kWarps + threadIdx.x / kWarp; line < lines;
       line += gridDim.x * kWarps) {
    const T *const x = all_x + line * n, *const g = all_g + line * n;
    const F mean = moments[2 * line], scale = moments[2 * line + 1];
    const F* const weight = p.row(p.weight, line);
    T* const to = dx + line * n;
    const auto weighted = [&](std::int64_t i) {
      const F v = scalar::load(g[i]);
      return weight ? v * weight[p.run.of(i)] : v;
    };
    const auto unit = [&](std::int64_t i) { return (scalar::load(x[i]) - mean) * scale; };
    const F shift =
        centred ? static_cast<F>(line_mean(n, [&](std::int64_t i) { return double(weighted(i)); })) : F(0);
    const F along =
        static_cast<F>(line_mean(n, [&](std::int64_t i) { return double(weighted(i)) * double(unit(i)); }));
    for (std::int64_t i = threadIdx.x % kWarp; i < n; i += kWarp)
      to[i] = scalar::store<T>((weighted(i) - shift - unit(i) * along) * scale);
  }
}

// partials [chunks, 2, columns]: of g unit and of g, over `chunk` rows, each of which is the lines of all
// groups side by side. A block has kWarp columns, and each of its warps every kWarps-th row.
template <class T, class F>
__global__ void __launch_bounds__(kThreads)
    columns_kernel(std::int64_t rows, std::int64_t columns, std::int64_t n, std::int64_t chunk, const T* x,
                   const F* moments, const T* g, double* partials) {
  GPU_SHARED(double, shared, 2 * kThreads);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t tiles = (columns + kWarp - 1) / kWarp, chunks = (rows + chunk - 1) / chunk;
  for (std::int64_t item = blockIdx.x; item < tiles * chunks; item += gridDim.x) {
    const std::int64_t part = item / tiles, column = item % tiles * kWarp + lane;
    const std::int64_t end = (part + 1) * chunk < rows ? (part + 1) * chunk : rows;
    const std::int64_t groups = columns / n, group = column / n;
    double by_weight = 0, by_bias = 0;
    if (column < columns)
      for (std::int64_t row = part * chunk + warp; row < end; row += kWarps) {
        const std::int64_t line = row * groups + group;
        const F v = scalar::load(g[row * columns + column]);
        by_weight += static_cast<double>(
            v * ((scalar::load(x[row * columns + column]) - moments[2 * line]) * moments[2 * line + 1]));
        by_bias += static_cast<double>(v);
      }
    shared[threadIdx.x] = by_weight;
    shared[kThreads + threadIdx.x] = by_bias;
    __syncthreads();
    if (warp < 2 && column < columns) {
      double sum = 0;
      for (unsigned w = 0; w < kWarps; ++w) sum += shared[warp * kThreads + w * kWarp + lane];
      partials[(part * 2 + warp) * columns + column] = sum;
    }
    __syncthreads();
  }
}

// The sums of `run` neighbouring columns. out may be null.
template <class F>
__global__ void __launch_bounds__(kThreads)
    total_kernel(std::int64_t count, std::int64_t run, std::int64_t chunks, const double* partials,
                 F* dweight, F* dbias) {
  for (std::int64_t i = first_element(); i < 2 * count; i += element_step()) {
    F* const out = i < count ? dweight : dbias;
    if (out == nullptr) continue;
    double sum = 0;
    for (std::int64_t c = 0; c < chunks; ++c)
      for (std::int64_t r = 0; r < run; ++r) sum += partials[(c * 2 * count + i) * run + r];
    out[i < count ? i : i - count] = static_cast<F>(sum);
  }
}

template <class T> T* data_or_null(const View* v) { return v ? v->as<T>() : nullptr; }

template <class F> Parameters<F> parameters(const View& x, const View* weight, const View* bias) {
  const View* const given = weight ? weight : bias;
  if (given == nullptr) return {};
  return {Quotient(given->shape[0]), Quotient(x.shape[1] / given->shape[1]), given->shape[1],
          data_or_null<const F>(weight), data_or_null<const F>(bias)};
}

template <class T, class F = T>
void run(bool centred, double eps, const View& x, const View* weight, const View* bias, const View& moments,
         const View& y) {
  const std::int64_t lines = x.shape[0], n = x.shape[1];
  launch(norm_kernel<T, F>, blocks_for(lines * kWarp), kThreads, 0, centred, eps, lines, n, x.as<const T>(),
         parameters<F>(x, weight, bias), moments.as<F>(), y.as<T>());
}

template <class T, class F = T>
void run_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
               const View& dx, const View* dweight, const View* dbias) {
  const std::int64_t lines = x.shape[0], n = x.shape[1];
  launch(slope_kernel<T, F>, blocks_for(lines * kWarp), kThreads, 0, centred, lines, n, x.as<const T>(),
         parameters<F>(x, weight, nullptr), moments.as<const F>(), g.as<const T>(), dx.as<T>());
  if (!dweight && !dbias) return;
  constexpr std::int64_t kMostChunks = 64;
  const Parameters<F> wanted = parameters<F>(x, dweight, dbias);
  const std::int64_t rows = lines / wanted.groups.divisor, columns = wanted.groups.divisor * n;
  const std::int64_t chunk = std::max<std::int64_t>(8 * kWarps, (rows + kMostChunks - 1) / kMostChunks);
  const std::int64_t chunks = (rows + chunk - 1) / chunk, count = wanted.groups.divisor * wanted.k;
  const Scratch partials(static_cast<std::size_t>(2 * chunks * columns) * sizeof(double));
  launch(columns_kernel<T, F>, blocks_for((columns + kWarp - 1) / kWarp * chunks * kThreads), kThreads, 0,
         rows, columns, n, chunk, x.as<const T>(), moments.as<const F>(), g.as<const T>(),
         partials.as<double>());
  launch(total_kernel<F>, blocks_for(2 * count), kThreads, 0, count, wanted.run.divisor, chunks,
         partials.as<const double>(), data_or_null<F>(dweight), data_or_null<F>(dbias));
}

}  // namespace

void layer_norm(bool centred, double eps, const View& x, const View* weight, const View* bias,
                const View& moments, const View& y) {
  if (numel(x.shape) == 0) return;
  if (x.dtype == DType::f32) return run<float>(centred, eps, x, weight, bias, moments, y);
  if (x.dtype == DType::f64) return run<double>(centred, eps, x, weight, bias, moments, y);
  if (x.dtype == DType::bf16) return run<scalar::BFloat16, float>(centred, eps, x, weight, bias, moments, y);
  run<scalar::Float16, float>(centred, eps, x, weight, bias, moments, y);
}

void layer_norm_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
                      const View& dx, const View* dweight, const View* dbias) {
  if (numel(x.shape) == 0) {
    for (const View* total : {dweight, dbias})
      if (total) fill(*total, 0);
    return;
  }
  if (x.dtype == DType::f32) return run_slope<float>(centred, x, weight, moments, g, dx, dweight, dbias);
  if (x.dtype == DType::f64) return run_slope<double>(centred, x, weight, moments, g, dx, dweight, dbias);
  if (x.dtype == DType::bf16)
    return run_slope<scalar::BFloat16, float>(centred, x, weight, moments, g, dx, dweight, dbias);
  run_slope<scalar::Float16, float>(centred, x, weight, moments, g, dx, dweight, dbias);
}

}  // namespace veldt::cuda
