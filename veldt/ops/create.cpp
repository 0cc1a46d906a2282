#include "veldt/ops/create.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

// Draws of f32 or f64; half floats are drawn as f32 and rounded.
Tensor draw(RandomKind kind, const Shape& shape, Rng& rng, DType dtype, Device device) {
  if (!is_float(dtype))
    throw DeviceError(str("cannot draw random numbers of ", dtype), "they are made as floats",
                      "draw f32 and convert it with to(), or use randint");
  const Tensor out = empty(shape, is_half(dtype) ? DType::f32 : dtype, device);
  // A replay of a Plan draws on from where the Rng then is.
  host_work("random", {out.view()}, [kind, &rng, device](std::span<const View> views) {
    backend(device).random(kind, rng.seed(), rng.stream(), rng.position(), views[0], nullptr);
    const auto draws = static_cast<std::uint64_t>(numel(views[0].shape));
    rng.seek(rng.position() + (kind == RandomKind::normal ? 2 * draws : draws));
  });
  return out;
}

// The largest number of `dtype` below `high`.
double below(double high, DType dtype) {
  if (dtype == DType::f64) return std::nextafter(high, -INFINITY);
  const auto near = static_cast<float>(high);
  return static_cast<double>(static_cast<double>(near) < high ? near : std::nextafter(near, -INFINITY));
}

}  // namespace

Tensor full(const Shape& shape, double value, DType dtype, Device device) {
  Tensor out = empty(shape, dtype, device);
  kernels(out).fill(out.view(), value, nullptr);
  return out;
}

Tensor zeros(const Shape& shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }
Tensor zeros_like(const Tensor& x) { return full(x.shape(), 0, x.dtype(), x.device()); }
Tensor ones_like(const Tensor& x) { return full(x.shape(), 1, x.dtype(), x.device()); }

Tensor arange(std::int64_t n, DType dtype, Device device) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(n < 0 ? 0 : n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  return to(Tensor::from<std::int64_t>({n}, values, device), dtype);
}

Tensor linspace(double first, double last, std::int64_t n, DType dtype, Device device) {
  std::vector<double> values(static_cast<std::size_t>(n < 0 ? 0 : n));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = n == 1 ? first : first + (last - first) * static_cast<double>(i) / static_cast<double>(n - 1);
  return to(Tensor::from<double>({n}, values, device), dtype);
}

Tensor rand(const Shape& shape, Rng& rng, double low, double high, DType dtype, Device device) {
  NoGrad off;
  Tensor out = draw(RandomKind::uniform, shape, rng, dtype, device);
  if (low != 0 || high != 1) out = out * (high - low) + low;
  // The sum may round up to `high`.
  if (low < high && (low != 0 || high != 1)) out = clamp(out, low, std::max(low, below(high, out.dtype())));
  return to(out, dtype);
}

Tensor randn(const Shape& shape, Rng& rng, double mean, double deviation, DType dtype, Device device) {
  NoGrad off;
  const Tensor out = draw(RandomKind::normal, shape, rng, dtype, device);
  return to(mean == 0 && deviation == 1 ? out : out * deviation + mean, dtype);
}

}  // namespace veldt
