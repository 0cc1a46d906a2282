// Elementwise ops of two tensors: promotion, broadcasting, choice by condition, and the range of plain
// numbers.
#include "veldt/ops/binary.h"

#include <cstdint>

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

// Both converted to their common dtype.
struct Pair {
  Tensor a, b;
};

Pair promoted(const char* op, const Tensor& a, const Tensor& b) {
  check_same_device(op, a, b);
  const DType dtype = promote(a.dtype(), b.dtype());
  return {to(a, dtype), to(b, dtype)};
}

// The same where booleans are not allowed as operands.
Pair promoted_numbers(const char* op, const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::boolean && b.dtype() == DType::boolean)
    throw ShapeError(str(op, " cannot combine booleans"), "they are not numbers",
                     "convert one side, for example to i64, or use logical_and, logical_or, logical_xor");
  return promoted(op, a, b);
}

Pair promoted_floats(const char* op, const Tensor& a, const Tensor& b) {
  const Pair p = promoted(op, a, b);
  return {as_float(p.a), as_float(p.b)};
}

// The range of an integer dtype.
struct Range {
  std::int64_t low, high;
};

Range range_of(DType t) {
  if (t == DType::u8) return {0, UINT8_MAX};
  if (t == DType::i8) return {INT8_MIN, INT8_MAX};
  return t == DType::i32 ? Range{INT32_MIN, INT32_MAX} : Range{INT64_MIN, INT64_MAX};
}

// The number as a tensor beside x, which an op then promotes to its dtype.
Tensor beside(const Tensor& x, Scalar value) { return constant(value, value.beside(x.dtype()), x.device()); }

// The view of x repeated to `shape`, only for a kernel.
View spread(const Tensor& x, const Shape& shape) { return broadcast_view(x, shape); }

// a and b have one dtype.
template <class Op>
Tensor arithmetic(const Tensor& a, const Tensor& b, BackwardFn backward, bool saves_values) {
  const Shape shape = broadcast(a.shape(), b.shape(), Op::name);
  const Tensor out = empty_along(shape, a.dtype(), {&a, &b});
  kernels(a).binary(IndexOf<Op, scalar::BinaryOps>::value, spread(a, shape), spread(b, shape), out.view());
  return record(Op::name, out, {a, b}, std::move(backward), saves_values);
}

template <class Op> Tensor comparison(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted(Op::name, left, right);
  const Shape shape = broadcast(a.shape(), b.shape(), Op::name);
  const Tensor out = empty_along(shape, DType::boolean, {&a, &b});
  kernels(a).compare(IndexOf<Op, CompareOps>::value, spread(a, shape), spread(b, shape), out.view());
  mark_cut(out, a, Op::name);
  mark_cut(out, b, Op::name);
  return out;
}

// The gradient for `input`, which was broadcast to g's shape; skipped if it is not needed.
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

// The gradient of the larger or smaller of a and b; equals share it.
Grads shared(const Tensor& a_wins, const Tensor& a, const Tensor& b, const Tensor& g) {
  const Tensor zero = constant_like(g, 0), tie = equal(a, b), share = where(tie, 0.5 * g, g);
  return {gradient_for(a, [&] { return where(logical_or(a_wins, tie), share, zero); }),
          gradient_for(b, [&] { return where(a_wins, zero, share); })};
}

// Compares integers with any number exactly. A fraction can be replaced by the next integer, and outside the
// range of x's dtype, or for a NaN, the answer is the same for all of x.
template <class Op> Tensor comparison(const Tensor& x, Scalar value) {
  const DType dtype = x.dtype() == DType::boolean ? DType::i64 : x.dtype();
  if (is_float(dtype)) return comparison<Op>(x, beside(x, value));
  constexpr bool up = std::is_same_v<Op, Less> || std::is_same_v<Op, GreaterEqual>;
  constexpr bool equality = std::is_same_v<Op, Equal> || std::is_same_v<Op, NotEqual>;
  const double real = value.real(), rounded = up ? std::ceil(real) : std::floor(real);
  double apart = 0;  // on which side of all of x it lies
  std::int64_t whole = value.whole();
  if (std::isnan(real) || (equality && !value.is_whole() && rounded != real))
    apart = NAN;
  else if (!value.is_whole() && (rounded < -0x1p63 || rounded >= 0x1p63))
    apart = rounded;
  else if (!value.is_whole())
    whole = static_cast<std::int64_t>(rounded);
  if (const auto [low, high] = range_of(dtype); apart == 0 && (whole < low || whole > high))
    apart = whole < low ? -1 : 1;
  if (apart == 0) return comparison<Op>(x, constant(whole, dtype, x.device()));
  const Tensor out = full(x.shape(), Op::holds(0.0, apart), DType::boolean, x.device());
  mark_cut(out, x, Op::name);
  return out;
}

}  // namespace

