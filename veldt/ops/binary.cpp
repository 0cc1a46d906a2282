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
  kernels(a).binary(IndexOf<Op, scalar::BinaryOps>::value, spread(a, shape), spread(b, shape), out.view(), nullptr);
  return record(Op::name, out, {a, b}, std::move(backward), saves_values);
}

template <class Op>
Tensor comparison(const Tensor& a, const Tensor& b) {
  check_pair(Op::name, a, b);
  const Shape shape = broadcast(a.shape(), b.shape(), Op::name);
  const Tensor out = empty(shape, DType::boolean, a.device());
  kernels(a).compare(IndexOf<Op, CompareOps>::value, spread(a, shape), spread(b, shape), out.view(), nullptr);
  return out;
}

// The gradient for `input`, which was broadcast to g's shape; skipped when nobody wants it.
template <class Fn>
Tensor gradient_for(const Tensor& input, Fn compute) {
  return needs_grad(input) ? sum_to(compute(), input.shape()) : Tensor();
}

// g where `condition`, else 0.
Tensor masked(const Tensor& condition, const Tensor& g) {
  return where(condition, g, full({}, 0, g.dtype(), g.device()));
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Add>(a, b, [a, b](const Tensor& g) -> Grads {
    return {gradient_for(a, [&] { return g; }), gradient_for(b, [&] { return g; })};
  }, false);
}

Tensor sub(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Sub>(a, b, [a, b](const Tensor& g) -> Grads {
    return {gradient_for(a, [&] { return g; }), gradient_for(b, [&] { return -g; })};
  }, false);
}

Tensor mul(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Mul>(a, b, [a, b](const Tensor& g) -> Grads {
    return {gradient_for(a, [&] { return g * b; }), gradient_for(b, [&] { return g * a; })};
  }, true);
}

Tensor div(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Div>(a, b, [a, b](const Tensor& g) -> Grads {
    return {gradient_for(a, [&] { return g / b; }), gradient_for(b, [&] { return -(g * a) / square(b); })};
  }, true);
}

Tensor pow(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Pow>(a, b, [a, b](const Tensor& g) -> Grads {
    return {gradient_for(a, [&] { return g * b * pow(a, b - 1); }),
            gradient_for(b, [&] { return g * pow(a, b) * log(a); })};
  }, true);
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Maximum>(a, b, [a, b](const Tensor& g) -> Grads {
    const Tensor first = greater(a, b);
    return {gradient_for(a, [&] { return masked(first, g); }),
            gradient_for(b, [&] { return g - masked(first, g); })};
  }, true);
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  return arithmetic<scalar::Minimum>(a, b, [a, b](const Tensor& g) -> Grads {
    const Tensor first = less(a, b);
    return {gradient_for(a, [&] { return masked(first, g); }),
            gradient_for(b, [&] { return g - masked(first, g); })};
  }, true);
}

Tensor equal(const Tensor& a, const Tensor& b) { return comparison<Equal>(a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return comparison<NotEqual>(a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return comparison<Less>(a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return comparison<LessEqual>(a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return comparison<Greater>(a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return comparison<GreaterEqual>(a, b); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (condition.dtype() != DType::boolean)
    throw ShapeError(str("where needs a boolean condition, not ", condition.dtype()), "a condition is yes or no",
                     "compare first, for example greater(x, y)");
  check_pair("where", a, b);
  const Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape(), "where"), "where");
  const Tensor out = empty(shape, a);
  kernels(a).where(spread(condition, shape), spread(a, shape), spread(b, shape), out.view(), nullptr);
  return record("where", out, {condition, a, b}, [condition, a, b](const Tensor& g) -> Grads {
    const Tensor zero = full({}, 0, g.dtype(), g.device());
    return {Tensor(), gradient_for(a, [&] { return where(condition, g, zero); }),
            gradient_for(b, [&] { return where(condition, zero, g); })};
  }, false);
}

}  // namespace veldt
