// Inverse hyperbolic functions of a register, by logarithms of 1 + x, which lose no digits near 0.
#if defined(VELDT_KERNELS_HYPERBOLIC_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_HYPERBOLIC_INL
#undef VELDT_KERNELS_HYPERBOLIC_INL
#else
#define VELDT_KERNELS_HYPERBOLIC_INL
#endif

#include <numbers>

#include "veldt/kernels/lanes-inl.h"
#include "veldt/kernels/logarithm-inl.h"
#include "veldt/kernels/open-inl.h"

// Above this x^2 + 1 is x^2, and asinh and acosh are log(2 x), whose 2 x could overflow.
constexpr double kLargeHyperbolic = 0x1p60;

// log(x + sqrt(x^2 + 1))
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> asinh(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L a = abs(x), one(1.0), large(kLargeHyperbolic), square = a * a;
  const L more = a + square / (one + sqrt(square + one));
  const L y = log1p(select_gt(a, large, a, more));
  return with_sign(select_gt(a, large, y + L(std::numbers::ln2), y), x);
}
// log(x + sqrt(x^2 - 1)), with t = x - 1
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> acosh(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L one(1.0), large(kLargeHyperbolic), t = x - one, more = t + sqrt(t * (t + L(2.0)));
  const L y = log1p(select_gt(x, large, x, more));
  const L at_least_one = select_gt(x, large, y + L(std::numbers::ln2), y);
  return select_gt(one, x, sqrt(-one), at_least_one);
}
// log((1 + x) / (1 - x)) / 2
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> atanh(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L a = abs(x);
  return with_sign(L(0.5) * log1p((a + a) / (L(1.0) - a)), x);
}

#include "veldt/kernels/close-inl.h"
#endif
