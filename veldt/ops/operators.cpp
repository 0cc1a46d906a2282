// Operators that are more than another name of an op: logic of booleans alone, and changes in place.
#include "veldt/ops/operators.h"

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

void need_booleans(const char* op, const Tensor& a, const Tensor& b) {
  for (const Tensor* x : {&a, &b})
    if (x->dtype() != DType::boolean)
      throw ShapeError(str(op, " needs booleans, not a tensor of ", x->dtype(), ' ', x->shape()),
                       "it joins conditions",
                       "compare first, as in x > 0, or call logical_and() and its like");
}

bool is_recorded(const Tensor& x) { return grad_enabled() && x.requires_grad(); }
bool is_recorded(Scalar) { return false; }

void check_recorded(const char* op, const Tensor& a) {
  if (a.requires_grad() && a.is_leaf())
    throw Error(str("cannot change a leaf of ", a.shape(), " by ", op),
                "it requires a gradient, and the graph would no longer hold its value",
                str("do so within a NoGrad, or make a new tensor: a = a ", op[0], " b"));
  if (!a.is_replaceable())
    throw Error(str("cannot record ", op, " into a tensor of ", a.shape(), " that shares its memory"),
                "those that share it would keep the old values",
                str("make a new tensor: a = a ", op[0], " b"));
}

template <class B> Tensor computed(char op, const Tensor& a, const B& b) {
  return op == '+' ? add(a, b) : op == '-' ? sub(a, b) : op == '*' ? mul(a, b) : div(a, b);
}

// a op b in a's memory; `op` is "+=" or its like.
template <class B> void change(const char* op, Tensor& a, const B& b) {
  const bool recorded = is_recorded(a) || is_recorded(b);
  if (recorded) check_recorded(op, a);
  const Tensor result = computed(op[0], a, b);
  if (result.shape() != a.shape())
    throw ShapeError(str(op, " cannot write a result of ", result.shape(), " into ", a.shape()),
                     "the shapes differ, and a tensor keeps its own",
                     str("make a new tensor: a = a ", op[0], " b"));
  if (is_float(result.dtype()) && !is_float(a.dtype()))
    throw ShapeError(
        str(op, " cannot write ", result.dtype(), " into a tensor of ", a.dtype(), ' ', a.shape()),
        "what is after the point would be lost", "convert a with to() before");
  if (recorded) {
    a = to(result, a.dtype());
  } else {
    a.assign(result);
  }
}

}  // namespace

Tensor operator&(const Tensor& a, const Tensor& b) {
  need_booleans("&", a, b);
  return logical_and(a, b);
}
Tensor operator|(const Tensor& a, const Tensor& b) {
  need_booleans("|", a, b);
  return logical_or(a, b);
}
Tensor operator^(const Tensor& a, const Tensor& b) {
  need_booleans("^", a, b);
  return logical_xor(a, b);
}

Tensor& operator+=(Tensor& a, const Tensor& b) { return change("+=", a, b), a; }
Tensor& operator-=(Tensor& a, const Tensor& b) { return change("-=", a, b), a; }
Tensor& operator*=(Tensor& a, const Tensor& b) { return change("*=", a, b), a; }
Tensor& operator/=(Tensor& a, const Tensor& b) { return change("/=", a, b), a; }
Tensor& operator+=(Tensor& a, Scalar b) { return change("+=", a, b), a; }
Tensor& operator-=(Tensor& a, Scalar b) { return change("-=", a, b), a; }
Tensor& operator*=(Tensor& a, Scalar b) { return change("*=", a, b), a; }
Tensor& operator/=(Tensor& a, Scalar b) { return change("/=", a, b), a; }
void operator+=(Tensor&& part, const Tensor& b) { change("+=", part, b); }
void operator-=(Tensor&& part, const Tensor& b) { change("-=", part, b); }
void operator*=(Tensor&& part, const Tensor& b) { change("*=", part, b); }
void operator/=(Tensor&& part, const Tensor& b) { change("/=", part, b); }
void operator+=(Tensor&& part, Scalar b) { change("+=", part, b); }
void operator-=(Tensor&& part, Scalar b) { change("-=", part, b); }
void operator*=(Tensor&& part, Scalar b) { change("*=", part, b); }
void operator/=(Tensor&& part, Scalar b) { change("/=", part, b); }

}  // namespace veldt
