// The exact remainder of a division.
// Tests: tests/cpu/binary_test.cpp, tests/kernels/formulas_test.cpp
#if defined(VELDT_KERNELS_DIVISION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_DIVISION_INL
#undef VELDT_KERNELS_DIVISION_INL
#else
#define VELDT_KERNELS_DIVISION_INL
#endif

#include <cmath>

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/open-inl.h"

VELDT_FN float fmod(float a, float b) { return ::fmodf(a, b); }
VELDT_FN double fmod(double a, double b) { return ::fmod(a, b); }
VELDT_FN float copysign(float x, float s) { return ::copysignf(x, s); }
VELDT_FN double copysign(double x, double s) { return ::copysign(x, s); }

#if defined(HWY_TARGET) && !defined(__CUDACC__)
template <class T> HWY_INLINE Lanes<T> copysign(Lanes<T> x, Lanes<T> s) { return hn::CopySign(x.v, s.v); }

// a - q b with q = trunc(a / b), computed exactly with one fused operation, because it is a multiple of b's
// last digit and smaller than b. If the rounded a / b is the next integer, b is added back. Quotients with
// too many digits, infinities and divisors of 0 are left to libm.
template <class T> HWY_INLINE Lanes<T> fmod(Lanes<T> a, Lanes<T> b) {
#if HWY_NATIVE_FMA
  const typename Lanes<T>::D d;
  const auto x = hn::Abs(a.v), y = hn::Abs(b.v), ratio = hn::Div(x, y);
  const auto few_digits = hn::Lt(ratio, hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 0x1p23 : 0x1p52)));
  if (HWY_LIKELY(hn::AllTrue(d, hn::And(few_digits, hn::Lt(y, hn::Inf(d)))))) {
    const auto r = hn::NegMulAdd(hn::Trunc(ratio), y, x);
    return hn::CopySign(hn::IfThenElse(hn::Lt(r, hn::Zero(d)), hn::Add(r, y), r), a.v);
  }
#endif
  return each_lane(a, b, [](T p, T q) { return fmod(p, q); });
}
#endif

#include "veldt/kernels/close-inl.h"
#endif
