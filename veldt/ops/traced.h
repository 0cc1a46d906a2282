// A number type for formulas of kernels/ that records operations as ops, so that a slope gives tensors that
// can be differentiated again. It has the functions of kernels/math-inl.h.
// Tests: tests/ops/formula_test.cpp, tests/ops/gradient_test.cpp
#pragma once

#include <cmath>
#include <functional>

#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/unary.h"

namespace veldt {

class Traced {
 public:
  // A tensor that is created when a formula first needs it, and then kept.
  struct Later {
    std::function<Tensor()> make;
    Tensor made = {};
  };

  explicit Traced(double constant) : constant_(constant) {}
  explicit Traced(const Tensor& tensor);
  static Traced later(Later& what);
  // Defined once out of line, because slopes pass numbers by value a few hundred times.
  Traced(const Traced&);
  Traced& operator=(const Traced&) = delete;
  ~Traced();

  bool is_constant() const { return !later_ && !tensor_.defined(); }
  double constant() const { return constant_; }
  const Tensor& tensor() const;
  // The same with another number, which gives the dtype and the device.
  Tensor beside(const Tensor& x) const;

  // A constant gives another constant, a tensor the op's result.
  Traced map(double (*of_constant)(double), Tensor (*op)(const Tensor&)) const;

 private:
  Tensor tensor_;
  double constant_ = 0;
  Later* later_ = nullptr;
};

Traced operator+(const Traced& a, const Traced& b);
Traced operator-(const Traced& a, const Traced& b);
Traced operator*(const Traced& a, const Traced& b);
Traced operator/(const Traced& a, const Traced& b);
Traced operator-(const Traced& x);
Traced select_gt(const Traced& a, const Traced& b, const Traced& yes, const Traced& no);
Traced select_nan(const Traced& x, const Traced& yes, const Traced& no);
Traced between(double low, const Traced& x, double high);
Traced power(const Traced& x, double p);

inline Traced abs(const Traced& x) { return x.map(std::fabs, abs); }
inline Traced floor(const Traced& x) { return x.map(std::floor, floor); }
inline Traced ceil(const Traced& x) { return x.map(std::ceil, ceil); }
inline Traced trunc(const Traced& x) { return x.map(std::trunc, trunc); }
inline Traced round(const Traced& x) { return x.map(std::rint, round); }
inline Traced sqrt(const Traced& x) { return x.map(std::sqrt, sqrt); }
inline Traced exp(const Traced& x) { return x.map(std::exp, exp); }
inline Traced exp2(const Traced& x) { return x.map(std::exp2, exp2); }
inline Traced expm1(const Traced& x) { return x.map(std::expm1, expm1); }
inline Traced log(const Traced& x) { return x.map(std::log, log); }
inline Traced log2(const Traced& x) { return x.map(std::log2, log2); }
inline Traced log10(const Traced& x) { return x.map(std::log10, log10); }
inline Traced log1p(const Traced& x) { return x.map(std::log1p, log1p); }
inline Traced sin(const Traced& x) { return x.map(std::sin, sin); }
inline Traced cos(const Traced& x) { return x.map(std::cos, cos); }
inline Traced tan(const Traced& x) { return x.map(std::tan, tan); }
inline Traced asin(const Traced& x) { return x.map(std::asin, asin); }
inline Traced acos(const Traced& x) { return x.map(std::acos, acos); }
inline Traced atan(const Traced& x) { return x.map(std::atan, atan); }
inline Traced sinh(const Traced& x) { return x.map(std::sinh, sinh); }
inline Traced cosh(const Traced& x) { return x.map(std::cosh, cosh); }
inline Traced tanh(const Traced& x) { return x.map(std::tanh, tanh); }
inline Traced asinh(const Traced& x) { return x.map(std::asinh, asinh); }
inline Traced acosh(const Traced& x) { return x.map(std::acosh, acosh); }
inline Traced atanh(const Traced& x) { return x.map(std::atanh, atanh); }
inline Traced erf(const Traced& x) { return x.map(std::erf, erf); }
inline Traced erfc(const Traced& x) { return x.map(std::erfc, erfc); }

// Each is one op, where a formula would be several.
inline Traced inverse_sqrt(const Traced& x) {
  return x.map([](double v) { return 1 / std::sqrt(v); }, rsqrt);
}
inline Traced logistic(const Traced& x) {
  return x.map([](double v) { return 1 / (1 + std::exp(-v)); }, sigmoid);
}
inline Traced normal_share(const Traced& x) {
  return Traced(0.5) * erfc(Traced(-0.70710678118654752440) * x);
}

}  // namespace veldt
