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
                     broadcast_view(b, shape), broadcast_view(c, shape), out.view());
  return out;
}

// compute() as the gradient of `input`, which may have been broadcast; skipped if it is not needed.
template <class Fn> Tensor cast_gradient_for(const Tensor& input, Fn compute) {
  return needs_grad(input) ? to(sum_to(compute(), input.shape()), input.dtype()) : Tensor();
}

}  // namespace

Tensor lerp(const Tensor& given_a, const Tensor& given_b, const Tensor& given_weight) {
  check_same_device("lerp", given_a, given_b);
  check_same_device("lerp", given_a, given_weight);
  const DType dtype = promote(promote(given_a.dtype(), given_b.dtype()), given_weight.dtype());
  if (!is_float(dtype)) return given_a + given_weight * (given_b - given_a);
  const Tensor a = to(given_a, dtype), b = to(given_b, dtype), weight = to(given_weight, dtype);
  return record("lerp", combined<scalar::Lerp>(a, b, weight, dtype), {a, b, weight},
                [=](const Tensor& g) -> Grads {
                  const Tensor to_b = needs_grad(a) || needs_grad(b) ? g * weight : Tensor();
                  return {cast_gradient_for(a, [&] { return g - to_b; }),
                          cast_gradient_for(b, [&] { return to_b; }), cast_gradient_for(weight, [&] {
                            return grad_enabled() ? g * (b - a) : subtract_multiply_to(dtype, b, a, g);
                          })};
                });
}

Tensor lerp(const Tensor& given_a, const Tensor& given_b, double weight) {
  check_same_device("lerp", given_a, given_b);
  const DType promoted = promote(given_a.dtype(), given_b.dtype()),
              dtype = is_float(promoted) ? promoted : DType::f32;
  const Tensor a = to(given_a, dtype), b = to(given_b, dtype),
               by = constant(weight, is_half(dtype) ? DType::f32 : dtype, a.device());
  return record(
      "lerp", combined<scalar::Lerp>(a, b, by, dtype), {a, b},
      [weight, a = without_values(a), b = without_values(b)](const Tensor& g) -> Grads {
        return {cast_gradient_for(a, [&] { return g * (1 - weight); }),
                cast_gradient_for(b, [&] { return g * weight; })};
      },
      false);
}

Tensor multiply_add_to(DType dtype, const Tensor& x, const Tensor& scale, const Tensor& shift) {
  return combined<scalar::MultiplyAdd>(x, scale, shift, dtype);
}

Tensor subtract_multiply_to(DType dtype, const Tensor& x, const Tensor& shift, const Tensor& scale) {
  return combined<scalar::SubtractMultiply>(x, shift, scale, dtype);
}

Tensor multiply_add(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  return record("multiply_add", combined<scalar::MultiplyAdd>(x, scale, shift, x.dtype()), {x, scale, shift},
                [=](const Tensor& g) -> Grads {
                  return {cast_gradient_for(x, [&] { return g * scale; }),
                          cast_gradient_for(scale, [&] { return g * x; }),
                          cast_gradient_for(shift, [&] { return g; })};
                });
}

}  // namespace veldt
