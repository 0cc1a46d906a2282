// Formulas of one number: forward, and slope = d forward / dx given x and y = forward(x). The slope is only
// written here: kernels run it over registers, and ops over traced numbers (ops/traced.h) if the gradient is
// differentiated again, so the branch that is not chosen must be finite too. A formula with constants stores
// them as doubles, in the order of core/backend.h's Scalars. A `wide` formula loses digits in floats (an
// argument is rounded before its sine is taken), so the CPU computes it for floats in doubles and rounds
// once. `slope_of_result`: slope(x, y) is slope(y, y), so the graph does not keep x. `whole` is for integers,
// if there is one. To add one: write it here, add it to UnaryOps, and give it its public function in
// ops/unary.h (docs/add-an-op.md). Activations are in activation-inl.h.
// Tests: tests/kernels/formulas_test.cpp, tests/ops/formula_test.cpp, tests/kernels/glsl_test.cpp
#if defined(VELDT_KERNELS_UNARY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_UNARY_INL
#undef VELDT_KERNELS_UNARY_INL
#else
#define VELDT_KERNELS_UNARY_INL
#endif

#include <numbers>
#include <type_traits>

#include "veldt/kernels/activation-inl.h"
#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/power-inl.h"
#include "veldt/kernels/type_list.h"
#include "veldt/kernels/open-inl.h"

// a x + b
struct Affine {
  static constexpr const char* name = "affine";
  double scale, shift;
  template <class F> VELDT_FN F forward(F x) const { return F(scale) * x + F(shift); }
  template <class F> VELDT_FN F slope(F, F) const { return F(scale); }
};

struct Abs {
  static constexpr const char* name = "abs";
  template <class F> VELDT_FN F forward(F x) const { return abs(x); }
  // The lowest number has no negative and stays.
  template <class I> VELDT_FN I whole(I x) const {
    return x < I(0) ? static_cast<I>(0 - static_cast<std::make_unsigned_t<I>>(x)) : x;
  }
  template <class F> VELDT_FN F slope(F x, F) const {
    return select_gt(x, F(0), F(1), select_gt(F(0), x, F(-1), F(0)));
  }
};

struct Sign {
  static constexpr const char* name = "sign";
  template <class F> VELDT_FN F forward(F x) const {
    return select_gt(x, F(0), F(1), select_gt(F(0), x, F(-1), select_nan(x, x, F(0))));
  }
  template <class F> VELDT_FN F slope(F, F) const { return F(0); }
};

