// Softmax and its logarithm along one dimension, in one pass over each line while it is in the cache.
#include <array>
#include <cmath>
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

// A NaN wins.
template <class T> T largest(const T* x, std::size_t n) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto join = [](auto a, auto b) { return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a); };
  auto most = hn::Neg(hn::Inf(d));
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) most = join(most, hn::LoadU(d, x + i));
  HWY_ALIGN T each[hn::MaxLanes(d)];
  hn::Store(most, d, each);
  T all = each[0];
  for (std::size_t k = 1; k < lanes; ++k) all = each[k] > all || each[k] != each[k] ? each[k] : all;
  for (; i < n; ++i) all = x[i] > all || x[i] != x[i] ? x[i] : all;
  return all;
}

// The sum of e^(x - shift), in double, and the exponentials in y. The tail takes the same path, so a value
// never depends on where it stands.
template <class T> double exponentials(const T* x, T shift, T* y, std::size_t n) {
  const hn::ScalableTag<T> d;
  const Lanes<T> by(hn::Set(d, shift));
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(exp(Lanes<T>(hn::LoadU(d, x + i)) - by).v, d, y + i);
  if (i < n) exp(Lanes<T>::load_part(x + i, n - i) - by).store_part(y + i, n - i);
  double sums[4] = {};
  for (i = 0; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += static_cast<double>(y[i + k]);
  for (; i < n; ++i) sums[0] += static_cast<double>(y[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T> void softmax_line(bool log, const T* x, T* y, std::size_t n) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const T most = largest(x, n);
  const double sum = exponentials(x, most, y, n);
  const T total = static_cast<T>(sum), shift = static_cast<T>(std::log(sum));
  std::size_t i = 0;
  if (log) {
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, most)), hn::Set(d, shift)), d, y + i);
    for (; i < n; ++i) y[i] = x[i] - most - shift;
  } else {
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Div(hn::LoadU(d, y + i), hn::Set(d, total)), d, y + i);
    for (; i < n; ++i) y[i] = y[i] / total;
  }
}

void softmax_line_f32(bool log, const float* x, float* y, std::size_t n) { softmax_line(log, x, y, n); }
void softmax_line_f64(bool log, const double* x, double* y, std::size_t n) { softmax_line(log, x, y, n); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "veldt/cpu/lines.h"

namespace veldt {
namespace {
HWY_EXPORT(softmax_line_f32);
HWY_EXPORT(softmax_line_f64);
}  // namespace
namespace cpu {
namespace {

void softmax_line_of(bool log, const float* x, float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(softmax_line_f32)(log, x, y, n);
}
void softmax_line_of(bool log, const double* x, double* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(softmax_line_f64)(log, x, y, n);
}

constexpr std::int64_t kPanel = 16;  // neighbouring lines that share their cache lines

// `width` lines, neighbours in memory, through buffers in which each is dense.
template <class T>
void softmax_panel(bool log, const T* x, std::int64_t from, T* y, std::int64_t to, std::int64_t width,
                   std::int64_t n) {
  thread_local std::vector<T> lines, results;
  const auto size = static_cast<std::size_t>(width * n);
  lines.resize(size);
  results.resize(size);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < width; ++k) lines[static_cast<std::size_t>(k * n + i)] = x[i * from + k];
  for (std::int64_t k = 0; k < width; ++k)
    softmax_line_of(log, &lines[static_cast<std::size_t>(k * n)], &results[static_cast<std::size_t>(k * n)],
                    static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < width; ++k) y[i * to + k] = results[static_cast<std::size_t>(k * n + i)];
}

// Line by line, or `width` neighbours at a time.
template <class T> void run_lines(bool log, const View& x, int dim, const View& out, std::int64_t width) {
  const std::int64_t n = x.shape[dim], from = x.strides[dim], to = out.strides[dim];
  for_each_line<2>({&x, &out}, dim, [&](const std::array<std::int64_t, 2>& at) {
    const T* source = x.as<const T>() + at[0];
    T* target = out.as<T>() + at[1];
    if (from == 1 && to == 1 && width == 1)
      softmax_line_of(log, source, target, static_cast<std::size_t>(n));
    else
      softmax_panel(log, source, from, target, to, width, n);
  });
}

// Positions begin.. of one dimension, `count` of them, `step` apart.
template <class T> View part_of(View v, int dim, std::int64_t begin, std::int64_t count, std::int64_t step) {
  v.data = v.as<T>() + begin * v.strides[dim];
  v.shape[dim] = count;
  v.strides[dim] *= step;
  return v;
}

template <class T> void run_softmax(bool log, const View& x, int dim, const View& out) {
  int dense = -1;  // another dimension along which both are dense
  for (int d = 0; d < x.shape.rank(); ++d)
    if (d != dim && x.strides[d] == 1 && out.strides[d] == 1) dense = d;
  const std::int64_t panels = dense < 0 || x.strides[dim] == 1 ? 0 : x.shape[dense] / kPanel;
  if (panels == 0) return run_lines<T>(log, x, dim, out, 1);
  run_lines<T>(log, part_of<T>(x, dense, 0, panels, kPanel), dim, part_of<T>(out, dense, 0, panels, kPanel),
               kPanel);
  const std::int64_t done = panels * kPanel, rest = x.shape[dense] - done;
  if (rest > 0)
    run_lines<T>(log, part_of<T>(x, dense, done, rest, 1), dim, part_of<T>(out, dense, done, rest, 1), 1);
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
