// Softmax and its logarithm along one dimension, in one pass over each line while it is in the cache.
#include <cmath>
#include <limits>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/softmax.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {

// y = e^(x - shift); the tail takes the same path, so a value never depends on where it stands.
template <class T> void exponentials(const T* x, T shift, T* y, std::size_t n) {
  const hn::ScalableTag<T> d;
  const Lanes<T> by(hn::Set(d, shift));
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(exp(Lanes<T>(hn::LoadU(d, x + i)) - by).v, d, y + i);
  if (i < n) exp(Lanes<T>::load_part(x + i, n - i) - by).store_part(y + i, n - i);
}

void exponentials_f32(const float* x, float shift, float* y, std::size_t n) { exponentials(x, shift, y, n); }
void exponentials_f64(const double* x, double shift, double* y, std::size_t n) {
  exponentials(x, shift, y, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "veldt/cpu/lines.h"

namespace veldt {
namespace {
HWY_EXPORT(exponentials_f32);
HWY_EXPORT(exponentials_f64);
}  // namespace
namespace cpu {
namespace {

void exponentials_of(const float* x, float shift, float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(exponentials_f32)(x, shift, y, n);
}
void exponentials_of(const double* x, double shift, double* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(exponentials_f64)(x, shift, y, n);
}

// A NaN wins.
template <class T> T largest(const T* x, std::size_t n) {
  T most = -std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < n; ++i) most = x[i] > most || x[i] != x[i] ? x[i] : most;
  return most;
}

template <class T> void softmax_line(bool log, const T* x, T* y, std::size_t n) {
  const T most = largest(x, n);
  exponentials_of(x, most, y, n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(y[i]);
  const T scale = static_cast<T>(sum), shift = static_cast<T>(std::log(sum));
  if (log)
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] - most - shift;
  else
    for (std::size_t i = 0; i < n; ++i) y[i] = y[i] / scale;
}

template <class T> void run_softmax(bool log, const View& x, int dim, const View& out) {
  const auto n = static_cast<std::size_t>(x.shape[dim]);
  const std::int64_t from = x.strides[dim], to = out.strides[dim];
  for_each_line<2>({&x, &out}, dim, [&](const std::array<std::int64_t, 2>& at) {
    const T* source = x.as<const T>() + at[0];
    T* target = out.as<T>() + at[1];
    if (from == 1 && to == 1) return softmax_line(log, source, target, n);
    thread_local std::vector<T> line, result;
    line.resize(n);
    result.resize(n);
    for (std::size_t i = 0; i < n; ++i) line[i] = source[static_cast<std::int64_t>(i) * from];
    softmax_line(log, line.data(), result.data(), n);
    for (std::size_t i = 0; i < n; ++i) target[static_cast<std::int64_t>(i) * to] = result[i];
  });
}

}  // namespace

void softmax(bool log, const View& x, int dim, const View& out, Stream) {
  if (numel(out.shape) == 0) return;
  if (x.dtype == DType::f32) return run_softmax<float>(log, x, dim, out);
  if (x.dtype == DType::f64) return run_softmax<double>(log, x, dim, out);
  throw DeviceError(str("the cpu has no softmax of ", x.dtype), "it has kernels for f32 and f64",
                    "convert the tensor to f32 first");
}

}  // namespace cpu
}  // namespace veldt
#endif
