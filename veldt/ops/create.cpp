// Makes tensors of constants and ramps.
#include "veldt/ops/create.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"

namespace veldt {
namespace {

Tensor ramp(std::int64_t n, const Ramp& r, DType dtype, Device device) {
  const Tensor out = empty({n}, dtype, device);
  kernels(out).ramp(r, out.view());
  return out;
}

}  // namespace

Tensor full(const Shape& shape, Scalar value, DType dtype, Device device) {
  // fill() takes a double, which cannot hold every integer.
  if (dtype == DType::i64 && value.is_whole() && std::abs(value.real()) >= 0x1p53)
    return contiguous(expand(constant(value, dtype, device), shape));
  Tensor out = empty(shape, dtype, device);
  kernels(out).fill(out.view(), value.real());
  return out;
}

Tensor zeros(const Shape& shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }
Tensor zeros_like(const Tensor& x) { return full(x.shape(), 0, x.dtype(), x.device()); }
Tensor ones_like(const Tensor& x) { return full(x.shape(), 1, x.dtype(), x.device()); }

Tensor full_like(const Tensor& x, Scalar value) { return full(x.shape(), value, x.dtype(), x.device()); }

Tensor arange(std::int64_t n, DType dtype, Device device) { return ramp(n, {}, dtype, device); }

Tensor arange(Scalar begin, Scalar end, Scalar step, std::optional<DType> dtype, Device device) {
  const bool whole = begin.is_whole() && end.is_whole() && step.is_whole();
  double count = std::ceil((end.real() - begin.real()) / step.real());
  if (whole && step.whole() != 0) {  // doubles cannot distinguish integers beyond 2^53
    const auto span = static_cast<__int128>(end.whole()) - begin.whole(),
               by = static_cast<__int128>(step.whole());
    count = static_cast<double>(span / by + (span % by != 0 && (span < 0) == (by < 0) ? 1 : 0));
  }
  if (!(count >= 0) || count > 0x1p62)
    throw ConfigError(str("arange cannot go from ", begin.real(), " to ", end.real(), " by ", step.real()),
                      "no number of such steps leads there", "check the sign of the step");
  const DType wanted = dtype.value_or(whole ? DType::i64 : DType::f32);
  const Ramp r = {begin.real(), step.real(), 1, begin.whole(), step.whole()};
  const auto n = static_cast<std::int64_t>(count);
  // If an integer list starts at or steps by a fraction, each element is truncated.
  return whole || is_float(wanted) ? ramp(n, r, wanted, device) : to(ramp(n, r, DType::f64, device), wanted);
}

Tensor linspace(double first, double last, std::int64_t n, DType dtype, Device device) {
  const Ramp r = {first, last - first, static_cast<double>(n > 1 ? n - 1 : 1)};
  return is_float(dtype) ? ramp(n, r, dtype, device) : to(ramp(n, r, DType::f64, device), dtype);
}

Tensor eye(std::int64_t rows, std::int64_t columns, DType dtype, Device device) {
  const std::int64_t width = columns < 0 ? rows : columns;
  const Tensor out = zeros({rows, width}, dtype, device);
  kernels(out).fill(out.alias({std::min(rows, width)}, {width + 1}, 0).view(), 1);
  return out;
}

}  // namespace veldt
