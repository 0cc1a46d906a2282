// Quantisation as elementwise work of other ops; layers have kernels of their own (core/quantized.h).
#include "veldt/ops/quantize.h"

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

constexpr std::int64_t kPackedGroup = 32;

// A scale or a zero point in a shape that broadcasts to x.
Tensor spread_beside(const char* op, const Tensor& given, const Tensor& x, int axis) {
  if (given.numel() == 1 && given.rank() <= 1) return reshape(given, {});
  if (given.rank() == 1 && x.rank() > 0) {
    const int d = wrap_dim(axis, x.rank(), op);
    if (given.size(0) == x.size(d)) {
      Shape shape = Shape::filled(x.rank(), 1);
      shape[d] = x.size(d);
      return reshape(given, shape);
    }
  } else if (given.rank() == x.rank()) {
    bool fits = true;
    for (int d = 0; d < x.rank(); ++d) fits = fits && (given.size(d) == 1 || given.size(d) == x.size(d));
    if (fits) return given;
  }
  throw ShapeError(str(op, " cannot scale ", x.shape(), " by ", given.shape(), " along axis ", axis),
                   "it takes one number, one for each position of the axis, or a shape that broadcasts",
                   "give a scale and a zero point of such a shape");
}

// round(x / scale) + zero_point, before it is kept within a range.
Tensor unbounded(const char* op, const Tensor& x, const Tensor& scale, const Tensor& zero_point,
                 const QuantizeOptions& o) {
  if (o.low > o.high)
    throw ConfigError(str(op, " cannot keep numbers between ", o.low, " and ", o.high),
                      "the lowest is above the highest", "swap them");
  if (!is_float(scale.dtype()))
    throw ShapeError(str(op, " cannot take a scale of ", scale.dtype()), "a scale is a float",
                     "convert it with to()");
  const Tensor q = round(div(widened(x.detach()), spread_beside(op, scale.detach(), x, o.axis)));
  if (!zero_point.defined()) return q;
  return add(q, to(spread_beside(op, zero_point.detach(), x, o.axis), q.dtype()));
}

Tensor numbers_of(const Tensor& q, const Tensor& scale, const Tensor& zero_point) {
  return mul(zero_point.defined() ? sub(q, to(zero_point, q.dtype())) : q, scale);
}

DType dtype_for(const QuantizeOptions& o) {
  if (o.low >= 0 && o.high <= 255) return DType::u8;
  return o.low >= -128 && o.high <= 127 ? DType::i8 : DType::i32;
}

}  // namespace

Tensor quantize(const Tensor& x, const Tensor& scale, const Tensor& zero_point, const QuantizeOptions& o) {
  const NoGrad off;
  return to(clamp(unbounded("quantize", x, scale, zero_point, o), o.low, o.high), dtype_for(o));
}

Tensor dequantize(const Tensor& q, const Tensor& scale, const Tensor& zero_point, int axis) {
  const NoGrad off;
  const Tensor by = spread_beside("dequantize", scale, q, axis);
  const Tensor zero = zero_point.defined() ? spread_beside("dequantize", zero_point, q, axis) : zero_point;
  return numbers_of(to(q, by.dtype()), by, zero);
}

Tensor fake_quantize(const Tensor& x, const Tensor& scale, const Tensor& zero_point,
                     const QuantizeOptions& o) {
  constexpr const char* kName = "fake_quantize";
  const bool records = grad_enabled() && x.requires_grad();
  Tensor y, inside;
  {
    const NoGrad off;
    const Tensor q = unbounded(kName, x, scale, zero_point, o);
    const Tensor zero =
        zero_point.defined() ? spread_beside(kName, zero_point.detach(), x, o.axis) : zero_point;
    y = to(numbers_of(clamp(q, o.low, o.high), spread_beside(kName, scale.detach(), x, o.axis), zero),
           x.dtype());
    if (records) inside = logical_and(greater_equal(q, o.low), less_equal(q, o.high));
  }
  return record(
      kName, y, {x}, [inside](const Tensor& g) -> Grads { return {mul(g, to(inside, g.dtype()))}; }, false);
}

Tensor pack_nibbles(const Tensor& q) {
  const NoGrad off;
  if (is_float(q.dtype()) || q.rank() == 0 || q.size(-1) % kPackedGroup != 0)
    throw ShapeError(str("pack_nibbles cannot take ", q.dtype(), ' ', q.shape()),
                     str("it packs whole numbers by groups of ", kPackedGroup, " along the last dimension"),
                     "quantize them, and give a multiple of the group");
  Shape groups = q.shape();
  groups[q.rank() - 1] /= kPackedGroup;
  groups.push_back(2);
  groups.push_back(kPackedGroup / 2);
  const Tensor raised = reshape(to(add(to(q, DType::i32), 8), DType::u8), groups);
  const Tensor packed = add(select(raised, -2, 0), mul(select(raised, -2, 1), 16));
  Shape shape = q.shape();
  shape[q.rank() - 1] /= 2;
  return reshape(packed, shape);
}

Tensor unpack_nibbles(const Tensor& packed) {
  const NoGrad off;
  if (packed.dtype() != DType::u8 || packed.rank() == 0 || packed.size(-1) % (kPackedGroup / 2) != 0)
    throw ShapeError(str("unpack_nibbles cannot take ", packed.dtype(), ' ', packed.shape()),
                     str("groups are ", kPackedGroup / 2, " bytes of u8"), "give what pack_nibbles() gave");
  Shape groups = packed.shape();
  groups[packed.rank() - 1] /= kPackedGroup / 2;
  groups.push_back(kPackedGroup / 2);
  const Tensor bytes = reshape(packed, groups);
  Shape shape = packed.shape();
  shape[packed.rank() - 1] *= 2;
  const Tensor both = stack({remainder(bytes, 16), floor_divide(bytes, 16)}, -2);
  return reshape(sub(to(both, DType::i8), 8), shape);
}

}  // namespace veldt