void check_holds(DType dtype, Scalar value) {
  const std::int64_t v = value.whole();
  const auto [low, high] = range_of(dtype);
  if (!is_float(dtype) && !value.is_whole())
    throw ShapeError(str("a tensor of ", dtype, " cannot take the number ", value.real()),
                     "it holds whole numbers", "convert the tensor first: to(x, DType::f32)");
  if (v < low || v > high)
    throw ShapeError(str("a tensor of ", dtype, " cannot take the number ", v),
                     str("it holds ", low, " to ", high), "convert the tensor first: to(x, DType::i64)");
}

Tensor constant(Scalar value, DType dtype, Device device) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53, kHalf = std::int64_t{1} << 32;
  const std::int64_t v = value.whole();
  check_holds(dtype, value);
  if (dtype != DType::i64 || (-kExact < v && v < kExact)) return full({}, value.real(), dtype, device);
  const auto part = [&](std::int64_t x) { return full({}, static_cast<double>(x), dtype, device); };
  return part(v >> 32) * part(kHalf) + part(v & (kHalf - 1));
}

Tensor add(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted("add", left, right);
  if (a.dtype() == DType::boolean) return maximum(a, b);
  return arithmetic<scalar::Add>(
      a, b,
      [a = without_values(a), b = without_values(b)](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g; }), gradient_for(b, [&] { return g; })};
      },
      false);
}

Tensor sub(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted_numbers("sub", left, right);
  return arithmetic<scalar::Sub>(
      a, b,
      [a = without_values(a), b = without_values(b)](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g; }), gradient_for(b, [&] { return -g; })};
      },
      false);
}

Tensor mul(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted("mul", left, right);
  if (a.dtype() == DType::boolean) return minimum(a, b);
  return arithmetic<scalar::Mul>(
      a, b,
      [a = a, b = b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g * b; }), gradient_for(b, [&] { return g * a; })};
      },
      true);
}

Tensor div(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted_floats("div", left, right);
  return arithmetic<scalar::Div>(
      a, b,
      [a = a, b = b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g / b; }), gradient_for(b, [&] { return -(g * (a / b)) / b; })};
      },
      true);
}

Tensor pow(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted_numbers("pow", left, right);
  return arithmetic<scalar::Pow>(
      a, b,
      [a = a, b = b](const Tensor& g) -> Grads {
        const Tensor one = constant_like(a, 1), zero = constant_like(a, 0);
        // b a^(b - 1) is 0 at b = 0, where a^-1 may be infinite; a^b log a is 0 at a = 0 for b >= 0, where
        // log alone is not.
        return {gradient_for(a, [&] { return g * b * pow(where(equal(b, zero), one, a), b - 1); }),
                gradient_for(b, [&] {
                  const Tensor flat = logical_and(equal(a, zero), greater_equal(b, zero));
                  return g * pow(a, b) * log(where(flat, one, a));
                })};
      },
      true);
}

Tensor maximum(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted("maximum", left, right);
  return arithmetic<scalar::Maximum>(
      a, b,
      [a = a, b = b](const Tensor& g) -> Grads {
        return shared(logical_or(greater(a, b), isnan(a)), a, b, g);
      },
      true);
}

Tensor minimum(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted("minimum", left, right);
  return arithmetic<scalar::Minimum>(
      a, b,
      [a = a, b = b](const Tensor& g) -> Grads { return shared(logical_or(less(a, b), isnan(a)), a, b, g); },
      true);
}

Tensor floor_divide(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted_numbers("floor_divide", left, right);
  return arithmetic<scalar::FloorDivide>(
      a, b,
      [a = without_values(a), b = without_values(b)](const Tensor& g) -> Grads {
        const Tensor flat = g * constant_like(g, 0);
        return {gradient_for(a, [&] { return flat; }), gradient_for(b, [&] { return flat; })};
      },
      false);
}

Tensor remainder(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted_numbers("remainder", left, right);
  return arithmetic<scalar::Remainder>(
      a, b,
      [a = a, b = b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g; }), gradient_for(b, [&] { return -g * floor_divide(a, b); })};
      },
      true);
}

Tensor fmod(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted_numbers("fmod", left, right);
  return arithmetic<scalar::Fmod>(
      a, b,
      [a = a, b = b](const Tensor& g) -> Grads {
        return {gradient_for(a, [&] { return g; }), gradient_for(b, [&] { return -g * trunc(a / b); })};
      },
      true);
}

