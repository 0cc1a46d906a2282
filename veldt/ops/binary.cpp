#include "veldt/ops/binary.h"

#include "veldt/core/error.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

void check_pair(const char* op, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype())
    throw ShapeError(str(op, " cannot combine ", a.dtype(), " with ", b.dtype()), "the dtypes differ",
                     "convert one side with to()");
  if (a.device() != b.device())
    throw DeviceError(str(op, " cannot combine a tensor on ", a.device(), " with one on ", b.device()),
                      "both must be on one device", "move one side with to()");
}

// The view of x repeated to `shape`, for a kernel alone.
View spread(const Tensor& x, const Shape& shape) { return broadcast_view(x, shape); }

template <class Op>
Tensor arithmetic(const Tensor& a, const Tensor& b, BackwardFn backward, bool saves_values) {
  check_pair(Op::name, a, b);
  const Shape shape = broadcast(a.shape(), b.shape(), Op::name);
  const Tensor out = empty(shape, a);
  kernels(a).binary(IndexOf<Op, scalar::BinaryOps>::value, spread(a, shape), spread(b, shape), out.view(),
                    nullptr);
  return record(Op::name, out, {a, b}, std::move(backward), saves_values);
}

template <class Op> Tensor comparison(const Tensor& a, const Tensor& b) {
  check_pair(Op::name, a, b);
  const Shape shape = broadcast(a.shape(), b.shape(), Op::name);
  const Tensor out = empty(shape, DType::boolean, a.device());
  kernels(a).compare(IndexOf<Op, CompareOps>::value, spread(a, shape), spread(b, shape), out.view(), nullptr);
  mark_cut(out, a, Op::name);
  mark_cut(out, b, Op::name);
  return out;
}

// The gradient for `input`, which was broadcast to g's shape; skipped when nobody wants it.
template <class Fn> Tensor gradient_for(const Tensor& input, Fn compute) {
  return needs_grad(input) ? sum_to(compute(), input.shape()) : Tensor();
}

Tensor constant_like(const Tensor& x, double value) { return full({}, value, x.dtype(), x.device()); }

// The gradient of a choice between a and b: g goes to the chosen one, 0 (never 0 times g) to the other.
Grads chosen(const Tensor& a_is_chosen, const Tensor& a, const Tensor& b, const Tensor& g) {
  const Tensor zero = constant_like(g, 0);
  return {gradient_for(a, [&] { return where(a_is_chosen, g, zero); }),
          gradient_for(b, [&] { return where(a_is_chosen, zero, g); })};
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Add>(
      a, b,
      [a, b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g; }), gradient_for(b, [&] { return g; })};
      },
      false);
}

Tensor sub(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Sub>(
      a, b,
      [a, b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g; }), gradient_for(b, [&] { return -g; })};
      },
      false);
}

Tensor mul(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Mul>(
      a, b,
      [a, b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g * b; }), gradient_for(b, [&] { return g * a; })};
      },
      true);
}

Tensor div(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Div>(
      a, b,
      [a, b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g / b; }),
                gradient_for(b, [&] { return -(g * a) / square(b); })};
      },
      true);
}

Tensor pow(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Pow>(
      a, b,
      [a, b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g * b * pow(a, b - 1); }), gradient_for(b, [&] {
                  // a^b log a is 0 at a = 0 for b > 0, where log alone is infinite.
                  const Tensor base = where(equal(a, constant_like(a, 0)), constant_like(a, 1), a);
                  return g * pow(a, b) * log(base);
                })};
      },
      true);
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Maximum>(
      a, b, [a, b](const Tensor& g) -> Grads { return chosen(greater(a, b), a, b, g); }, true);
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Minimum>(
      a, b, [a, b](const Tensor& g) -> Grads { return chosen(less(a, b), a, b, g); }, true);
}

Tensor equal(const Tensor& a, const Tensor& b) { return comparison<Equal>(a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return comparison<NotEqual>(a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return comparison<Less>(a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return comparison<LessEqual>(a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return comparison<Greater>(a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return comparison<GreaterEqual>(a, b); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (condition.dtype() != DType::boolean)
    throw ShapeError(str("where needs a boolean condition, not ", condition.dtype()),
                     "a condition is yes or no", "compare first, for example greater(x, y)");
  check_pair("where", a, b);
  const Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape(), "where"), "where");
  const Tensor out = empty(shape, a);
  kernels(a).where(spread(condition, shape), spread(a, shape), spread(b, shape), out.view(), nullptr);
  return record(
      "where", out, {condition, a, b},
      [condition, a, b](const Tensor& g) -> Grads {
        Grads grads = chosen(condition, a, b, g);
        return {Tensor(), grads[0], grads[1]};
      },
      false);
}

}  // namespace veldt
