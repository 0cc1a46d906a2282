// x^p in SIMD registers. Floats are computed in double, whose extra digits make log2 and exp2 by plain
// polynomials accurate enough: the error is at most 0.51 ulp.
// Tests: tests/cpu/binary_test.cpp, tests/ops/accuracy_test.cpp
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
// x^p of |x|^p: special values as in C23 F.10.4.4.
template <class T> HWY_INLINE Lanes<T> with_special_powers(Lanes<T> x, Lanes<T> p, Lanes<T> of_size) {
  const typename Lanes<T>::D d;
  auto y = of_size.v;
  const auto one = hn::Set(d, T(1)), zero = hn::Zero(d), inf = hn::Inf(d),
             half_p = hn::Mul(p.v, hn::Set(d, T(0.5)));
  const auto is_whole = hn::Eq(hn::Trunc(p.v), p.v);
  const auto is_odd = hn::AndNot(hn::Eq(hn::Trunc(half_p), half_p), is_whole);
  y = hn::IfThenElse(is_odd, hn::CopySign(y, x.v), y);
  const auto has_none = hn::And(hn::Lt(x.v, zero), hn::AndNot(is_whole, hn::Lt(hn::Abs(x.v), inf)));
  y = hn::IfThenElse(has_none, hn::NaN(d), y);
  y = hn::IfThenElse(hn::IsNaN(x.v), x.v, hn::IfThenElse(hn::IsNaN(p.v), p.v, y));
  return hn::IfThenElse(hn::Or(hn::Eq(x.v, one), hn::Eq(p.v, zero)), one, y);
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE Lanes<float> pow(Lanes<float> x, Lanes<float> p) {
  return each_lane(x, p, [](float a, float b) { return pow(a, b); });
}
#else
// log2 of a number above 0, as e + log2(m) with m from sqrt(1/2) to sqrt(2): with s = (m - 1) / (m + 1),
// log2(m) = s L(s^2). L was fitted for the smallest maximum relative error, 3e-14. 0 gives -infinity.
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

// 2^t for |t| <= 200. A minimax polynomial in t - round(t) with a relative error of 4e-11.
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

// p log2(x), with 0 instead of NaN for infinity times 0, where the power is 1.
template <class D, class V> HWY_INLINE V power_of_positive(D d, V x, V p) {
  const V t = hn::Mul(p, log2_of_positive(d, x)), most = hn::Set(d, 200.0);
  const V number = hn::IfThenZeroElse(hn::IsNaN(t), t);
  return exp2_of_moderate(d, hn::Max(hn::Neg(most), hn::Min(most, number)));
}

HWY_INLINE Lanes<float> pow(Lanes<float> x, Lanes<float> p) {
  const Lanes<float>::D d;
  const hn::Half<decltype(d)> half;
  const hn::Repartition<double, decltype(d)> wide;
  const auto a = hn::Abs(x.v);
  const auto low = power_of_positive(wide, hn::PromoteTo(wide, hn::LowerHalf(half, a)),
                                     hn::PromoteTo(wide, hn::LowerHalf(half, p.v)));
  const auto high = power_of_positive(wide, hn::PromoteTo(wide, hn::UpperHalf(half, a)),
                                      hn::PromoteTo(wide, hn::UpperHalf(half, p.v)));
  return with_special_powers(x, p, joined(Wide(low), Wide(high)));
}
#endif

#if HWY_NATIVE_FMA
// The sum of two numbers, the second below the last digit of the first (Dekker 1971).
template <class V> struct Twofold { V high, low; };

template <class V> HWY_INLINE Twofold<V> sum_of(V larger, V smaller) {
  const V high = hn::Add(larger, smaller);
  return {high, hn::Add(hn::Sub(larger, high), smaller)};
}
template <class V> HWY_INLINE Twofold<V> product_of(Twofold<V> a, Twofold<V> b) {
  const V high = hn::Mul(a.high, b.high);
  return {high, hn::MulAdd(a.low, b.high, hn::MulAdd(a.high, b.low, hn::MulSub(a.high, b.high, high)))};
}

// log2(x) to 2^-65 of it, x > 0 and finite: e + log2(m) as above, where of
// log2(m) = s (c + z (c / 3 + z Q(z))), z = s^2, c = 2 / log(2), only z Q(z) is small enough for one number.
// Q was fitted to an error of 2^-66.
HWY_INLINE Twofold<hn::Vec<Lanes<double>::D>> twofold_log2(hn::Vec<Lanes<double>::D> x) {
  using V = hn::Vec<Lanes<double>::D>;
  const Lanes<double>::D d;
  const hn::RebindToSigned<Lanes<double>::D> whole;
  const V one = hn::Set(d, 1.0);
  const auto is_denormal = hn::Lt(x, hn::Set(d, 0x1p-1022));
  const auto bits = hn::BitCast(whole, hn::IfThenElse(is_denormal, hn::Mul(x, hn::Set(d, 0x1p54)), x));
  const auto e = hn::ShiftRight<52>(hn::Sub(bits, hn::Set(whole, 0x3fe6a09e667f3bcd)));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(e))), shift = hn::Set(d, 0x1.8p52);
  const V exponent = hn::Sub(hn::BitCast(d, hn::Add(e, hn::BitCast(whole, shift))),
                             hn::Add(shift, hn::IfThenElseZero(is_denormal, hn::Set(d, 54.0))));
  const V f = hn::Sub(m, one), g = hn::Add(m, one), lost = hn::Sub(m, hn::Sub(g, one)),
          inverse = hn::Div(one, g);
  Twofold<V> s{hn::Mul(f, inverse), f};
  s.low = hn::Mul(hn::NegMulAdd(s.high, lost, hn::NegMulAdd(s.high, g, f)), inverse);
  const Twofold<V> z = product_of(s, s);
  const Lanes<double> q =
      polynomial(Lanes<double>(z.high), 0.577078016355617927, 0.412198583091951666, 0.320598902271502326,
                 0.262307701303003779, 0.22198398971718206, 0.191255345085143785, 0.190383746351000052);
  Twofold<V> sum = sum_of(hn::Set(d, 0x1.ec709dc3a03fdp-1), hn::Mul(z.high, q.v));
  sum.low = hn::Add(sum.low, hn::Set(d, 0x1.d27f05548af0cp-55));
  const Twofold<V> v = product_of(z, sum);
  sum = sum_of(hn::Set(d, 0x1.71547652b82fep+1), v.high);
  sum.low = hn::Add(sum.low, hn::Add(v.low, hn::Set(d, 0x1.777d0ffda0d24p-55)));
  const Twofold<V> part = product_of(s, sum);
  sum = sum_of(exponent, part.high);
  return {sum.high, hn::Add(sum.low, part.low)};
}

