// The inner product of two arrays, for norms and optimizers.
#include "veldt/cuda/fold-inl.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/scratch.h"

namespace veldt::cuda {
namespace {

// Elements begin..end of a b that thread `own` of the block has, four sums at a time.
template <class T> __device__ double products(const T* a, const T* b, std::int64_t begin, std::int64_t end) {
  double sums[4] = {};
  std::int64_t i = begin + threadIdx.x;
  for (; i + 3 * kThreads < end; i += 4 * kThreads)
    for (int k = 0; k < 4; ++k)
      sums[k] += static_cast<double>(a[i + k * kThreads]) * static_cast<double>(b[i + k * kThreads]);
  for (; i < end; i += kThreads) sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// One partial sum for each `chunk` elements.
template <class T>
__global__ void __launch_bounds__(kThreads)
    dot_kernel(const T* a, const T* b, std::int64_t n, std::int64_t chunk, double* partials) {
  GPU_SHARED(double, shared, kThreads);
  Lines l;  // a block is one line
  l.rows = true;
  l.lane_bits = kThreadBits;
  const Lane lane(l);
  for (std::int64_t c = blockIdx.x; c * chunk < n; c += gridDim.x) {
    const std::int64_t begin = c * chunk, end = begin + chunk < n ? begin + chunk : n;
    const double sum = join_lanes(Add{}, lane, products(a, b, begin, end), shared);
    if (threadIdx.x == 0) partials[c] = sum;
  }
}

}  // namespace

double dot(const View& a, const View& b) {
  const std::int64_t n = numel(a.shape);
  if (n == 0) return 0;
  constexpr std::int64_t kLeast = 16 * kThreads, kMostChunks = 1024;
  const std::int64_t chunk = std::max(kLeast, (n + kMostChunks - 1) / kMostChunks);
  const std::int64_t chunks = (n + chunk - 1) / chunk;
  const Scratch memory(static_cast<std::size_t>(chunks + 1) * sizeof(double));
  double* const partials = memory.as<double>();
  double* const sum = partials + chunks;
  const dim3 blocks = blocks_for(chunks * kThreads);
  if (a.dtype == DType::f32)
    launch(dot_kernel<float>, blocks, kThreads, 0, a.as<const float>(), b.as<const float>(), n, chunk,
           partials);
  else
    launch(dot_kernel<double>, blocks, kThreads, 0, a.as<const double>(), b.as<const double>(), n, chunk,
           partials);
  reduce(ReduceOp::sum, {partials, DType::f64, {chunks}, {1}}, {sum, DType::f64, {1}, {1}});
  double result = 0;
  download(&result, sum, sizeof result);
  return result;
}

}  // namespace veldt::cuda
