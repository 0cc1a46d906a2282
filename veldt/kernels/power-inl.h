// x^p in SIMD registers. Floats are computed in double, whose digits to spare make log2 and exp2 by plain
// polynomials good enough: the result is off by at most 0.51 ulp.
#if defined(VELDT_KERNELS_POWER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_POWER_INL
#undef VELDT_KERNELS_POWER_INL
#else
#define VELDT_KERNELS_POWER_INL
#endif

#include <cmath>

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/open-inl.h"

#if defined(HWY_TARGET) && !defined(__CUDACC__)
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE Lanes<float> pow(Lanes<float> x, Lanes<float> p) {
  return each_lane(x, p, [](float a, float b) { return pow(a, b); });
}
#else
// log2 of a number above 0, as e + log2(m) with m from sqrt(1/2) to sqrt(2): of s = (m - 1) / (m + 1),
// log2(m) = s L(s^2). L was fitted to the smallest largest relative error, 3e-14. Of 0 -infinity.
template <class D, class V> HWY_INLINE V log2_of_positive(D d, V x) {
  const hn::RebindToSigned<D> whole;
  const auto half_root = hn::Set(whole, 0x3fe6a09e667f3bcd), bits = hn::BitCast(whole, x);
  const auto e = hn::ShiftRight<52>(hn::Sub(bits, half_root));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(e)));
  const V one = hn::Set(d, 1.0), s = hn::Div(hn::Sub(m, one), hn::Add(m, one)), z = hn::Mul(s, s);
  V p = hn::Set(d, 0.28290144493216882997);
  p = hn::MulAdd(p, z, hn::Set(d, 0.31990561200683459516));
  p = hn::MulAdd(p, z, hn::Set(d, 0.41220925432246483264));
  p = hn::MulAdd(p, z, hn::Set(d, 0.57707794234684287273));
  p = hn::MulAdd(p, z, hn::Set(d, 0.96179669411340046555));
  p = hn::MulAdd(p, z, hn::Set(d, 2.8853900817778499657));
  // e as a double: its bits are added to those of 2^52 + 2^51, whose last digit counts ones.
  const V shift = hn::Set(d, 0x1.8p52);
  const V exponent = hn::Sub(hn::BitCast(d, hn::Add(e, hn::BitCast(whole, shift))), shift);
  const V y = hn::MulAdd(s, p, exponent);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(hn::Inf(d)),
                        hn::IfThenElse(hn::Eq(x, hn::Inf(d)), x, y));
}

// 2^t for |t| <= 200. The polynomial in t - round(t) was fitted to the smallest largest relative error,
// 4e-11.
template <class D, class V> HWY_INLINE V exp2_of_moderate(D d, V t) {
  const hn::RebindToSigned<D> whole;
  const V shift = hn::Set(d, 0x1.8p52), shifted = hn::Add(t, shift), f = hn::Sub(t, hn::Sub(shifted, shift));
  V p = hn::Set(d, 0.000015201924248838621819);
  p = hn::MulAdd(p, f, hn::Set(d, 0.00015469291407534769356));
  p = hn::MulAdd(p, f, hn::Set(d, 0.0013333922554917489759));
  p = hn::MulAdd(p, f, hn::Set(d, 0.0096180272526906190025));
  p = hn::MulAdd(p, f, hn::Set(d, 0.055504103534569271881));
  p = hn::MulAdd(p, f, hn::Set(d, 0.24022651198167253474));
  p = hn::MulAdd(p, f, hn::Set(d, 0.69314718072843843409));
  p = hn::MulAdd(p, f, hn::Set(d, 0.99999999996167933703));
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(whole, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(whole, p), exponent));
}

// p log2(x), with 0 for what is no number: infinity times 0, where the power is 1.
template <class D, class V> HWY_INLINE V power_of_positive(D d, V x, V p) {
  const V t = hn::Mul(p, log2_of_positive(d, x)), most = hn::Set(d, 200.0);
  const V number = hn::IfThenZeroElse(hn::IsNaN(t), t);
  return exp2_of_moderate(d, hn::Max(hn::Neg(most), hn::Min(most, number)));
}

// Special numbers as C23 F.10.4.4 has them.
HWY_INLINE Lanes<float> pow(Lanes<float> x, Lanes<float> p) {
  const Lanes<float>::D d;
  const hn::Half<decltype(d)> half;
  const hn::Repartition<double, decltype(d)> wide;
  const auto a = hn::Abs(x.v);
  const auto low = power_of_positive(wide, hn::PromoteTo(wide, hn::LowerHalf(half, a)),
                                     hn::PromoteTo(wide, hn::LowerHalf(half, p.v)));
  const auto high = power_of_positive(wide, hn::PromoteTo(wide, hn::UpperHalf(half, a)),
                                      hn::PromoteTo(wide, hn::UpperHalf(half, p.v)));
  auto y = hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
  const auto one = hn::Set(d, 1.0f), zero = hn::Zero(d), inf = hn::Inf(d),
             half_p = hn::Mul(p.v, hn::Set(d, 0.5f));
  const auto is_whole = hn::Eq(hn::Trunc(p.v), p.v);
  const auto is_odd = hn::AndNot(hn::Eq(hn::Trunc(half_p), half_p), is_whole);
  y = hn::IfThenElse(is_odd, hn::CopySign(y, x.v), y);
  const auto has_none = hn::And(hn::Lt(x.v, zero), hn::AndNot(is_whole, hn::Lt(a, inf)));
  y = hn::IfThenElse(has_none, hn::NaN(d), y);
  y = hn::IfThenElse(hn::IsNaN(x.v), x.v, hn::IfThenElse(hn::IsNaN(p.v), p.v, y));
  return hn::IfThenElse(hn::Or(hn::Eq(x.v, one), hn::Eq(p.v, zero)), one, y);
}
#endif

HWY_INLINE Lanes<double> pow(Lanes<double> x, Lanes<double> p) {
  return each_lane(x, p, [](double a, double b) { return pow(a, b); });
}
#endif

// x^p with one p for all x: the usual ones without logarithms.
template <class F> VELDT_FN F power(F x, double p) {
  if (p == 0) return F(1);
  if (p == 1) return x;
  if (p == 2) return x * x;
  if (p == 3) return x * x * x;
  if (p == -1) return F(1) / x;
  if (p == -2) return (F(1) / x) * (F(1) / x);  // not 1 / x^2, which is denormal or infinite too soon
  if (p == 0.5 || p == -0.5) {
    // Unlike the root, the power of -0 is 0 and that of -infinity infinity.
    const F root = select_gt(x, F(-INFINITY), sqrt(x + F(0)), select_nan(x, x, F(INFINITY)));
    return p > 0 ? root : F(1) / root;
  }
  return pow(x, F(p));
}

#include "veldt/kernels/close-inl.h"
#endif
