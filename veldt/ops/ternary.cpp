// Formulas of three inputs, each in one pass over memory.
#include <utility>

#include "veldt/kernels/binary-inl.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

// The inputs are floats of `dtype`, or of halves and f32.
template <class Op> Tensor combined(const Tensor& a, const Tensor& b, const Tensor& c, DType dtype) {
  const Shape shape = broadcast(broadcast(a.shape(), b.shape(), Op::name), c.shape(), Op::name);
  const Tensor out = empty_along(shape, dtype, {&a, &b, &c});
  kernels(a).ternary(IndexOf<Op, scalar::TernaryOps>::value, broadcast_view(a, shape),
                     broadcast_view(b, shape), broadcast_view(c, shape), out.view(), nullptr);
  return out;
}

// compute() as the gradient of `input`, which may have been broadcast; skipped when nobody wants it.
template <class Fn> Tensor gradient_for(const Tensor& input, Fn compute) {
  return needs_grad(input) ? to(sum_to(compute(), input.shape()), input.dtype()) : Tensor();
}

// weight: of the dtype of a and b, or of f32 beside halves.
Tensor lerp_floats(const Tensor& a, const Tensor& b, const Tensor& weight) {
  return record("lerp", combined<scalar::Lerp>(a, b, weight, a.dtype()), {a, b, weight},
                [=](const Tensor& g) -> Grads {
                  const Tensor to_b = needs_grad(a) || needs_grad(b) ? g * weight : Tensor();
                  return {gradient_for(a, [&] { return g - to_b; }), gradient_for(b, [&] { return to_b; }),
                          gradient_for(weight, [&] { return g * (b - a); })};
                });
}

}  // namespace

Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight) {
  check_same_device("lerp", a, b);
  check_same_device("lerp", a, weight);
  const DType dtype = promote(promote(a.dtype(), b.dtype()), weight.dtype());
  if (!is_float(dtype)) return a + weight * (b - a);
  return lerp_floats(to(a, dtype), to(b, dtype), to(weight, dtype));
}

Tensor lerp(const Tensor& a, const Tensor& b, double weight) {
  check_same_device("lerp", a, b);
  const DType promoted = promote(a.dtype(), b.dtype()), dtype = is_float(promoted) ? promoted : DType::f32;
  return lerp_floats(to(a, dtype), to(b, dtype),
                     constant(weight, is_half(dtype) ? DType::f32 : dtype, a.device()));
}

Tensor multiply_add(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  return record("multiply_add", combined<scalar::MultiplyAdd>(x, scale, shift, x.dtype()), {x, scale, shift},
                [=](const Tensor& g) -> Grads {
                  return {gradient_for(x, [&] { return g * scale; }),
                          gradient_for(scale, [&] { return g * x; }), gradient_for(shift, [&] { return g; })};
                });
}

}  // namespace veldt
