// Linear recurrences along one dimension: cumulative sums, cumulative products, and the gradients of both.
#include <array>
#include <cstdint>
#include <type_traits>

#include "veldt/core/error.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"

namespace veldt::cpu {
namespace {

// State: what the running value is kept in; unsigned for whole numbers, because overflow wraps.
template <class T, class State>
void run_recurrence(const View& x, const View* factor, int dim, bool reverse, const View& out) {
  const std::int64_t n = x.shape[dim];
  const View& f = factor ? *factor : x;
  for_each_line<3>({&x, &f, &out}, dim, [&](const std::array<std::int64_t, 3>& at) {
    const T *from = x.as<const T>() + at[0], *by = f.as<const T>() + at[1];
    T* to = out.as<T>() + at[2];
    State state = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t i = reverse ? n - 1 - k : k;
      const auto step = static_cast<State>(from[i * x.strides[dim]]);
      // The first has nothing before it: an infinite factor must not meet that 0.
      if (k == 0)
        state = step;
      else
        state = factor ? static_cast<State>(by[i * f.strides[dim]]) * state + step : state + step;
      to[i * out.strides[dim]] = static_cast<T>(state);
    }
  });
}

}  // namespace

void recurrence(const View& x, const View* factor, int dim, bool reverse, const View& out, Stream) {
  if (numel(out.shape) == 0) return;
  if (x.dtype == DType::f32) return run_recurrence<float, double>(x, factor, dim, reverse, out);
  if (x.dtype == DType::f64) return run_recurrence<double, double>(x, factor, dim, reverse, out);
  if (x.dtype == DType::i64) return run_recurrence<std::int64_t, std::uint64_t>(x, factor, dim, reverse, out);
  throw DeviceError(str("the cpu has no recurrence of ", x.dtype), "it has kernels for f32, f64 and i64",
                    "convert the tensor first");
}

}  // namespace veldt::cpu