// 2^(t + rest), |t| <= 1100: 1 + f log(2) + f^2 E(f) of the fraction f, E fitted to an error of 2^-58; the
// first two are added without one.
HWY_INLINE Lanes<double> exp2_of_twofold(hn::Vec<Lanes<double>::D> t, hn::Vec<Lanes<double>::D> rest) {
  using V = hn::Vec<Lanes<double>::D>;
  const Lanes<double>::D d;
  const hn::RebindToUnsigned<Lanes<double>::D> whole;
  const V shift = hn::Set(d, 0x1.8p52), shifted = hn::Add(t, shift);
  const V f = hn::Add(hn::Sub(t, hn::Sub(shifted, shift)), rest);
  const auto bend = polynomial(Lanes<double>(f), 0.240226506959101313, 0.0555041086648200861,
                               0.0096181291075941144, 0.00133335581467739777, 0.000154035304571209259,
                               0.000015252733493713269, 1.32154352773543548e-6, 1.01781993369775777e-7,
                               7.07378417189071202e-9, 4.43480572548096293e-10);
  const V log_of_2 = hn::Set(d, 0x1.62e42fefa39efp-1), line = hn::Mul(f, log_of_2);
  const V lost = hn::MulAdd(f, hn::Set(d, 0x1.abc9e3b39803fp-56), hn::MulSub(f, log_of_2, line));
  const Twofold<V> sum = sum_of(hn::Set(d, 1.0), line);
  const V p = hn::Add(sum.high, hn::Add(sum.low, hn::MulAdd(hn::Mul(f, f), bend.v, lost)));
  // The exponent by halves: as a whole it may be beyond those of doubles.
  const auto zero = hn::Sub(hn::BitCast(whole, shift), hn::Set(whole, 2 * 1023));
  const auto exponents = hn::Sub(hn::BitCast(whole, shifted), zero);
  const auto first = hn::ShiftRight<1>(exponents), second = hn::Sub(exponents, first);
  return hn::Mul(hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<52>(first))),
                 hn::BitCast(d, hn::ShiftLeft<52>(second)));
}

HWY_INLINE Lanes<double> pow(Lanes<double> x, Lanes<double> p) {
  const Lanes<double>::D d;
  const auto a = hn::Abs(x.v), inf = hn::Inf(d), most = hn::Set(d, 1100.0);
  const auto log = twofold_log2(a);
  const auto high =
      hn::IfThenElse(hn::Eq(a, hn::Zero(d)), hn::Neg(inf), hn::IfThenElse(hn::Eq(a, inf), inf, log.high));
  const auto t = hn::Mul(p.v, high), low = hn::MulAdd(p.v, log.low, hn::MulSub(p.v, high, t));
  const auto number = hn::IfThenZeroElse(hn::IsNaN(t), t);
  const auto moderate = hn::Max(hn::Neg(most), hn::Min(most, number));
  return with_special_powers(x, p,
                             exp2_of_twofold(moderate, hn::IfThenElseZero(hn::Lt(hn::Abs(t), most), low)));
}
#else
HWY_INLINE Lanes<double> pow(Lanes<double> x, Lanes<double> p) {
  return each_lane(x, p, [](double a, double b) { return pow(a, b); });
}
#endif
#endif

// x^p with one p for all x: the usual ones without logarithms.
template <class F> VELDT_FN F power(F x, double p) {
  if (p == 0) return F(1);
  if (p == 1) return x;
  if (p == 2) return x * x;
  if (p == 3) return x * x * x;
  if (p == -1) return F(1) / x;
  if (p == -2) return (F(1) / x) * (F(1) / x);  // not 1 / x^2, which becomes denormal or infinite too early
  if (p == 0.5 || p == -0.5) {
    // Unlike the root, the power of -0 is 0 and that of -infinity infinity.
    const F root = select_gt(x, F(-INFINITY), sqrt(x + F(0)), select_nan(x, x, F(INFINITY)));
    return p > 0 ? root : F(1) / root;
  }
  return pow(x, F(p));
}

#include "veldt/kernels/close-inl.h"
#endif