struct Exp {
  static constexpr const char* name = "exp";
  static constexpr bool slope_of_result = true;
  template <class F> VELDT_FN F forward(F x) const { return exp(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return y; }
};

struct Log {
  static constexpr const char* name = "log";
  template <class F> VELDT_FN F forward(F x) const { return log(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / x; }
};

struct Sqrt {
  static constexpr const char* name = "sqrt";
  static constexpr bool slope_of_result = true;
  template <class F> VELDT_FN F forward(F x) const { return sqrt(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return F(0.5) / y; }
};

struct Square {
  static constexpr const char* name = "square";
  template <class F> VELDT_FN F forward(F x) const { return x * x; }
  template <class F> VELDT_FN F slope(F x, F) const { return F(2) * x; }
};

// rate x^2 / 2 up to |x| = delta, rate delta (|x| - delta / 2) beyond: Huber 1964
struct Huber {
  static constexpr const char* name = "huber";
  double delta, rate;
  template <class F> VELDT_FN F forward(F x) const {
    const F a = abs(x), within = select_gt(a, F(delta), F(delta), a);
    return F(rate) * within * (a - F(0.5) * within);
  }
  template <class F> VELDT_FN F slope(F x, F) const { return F(rate) * between(-delta, x, delta); }
};

// x^p with a constant p
struct PowScalar {
  static constexpr const char* name = "pow";
  double p;
  template <class F> VELDT_FN F forward(F x) const { return power(x, p); }
  template <class F> VELDT_FN F slope(F x, F) const { return p == 0 ? F(0) : F(p) * power(x, p - 1); }
};

struct Clamp {
  static constexpr const char* name = "clamp";
  static constexpr bool slope_of_result = true;
  double low, high;
  template <class F> VELDT_FN F forward(F x) const { return between(low, x, high); }
  template <class I> VELDT_FN I whole(I x) const {
    const I least = static_cast<I>(low), most = static_cast<I>(high), y = x < least ? least : x;
    return most < y ? most : y;
  }
  template <class F> VELDT_FN F slope(F x, F) const {
    return select_gt(x, F(low), select_gt(F(high), x, F(1), F(0)), F(0));
  }
};

struct Sin {
  static constexpr const char* name = "sin";
  template <class F> VELDT_FN F forward(F x) const { return sin(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return cos(x); }
};

struct Cos {
  static constexpr const char* name = "cos";
  template <class F> VELDT_FN F forward(F x) const { return cos(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return -sin(x); }
};

struct Tanh {
  static constexpr const char* name = "tanh";
  static constexpr bool slope_of_result = true;
  template <class F> VELDT_FN F forward(F x) const { return tanh(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return F(1) - y * y; }
};

// x / divisor: not x times the reciprocal, which rounds twice
struct Quotient {
  static constexpr const char* name = "div";
  double divisor;
  template <class F> VELDT_FN F forward(F x) const { return x / F(divisor); }
  template <class F> VELDT_FN F slope(F, F) const { return F(1) / F(divisor); }
};

// numerator / x
struct Inverse {
  static constexpr const char* name = "reciprocal";
  double numerator;
  template <class F> VELDT_FN F forward(F x) const { return F(numerator) / x; }
  template <class F> VELDT_FN F slope(F x, F y) const { return -(y / x); }
};

// 1 / sqrt(x)
struct Rsqrt {
  static constexpr const char* name = "rsqrt";
  template <class F> VELDT_FN F forward(F x) const { return inverse_sqrt(x); }
  template <class F> VELDT_FN F slope(F x, F y) const { return F(-0.5) * y / x; }
};

struct Expm1 {
  static constexpr const char* name = "expm1";
  static constexpr bool slope_of_result = true;
  template <class F> VELDT_FN F forward(F x) const { return expm1(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return y + F(1); }
};

struct Log1p {
  static constexpr const char* name = "log1p";
  template <class F> VELDT_FN F forward(F x) const { return log1p(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / (F(1) + x); }
};

struct Floor {
  static constexpr const char* name = "floor";
  template <class F> VELDT_FN F forward(F x) const { return floor(x); }
  template <class F> VELDT_FN F slope(F, F) const { return F(0); }
};
struct Ceil {
  static constexpr const char* name = "ceil";
  template <class F> VELDT_FN F forward(F x) const { return ceil(x); }
  template <class F> VELDT_FN F slope(F, F) const { return F(0); }
};
struct Trunc {
  static constexpr const char* name = "trunc";
  template <class F> VELDT_FN F forward(F x) const { return trunc(x); }
  template <class F> VELDT_FN F slope(F, F) const { return F(0); }
};
struct Frac {
  static constexpr const char* name = "frac";
  template <class F> VELDT_FN F forward(F x) const { return x - trunc(x); }
  template <class F> VELDT_FN F slope(F, F) const { return F(1); }
};
// half to even
struct Round {
  static constexpr const char* name = "round";
  template <class F> VELDT_FN F forward(F x) const { return round(x); }
  template <class F> VELDT_FN F slope(F, F) const { return F(0); }
};

struct Tan {
  static constexpr const char* name = "tan";
  template <class F> VELDT_FN F forward(F x) const { return tan(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return F(1) + y * y; }
};

struct Asin {
  static constexpr const char* name = "asin";
  template <class F> VELDT_FN F forward(F x) const { return asin(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return inverse_sqrt((F(1) - x) * (F(1) + x)); }
};

struct Acos {
  static constexpr const char* name = "acos";
  template <class F> VELDT_FN F forward(F x) const { return acos(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return -inverse_sqrt((F(1) - x) * (F(1) + x)); }
};

struct Atan {
  static constexpr const char* name = "atan";
  template <class F> VELDT_FN F forward(F x) const { return atan(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / (F(1) + x * x); }
};

struct Sinh {
  static constexpr const char* name = "sinh";
  static constexpr bool wide = true;
  template <class F> VELDT_FN F forward(F x) const { return sinh(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return cosh(x); }
};

struct Cosh {
  static constexpr const char* name = "cosh";
  static constexpr bool wide = true;
  template <class F> VELDT_FN F forward(F x) const { return cosh(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return sinh(x); }
};

struct Asinh {
  static constexpr const char* name = "asinh";
  static constexpr bool wide = true;
  template <class F> VELDT_FN F forward(F x) const { return asinh(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return inverse_sqrt(x * x + F(1)); }
};

struct Acosh {
  static constexpr const char* name = "acosh";
  static constexpr bool wide = true;
  template <class F> VELDT_FN F forward(F x) const { return acosh(x); }
  template <class F> VELDT_FN F slope(F x, F) const {
    return inverse_sqrt(x - F(1)) * inverse_sqrt(x + F(1));
  }
};

struct Atanh {
  static constexpr const char* name = "atanh";
  template <class F> VELDT_FN F forward(F x) const { return atanh(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / ((F(1) - x) * (F(1) + x)); }
};

struct Erf {
  static constexpr const char* name = "erf";
  template <class F> VELDT_FN F forward(F x) const { return erf(x); }
  template <class F> VELDT_FN F slope(F x, F) const {
    return F(2 * std::numbers::inv_sqrtpi) * exp(-(x * x));
  }
};

struct Erfc {
  static constexpr const char* name = "erfc";
  static constexpr bool wide = kRoundsTwice;
  template <class F> VELDT_FN F forward(F x) const { return erfc(x); }
  template <class F> VELDT_FN F slope(F x, F) const {
    return F(-2 * std::numbers::inv_sqrtpi) * exp(-(x * x));
  }
};

struct Exp2 {
  static constexpr const char* name = "exp2";
  template <class F> VELDT_FN F forward(F x) const { return exp2(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return F(std::numbers::ln2) * y; }
};

struct Log2 {
  static constexpr const char* name = "log2";
  template <class F> VELDT_FN F forward(F x) const { return log2(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(std::numbers::log2e) / x; }
};

struct Log10 {
  static constexpr const char* name = "log10";
  template <class F> VELDT_FN F forward(F x) const { return log10(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(std::numbers::log10e) / x; }
};

using UnaryOps =
    Joined<TypeList<Affine, Abs, Sign, Exp, Log, Sqrt, Square, PowScalar, Clamp, Sin, Cos, Tanh, Quotient,
                    Inverse, Rsqrt, Expm1, Log1p, Floor, Ceil, Trunc, Frac, Round, Tan, Asin, Acos, Atan,
                    Sinh, Cosh, Asinh, Acosh, Atanh, Erf, Erfc, Exp2, Log2, Log10, Huber>,
           ActivationOps>;

#include "veldt/kernels/close-inl.h"
#endif
