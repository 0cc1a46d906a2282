// Formulas of one number that libm computes, one number at a time: rare functions, for which SIMD is not
// worth its size. A backend counts them on from the end of UnaryOps.
#if defined(VELDT_KERNELS_UNARY_LIBM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_UNARY_LIBM_INL
#undef VELDT_KERNELS_UNARY_LIBM_INL
#else
#define VELDT_KERNELS_UNARY_LIBM_INL
#endif

#include <cmath>
#include <numbers>

#include "veldt/kernels/activation-inl.h"
#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/type_list.h"
#include "veldt/kernels/open-inl.h"

VELDT_FN float tan(float x) { return ::tanf(x); }
VELDT_FN double tan(double x) { return ::tan(x); }
VELDT_FN float asin(float x) { return ::asinf(x); }
VELDT_FN double asin(double x) { return ::asin(x); }
VELDT_FN float acos(float x) { return ::acosf(x); }
VELDT_FN double acos(double x) { return ::acos(x); }
VELDT_FN float atan(float x) { return ::atanf(x); }
VELDT_FN double atan(double x) { return ::atan(x); }
VELDT_FN float sinh(float x) { return ::sinhf(x); }
VELDT_FN double sinh(double x) { return ::sinh(x); }
VELDT_FN float cosh(float x) { return ::coshf(x); }
VELDT_FN double cosh(double x) { return ::cosh(x); }
VELDT_FN float asinh(float x) { return ::asinhf(x); }
VELDT_FN double asinh(double x) { return ::asinh(x); }
VELDT_FN float acosh(float x) { return ::acoshf(x); }
VELDT_FN double acosh(double x) { return ::acosh(x); }
VELDT_FN float atanh(float x) { return ::atanhf(x); }
VELDT_FN double atanh(double x) { return ::atanh(x); }
VELDT_FN float erf(float x) { return ::erff(x); }
VELDT_FN double erf(double x) { return ::erf(x); }
VELDT_FN float erfc(float x) { return ::erfcf(x); }
VELDT_FN double erfc(double x) { return ::erfc(x); }
VELDT_FN float exp2(float x) { return ::exp2f(x); }
VELDT_FN double exp2(double x) { return ::exp2(x); }
VELDT_FN float log2(float x) { return ::log2f(x); }
VELDT_FN double log2(double x) { return ::log2(x); }
VELDT_FN float log10(float x) { return ::log10f(x); }
VELDT_FN double log10(double x) { return ::log10(x); }

struct Tan {
  static constexpr const char* name = "tan";
  template <class F> VELDT_FN F forward(F x) const { return tan(x); }
  template <class F> VELDT_FN F slope(F, F y) const { return F(1) + y * y; }
};

struct Asin {
  static constexpr const char* name = "asin";
  template <class F> VELDT_FN F forward(F x) const { return asin(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / sqrt((F(1) - x) * (F(1) + x)); }
};

struct Acos {
  static constexpr const char* name = "acos";
  template <class F> VELDT_FN F forward(F x) const { return acos(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(-1) / sqrt((F(1) - x) * (F(1) + x)); }
};

struct Atan {
  static constexpr const char* name = "atan";
  template <class F> VELDT_FN F forward(F x) const { return atan(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / (F(1) + x * x); }
};

struct Sinh {
  static constexpr const char* name = "sinh";
  template <class F> VELDT_FN F forward(F x) const { return sinh(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return cosh(x); }
};

struct Cosh {
  static constexpr const char* name = "cosh";
  template <class F> VELDT_FN F forward(F x) const { return cosh(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return sinh(x); }
};

struct Asinh {
  static constexpr const char* name = "asinh";
  template <class F> VELDT_FN F forward(F x) const { return asinh(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / sqrt(x * x + F(1)); }
};

struct Acosh {
  static constexpr const char* name = "acosh";
  template <class F> VELDT_FN F forward(F x) const { return acosh(x); }
  template <class F> VELDT_FN F slope(F x, F) const { return F(1) / (sqrt(x - F(1)) * sqrt(x + F(1))); }
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

using UnaryLibmOps = TypeList<Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Erf, Erfc, Exp2, Log2,
                              Log10, Selu, Celu, LogSigmoid>;

#include "veldt/kernels/close-inl.h"
#endif