Tensor atan2(const Tensor& left, const Tensor& right) {
  const auto [a, b] = promoted_floats("atan2", left, right);
  return arithmetic<scalar::Atan2>(
      a, b,
      [a = a, b = b](const Tensor& g) -> Grads {
        const Tensor length = square(a) + square(b);  // at the origin the gradient is 0, as in PyTorch
        const Tensor scaled = g / where(equal(length, 0), ones_like(length), length);
        return {gradient_for(a, [&] { return scaled * b; }), gradient_for(b, [&] { return -scaled * a; })};
      },
      true);
}

// Floats need one kernel, without a tensor for the number.
Tensor add(const Tensor& a, Scalar b) {
  return is_float(a.dtype()) ? affine(a, 1, b.real()) : add(a, beside(a, b));
}
Tensor sub(const Tensor& a, Scalar b) {
  return is_float(a.dtype()) ? affine(a, 1, -b.real()) : sub(a, beside(a, b));
}
Tensor sub(Scalar a, const Tensor& b) {
  return is_float(b.dtype()) ? affine(b, -1, a.real()) : sub(beside(b, a), b);
}
// Adding -0.0 changes no number; adding 0.0 would turn -0.0 into 0.0.
Tensor mul(const Tensor& a, Scalar b) {
  return is_float(a.dtype()) ? affine(a, b.real(), -0.0) : mul(a, beside(a, b));
}
Tensor div(const Tensor& a, Scalar b) { return quotient(as_float(a), b.real()); }
Tensor div(Scalar a, const Tensor& b) { return inverse(as_float(b), a.real()); }

Tensor pow(const Tensor& a, Scalar b) {
  if (is_float(b.beside(a.dtype()))) return power(as_float(a), b.real());
  if (b.whole() < 0)
    throw ConfigError(str("cannot raise ", a.dtype(), " to the power ", b.whole()),
                      "the results are not whole numbers", "write the power as a floating point number");
  return pow(a, beside(a, b));
}

Tensor maximum(const Tensor& a, Scalar b) { return maximum(a, beside(a, b)); }
Tensor minimum(const Tensor& a, Scalar b) { return minimum(a, beside(a, b)); }
Tensor floor_divide(const Tensor& a, Scalar b) { return floor_divide(a, beside(a, b)); }
Tensor remainder(const Tensor& a, Scalar b) { return remainder(a, beside(a, b)); }
Tensor fmod(const Tensor& a, Scalar b) { return fmod(a, beside(a, b)); }

Tensor equal(const Tensor& a, const Tensor& b) { return comparison<Equal>(a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return comparison<NotEqual>(a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return comparison<Less>(a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return comparison<LessEqual>(a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return comparison<Greater>(a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return comparison<GreaterEqual>(a, b); }
Tensor equal(const Tensor& a, Scalar b) { return comparison<Equal>(a, b); }
Tensor not_equal(const Tensor& a, Scalar b) { return comparison<NotEqual>(a, b); }
Tensor less(const Tensor& a, Scalar b) { return comparison<Less>(a, b); }
Tensor less_equal(const Tensor& a, Scalar b) { return comparison<LessEqual>(a, b); }
Tensor greater(const Tensor& a, Scalar b) { return comparison<Greater>(a, b); }
Tensor greater_equal(const Tensor& a, Scalar b) { return comparison<GreaterEqual>(a, b); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return comparison<LogicalAnd>(a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return comparison<LogicalOr>(a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return comparison<LogicalXor>(a, b); }
Tensor logical_not(const Tensor& x) { return equal(x, 0); }

// An integer is finite.
Tensor isnan(const Tensor& x) {
  return is_float(x.dtype()) ? not_equal(x, x) : zeros(x.shape(), DType::boolean, x.device());
}
Tensor isinf(const Tensor& x) {
  return is_float(x.dtype()) ? equal(abs(x.detach()), INFINITY)
                             : zeros(x.shape(), DType::boolean, x.device());
}
Tensor isfinite(const Tensor& x) {
  return is_float(x.dtype()) ? less(abs(x.detach()), INFINITY) : ones(x.shape(), DType::boolean, x.device());
}

Tensor where(const Tensor& condition, const Tensor& left, const Tensor& right) {
  if (condition.dtype() != DType::boolean)
    throw ShapeError(str("where needs a boolean condition, not ", condition.dtype()),
                     "a condition is yes or no", "compare first, for example greater(x, y)");
  check_same_device("where", condition, left);
  const auto [a, b] = promoted("where", left, right);
  const Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape(), "where"), "where");
  const Tensor out = empty_along(shape, a.dtype(), {&a, &b, &condition});
  kernels(a).where(spread(condition, shape), spread(a, shape), spread(b, shape), out.view());
  return record(
      "where", out, {condition, a, b},
      [condition, a = without_values(a), b = without_values(b)](const Tensor& g) -> Grads {
        Grads grads = chosen(condition, a, b, g);
        return {Tensor(), grads[0], grads[1]};
      },
      false);
}

}  // namespace veldt
