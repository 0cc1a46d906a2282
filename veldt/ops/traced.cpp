// Arithmetic of traced numbers: constants are folded, a constant with a tensor uses the ops of a tensor and a
// number, and a tensor times itself is squared, whose gradient is one product.
#include "veldt/ops/traced.h"

#include "veldt/ops/create.h"

namespace veldt {
namespace {

bool same(const Traced& a, const Traced& b) { return a.tensor().impl() == b.tensor().impl(); }

}  // namespace

Traced::Traced(const Tensor& tensor) : tensor_(tensor) {}
Traced::Traced(const Traced&) = default;
Traced::~Traced() = default;

Traced Traced::later(Later& what) {
  Traced out(0.0);
  out.later_ = &what;
  return out;
}

const Tensor& Traced::tensor() const {
  if (later_ && !later_->made.defined()) later_->made = later_->make();
  return later_ ? later_->made : tensor_;
}

Traced Traced::map(double (*of_constant)(double), Tensor (*op)(const Tensor&)) const {
  return is_constant() ? Traced(of_constant(constant_)) : Traced(op(tensor()));
}

Tensor Traced::beside(const Tensor& x) const {
  return is_constant() ? full({}, constant_, x.dtype(), x.device()) : tensor();
}

Traced operator+(const Traced& a, const Traced& b) {
  if (a.is_constant() && b.is_constant()) return Traced(a.constant() + b.constant());
  if (a.is_constant()) return Traced(add(b.tensor(), a.constant()));
  if (b.is_constant()) return Traced(add(a.tensor(), b.constant()));
  return Traced(same(a, b) ? mul(a.tensor(), 2.0) : add(a.tensor(), b.tensor()));
}

Traced operator-(const Traced& a, const Traced& b) {
  if (a.is_constant() && b.is_constant()) return Traced(a.constant() - b.constant());
  if (a.is_constant()) return Traced(sub(a.constant(), b.tensor()));
  if (b.is_constant()) return Traced(sub(a.tensor(), b.constant()));
  return Traced(sub(a.tensor(), b.tensor()));
}

Traced operator*(const Traced& a, const Traced& b) {
  if (a.is_constant() && b.is_constant()) return Traced(a.constant() * b.constant());
  if (a.is_constant()) return b * a;
  if (b.is_constant()) return b.constant() == 1 ? a : Traced(mul(a.tensor(), b.constant()));
  return Traced(same(a, b) ? square(a.tensor()) : mul(a.tensor(), b.tensor()));
}

Traced operator/(const Traced& a, const Traced& b) {
  if (a.is_constant() && b.is_constant()) return Traced(a.constant() / b.constant());
  if (a.is_constant()) return Traced(div(a.constant(), b.tensor()));
  if (b.is_constant()) return Traced(div(a.tensor(), b.constant()));
  return Traced(div(a.tensor(), b.tensor()));
}

Traced operator-(const Traced& x) {
  return x.is_constant() ? Traced(-x.constant()) : Traced(neg(x.tensor()));
}

Traced select_gt(const Traced& a, const Traced& b, const Traced& yes, const Traced& no) {
  if (a.is_constant() && b.is_constant()) return a.constant() > b.constant() ? yes : no;
  const Tensor& known = a.is_constant() ? b.tensor() : a.tensor();
  const Tensor is = a.is_constant() ? less(known, a.constant()) : greater(known, b.beside(known));
  return Traced(where(is, yes.beside(known), no.beside(known)));
}

Traced select_nan(const Traced& x, const Traced& yes, const Traced& no) {
  if (x.is_constant()) return std::isnan(x.constant()) ? yes : no;
  return Traced(where(isnan(x.tensor()), yes.beside(x.tensor()), no.beside(x.tensor())));
}

Traced between(double low, const Traced& x, double high) {
  return x.is_constant() ? select_gt(Traced(low), x, Traced(low), select_gt(x, Traced(high), Traced(high), x))
                         : Traced(clamp(x.tensor(), low, high));
}

Traced power(const Traced& x, double p) {
  if (x.is_constant()) return Traced(std::pow(x.constant(), p));
  return p == 0 ? Traced(1) : p == 1 ? x : Traced(power(x.tensor(), p));
}

}  // namespace veldt
