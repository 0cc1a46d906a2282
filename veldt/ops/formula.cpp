// Makes an op from a formula. For one number, the kernel computes forward and, in one pass, gradient times
// slope. If the gradient is differentiated again, the same slope runs over traced numbers instead; formulas
// of two numbers always do that.
#include "veldt/ops/formula.h"

#include <cstring>

#include "veldt/core/error.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/unary-inl.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/traced.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

template <class Op> Traced traced_slope(Scalars s, const Traced& x, const Traced& y) {
  return formula<Op>(s.a, s.b).slope(x, y);
}

// The functions of each formula, in the order of a backend's indices.
struct UnaryFormula {
  const char* name;
  Traced (*slope)(Scalars, const Traced& x, const Traced& y);
  bool slope_of_result;  // slope(x, y) is slope(y, y), so that x need not be kept
};
template <class Op> constexpr bool slope_of_result() {
  if constexpr (requires { Op::slope_of_result; }) return Op::slope_of_result;
  return false;
}
template <class... Op> const UnaryFormula& formula_at(TypeList<Op...>, int op) {
  static constexpr UnaryFormula table[] = {{Op::name, &traced_slope<Op>, slope_of_result<Op>()}...};
  return table[op];
}
const UnaryFormula& formula_at(int op) { return formula_at(scalar::UnaryOps(), op); }

struct UnaryBackward {
  int op;
  Scalars scalars;
  bool reads_x;
  Tensor x;  // without its values unless they are read
  SavedResult kept;

  UnaryBackward(int formula, Scalars s, const Tensor& input, const Tensor& y)
      : op(formula),
        scalars(s),
        // A half that was rounded to a bound is not told from one beyond it.
        reads_x(!formula_at(op).slope_of_result || is_half(input.dtype())),
        x(reads_x ? input : without_values(input)),
        kept(y) {}

  Tensor times_slope(const Tensor& g, const Tensor& of, Traced::Later y) const {
    const Traced result = Traced::later(y);
    return (Traced(g) * formula_at(op).slope(scalars, reads_x ? Traced(of) : result, result)).tensor();
  }

  Grads operator()(const Tensor& g) const {
    if (grad_enabled() && is_half(x.dtype())) {  // as the kernel does: rounded once, not after each op
      const Tensor wide = to(x, DType::f32);
      const auto result = [&] { return unary(op, wide, scalars.a, scalars.b); };
      return {to(times_slope(to(g, DType::f32), wide, {result}), x.dtype())};
    }
    const Tensor& y = reads_x ? kept.unchecked() : kept.values();
    const auto result = [&] { return record(formula_at(op).name, y.detach(), {x}, *this, reads_x); };
    if (grad_enabled()) return {times_slope(g, x, {result})};
    const Tensor out = empty_along(x.shape(), x.dtype(), {&x});
    kernels(g).unary_slope(op, scalars, (reads_x ? x : y).view(), y.view(), g.view(), out.view());
    return {out};
  }
};

// The same of two numbers; null where a formula has no slopes.
struct BinaryFormula {
  const char* name;
  Traced (*slope_a)(const Traced& a, const Traced& b, const Traced& y);
  Traced (*slope_b)(const Traced& a, const Traced& b, const Traced& y);
};
template <class Op> constexpr BinaryFormula binary_formula_of() {
  if constexpr (requires(Traced x) { Op::slope_a(x, x, x); })
    return {Op::name, [](const Traced& a, const Traced& b, const Traced& y) { return Op::slope_a(a, b, y); },
            [](const Traced& a, const Traced& b, const Traced& y) { return Op::slope_b(a, b, y); }};
  else
    return {Op::name, nullptr, nullptr};
}
template <class... Op> const BinaryFormula& binary_formula_at(TypeList<Op...>, int op) {
  static constexpr BinaryFormula table[] = {binary_formula_of<Op>()...};
  return table[op];
}
const BinaryFormula& binary_formula_at(int op) { return binary_formula_at(scalar::BinaryOps(), op); }

struct BinaryBackward {
  int op;
  Tensor a, b, kept;

  Grads operator()(const Tensor& g) const {
    const BinaryFormula& formula = binary_formula_at(op);
    Traced::Later y{[&] { return record(formula.name, kept.detach(), {a, b}, *this); }};
    const auto gradient = [&](const Tensor& input, auto slope) {
      if (!needs_grad(input)) return Tensor();
      const Traced product = Traced(g) * slope(Traced(a), Traced(b), Traced::later(y));
      return sum_to(product.tensor(), input.shape());
    };
    return {gradient(a, formula.slope_a), gradient(b, formula.slope_b)};
  }
};

}  // namespace

int unary_formula(const char* name) {
  for (int op = 0; op < scalar::UnaryOps::size; ++op)
    if (std::strcmp(formula_at(op).name, name) == 0) return op;
  throw Error(str("there is no formula of one number called ", name),
              "no struct in scalar::UnaryOps has that name", "compare with the names in kernels/unary-inl.h");
}

Tensor unary(int formula, const Tensor& given, double a, double b) {
  const Tensor x = as_float(given);
  const Tensor y = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).unary(formula, {a, b}, x.view(), y.view());
  const UnaryBackward backward(formula, {a, b}, x, y);
  return record(formula_at(formula).name, y, {x}, backward, backward.reads_x);
}

int binary_formula(const char* name) {
  for (int op = 0; op < scalar::BinaryOps::size; ++op)
    if (std::strcmp(binary_formula_at(op).name, name) == 0 && binary_formula_at(op).slope_a) return op;
  throw Error(str("there is no formula of two numbers, with its slopes, called ", name),
              "no struct in scalar::BinaryOps has that name, slope_a and slope_b",
              "compare with hypot in kernels/binary-inl.h");
}

Tensor binary(int formula, const Tensor& left, const Tensor& right) {
  const char* const name = binary_formula_at(formula).name;
  check_same_device(name, left, right);
  const DType dtype = promote(left.dtype(), right.dtype());
  const Tensor a = as_float(to(left, dtype)), b = as_float(to(right, dtype));
  const Shape shape = broadcast(a.shape(), b.shape(), name);
  const Tensor y = empty_along(shape, a.dtype(), {&a, &b});
  kernels(a).binary(formula, broadcast_view(a, shape), broadcast_view(b, shape), y.view());
  return record(name, y, {a, b}, BinaryBackward{formula, a, b, y.detach()});
}

}  // namespace veldt
