// The number types that formulas are written over, and the functions they may call: float and double one at a
// time (CUDA threads, the test oracle), and Lanes<T>, a SIMD register that reads like one number.
// Tests: tests/kernels/formulas_test.cpp, tests/ops/accuracy_test.cpp, tests/ops/targets_test.cpp
#if defined(VELDT_KERNELS_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_MATH_INL
#undef VELDT_KERNELS_MATH_INL
#else
#define VELDT_KERNELS_MATH_INL
#endif

#include <cmath>
#include <cstddef>

#if defined(HWY_TARGET) && !defined(__CUDACC__)
#include "veldt/kernels/error_function-inl.h"
#include "veldt/kernels/exponential-inl.h"
#include "veldt/kernels/hyperbolic-inl.h"
#include "veldt/kernels/lanes-inl.h"
#include "veldt/kernels/logarithm-inl.h"
#include "veldt/kernels/trigonometry-inl.h"
#endif
#include "veldt/kernels/open-inl.h"

// Whether a b + c is rounded twice in registers, which loses too many digits in the tails of erfc and gelu.
#if defined(HWY_TARGET) && !HWY_NATIVE_FMA
constexpr bool kRoundsTwice = true;
#else
constexpr bool kRoundsTwice = false;
#endif

VELDT_FN float exp(float x) { return ::expf(x); }
VELDT_FN double exp(double x) { return ::exp(x); }
VELDT_FN float log(float x) { return ::logf(x); }
VELDT_FN double log(double x) { return ::log(x); }
VELDT_FN float sqrt(float x) { return ::sqrtf(x); }
VELDT_FN double sqrt(double x) { return ::sqrt(x); }
VELDT_FN float sin(float x) { return ::sinf(x); }
VELDT_FN double sin(double x) { return ::sin(x); }
VELDT_FN float cos(float x) { return ::cosf(x); }
VELDT_FN double cos(double x) { return ::cos(x); }
VELDT_FN float tanh(float x) { return ::tanhf(x); }
VELDT_FN double tanh(double x) { return ::tanh(x); }
VELDT_FN float log1p(float x) { return ::log1pf(x); }
VELDT_FN double log1p(double x) { return ::log1p(x); }
VELDT_FN float pow(float x, float p) { return ::powf(x, p); }
VELDT_FN double pow(double x, double p) { return ::pow(x, p); }
VELDT_FN float expm1(float x) { return ::expm1f(x); }
VELDT_FN double expm1(double x) { return ::expm1(x); }
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
VELDT_FN float floor(float x) { return ::floorf(x); }
VELDT_FN double floor(double x) { return ::floor(x); }
VELDT_FN float ceil(float x) { return ::ceilf(x); }
VELDT_FN double ceil(double x) { return ::ceil(x); }
VELDT_FN float trunc(float x) { return ::truncf(x); }
VELDT_FN double trunc(double x) { return ::trunc(x); }
// Half to even.
VELDT_FN float round(float x) { return ::rintf(x); }
VELDT_FN double round(double x) { return ::rint(x); }
VELDT_FN float abs(float x) { return ::fabsf(x); }
VELDT_FN double abs(double x) { return ::fabs(x); }

// The probability of a standard normal distribution below x, exact in the lower tail too.
VELDT_FN float normal_share(float x) { return 0.5f * ::erfcf(-0.70710678f * x); }
VELDT_FN double normal_share(double x) { return 0.5 * ::erfc(-0.70710678118654752440 * x); }

// x times that probability, and m e^x: the second factor alone could be a denormal or 0 where the product is
// not.
VELDT_FN float times_normal_share(float x) { return x * normal_share(x); }
VELDT_FN double times_normal_share(double x) { return x * normal_share(x); }
VELDT_FN float exp_times(float x, float m) { return m * exp(0.5f * x) * exp(0.5f * x); }
VELDT_FN double exp_times(double x, double m) { return m * exp(0.5 * x) * exp(0.5 * x); }

// a > b ? yes : no; false when either is NaN
VELDT_FN float select_gt(float a, float b, float yes, float no) { return a > b ? yes : no; }
VELDT_FN double select_gt(double a, double b, double yes, double no) { return a > b ? yes : no; }
VELDT_FN float select_nan(float x, float yes, float no) { return x != x ? yes : no; }
VELDT_FN double select_nan(double x, double yes, double no) { return x != x ? yes : no; }

// x clamped to the bounds; a NaN stays.
template <class F> VELDT_FN F between(double low, F x, double high) {
  return select_gt(F(low), x, F(low), select_gt(x, F(high), F(high), x));
}

template <class F> VELDT_FN F inverse_sqrt(F x) { return F(1) / sqrt(x); }

// The slope of x P(x), P the share: P(x) + x p(x). Beyond the bounds the density p is 0 in doubles too, and
// infinity times 0 would be NaN.
template <class F> VELDT_FN F times_normal_share_slope(F x) {
  const F density = F(0.39894228040143267794) * exp(F(-0.5) * (x * x));  // 1 / sqrt(2 pi)
  return normal_share(x) + between(-40, x, 40) * density;
}

// s(x) = 1 / (1 + exp(-x)); computed with the smaller exponential, which cannot overflow, so that the tail is
// exact down to the denormals.
template <class F> VELDT_FN F logistic(F x) {
  const F e = exp(-abs(x));
  return select_gt(F(0), x, e, F(1)) / (F(1) + e);
}

#include "veldt/kernels/close-inl.h"
#endif
