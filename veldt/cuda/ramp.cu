// Numbers that follow from their position.
#include "veldt/cuda/elementwise.h"
#include "veldt/cuda/kernels.h"

namespace veldt::cuda {
namespace {

template <class T> __device__ inline T value_at(const Ramp& r, std::int64_t i) {
  if constexpr (std::is_integral_v<T>)  // unsigned, because it may wrap
    return scalar::store<T>(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(r.whole_first) +
                                  static_cast<std::uint64_t>(r.whole_step) * static_cast<std::uint64_t>(i)));
  else
    return scalar::store<T>(r.first + r.span * static_cast<double>(i) / r.parts);
}

template <class T>
__global__ void __launch_bounds__(kThreads) ramp_kernel(Ramp r, std::int64_t n, std::int64_t stride, T* out) {
  for (std::int64_t i = first_element(); i < n; i += element_step()) out[i * stride] = value_at<T>(r, i);
}

}  // namespace

void ramp(const Ramp& r, const View& out) {
  const std::int64_t n = out.shape[0];
  if (n == 0) return;
  scalar::with_type(out.dtype, [&](auto type) {
    using T = decltype(type);
    launch(ramp_kernel<T>, blocks_for(n), kThreads, 0, r, n, out.strides[0], out.as<T>());
  });
}

}  // namespace veldt::cuda
