// Inverse hyperbolic functions of a register, by logarithms of 1 + x, which lose no digits near 0.
// Tests: tests/ops/accuracy_test.cpp
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
HWY_INLINE Lanes<double> atanh(Lanes<double> x) {
  const Lanes<double> a = abs(x);
  return with_sign(Lanes<double>(0.5) * log1p((a + a) / (Lanes<double>(1.0) - a)), x);
}
// With 1 - a = 2^-k m, m from 1 to 2, the quotient is 2^k (1 + a) / m: atanh(a) = k log(2) / 2 + atanh(s)
// with s = (1 + a - m) / (1 + a + m) <= 1/3. Below 1/2, where 1 - a would be rounded, s is a itself and k is
// 0. atanh(s) is a polynomial with the smallest largest relative error (Remez 1934).
HWY_INLINE Lanes<float> atanh(Lanes<float> x) {
  using L = Lanes<float>;
  const L::D d;
  const hn::RebindToUnsigned<L::D> whole;
  const hn::RebindToSigned<L::D> number;
  const L a = abs(x), zero(0.0), half(0.5), one(1.0), rest_of_one = one - a;
  const auto exponent = hn::ShiftRight<23>(hn::BitCast(whole, rest_of_one.v));
  const L power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(hn::Set(whole, 2 * 127u), exponent)));
  const L count = hn::ConvertTo(d, hn::BitCast(number, hn::Sub(hn::Set(whole, 127u), exponent)));
  const L m = power * rest_of_one, k = select_gt(half, a, zero, count);
  const L s = select_gt(half, a, a, ((one - m) + a) / ((one + a) + m)), z = s * s;
  const L p =
      polynomial(z, 0.3333329874, 0.2000259403, 0.1422135669, 0.1183511259, 0.05093969578, 0.1772637716);
  const L low = mul_add(k, L(kLn2Low<float> / 2), mul_add(s * z, p, s));
  const L beyond = select_gt(a, one, sqrt(-one), a + L(hn::Inf(d)));
  return with_sign(select_gt(one, a, mul_add(k, L(kLn2High<float> / 2), low), beyond), x);
}

#include "veldt/kernels/close-inl.h"
#endif
