// Sines and their inverses of a register. Arguments are reduced as in Cody & Waite 1980, and beyond its range
// by libm, so results are right at any magnitude. The polynomials are minimax fits of the relative error
// (Remez 1934).
// Tests: tests/ops/accuracy_test.cpp
#if defined(VELDT_KERNELS_TRIGONOMETRY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_TRIGONOMETRY_INL
#undef VELDT_KERNELS_TRIGONOMETRY_INL
#else
#define VELDT_KERNELS_TRIGONOMETRY_INL
#endif

#include <cmath>
#include <cstddef>

#include "veldt/kernels/lanes-inl.h"
#include "veldt/kernels/open-inl.h"

// x - k pi, for k of up to 23 bits and a half. pi comes in parts of 30 bits, whose products with k are exact.
template <int kDigits>
HWY_INLINE Lanes<double, kDigits> less_half_turns(Lanes<double, kDigits> x, Lanes<double, kDigits> k) {
  using L = Lanes<double, kDigits>;
  const L r = neg_mul_add(k, L(0x1.921fb54p+1), x);
  if constexpr (kDigits == 24) return neg_mul_add(k, L(0x1.10b4611a62633p-29), r);
  const L less = neg_mul_add(k, L(0x1.313198ap-60), neg_mul_add(k, L(0x1.10b46118p-29), r));
  return neg_mul_add(k, L(0x1.701b839a25205p-91), less);
}

// sin(r) for |r| <= pi / 2
template <int kDigits> HWY_INLINE Lanes<double, kDigits> sine_near_zero(Lanes<double, kDigits> r) {
  const auto z = r * r;
  if constexpr (kDigits == 24)
    return r * mul_add(z,
                       polynomial(z, -0.16666666626108081, 0.008333331106782646, -0.00019840867964585187,
                                  2.7525371500860266e-06, -2.388867616043405e-08),
                       Lanes<double, kDigits>(1.0));
  else
    return with_sign(
        mul_add(r * z,
                polynomial(z, -0.16666666666666666, 0.008333333333333194, -0.00019841269841209145,
                           2.755731921112434e-06, -2.505210687158601e-08, 1.6058939643223677e-10,
                           -7.64298982020771e-13, 2.7211570052234413e-15),
                r),
        r);
}

constexpr double kTurnReach = 6e6;
template <class T> inline void apply_beyond_reach(double (*f)(double), const T* x, T* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    if (std::fabs(x[i]) > static_cast<T>(kTurnReach)) y[i] = static_cast<T>(f(static_cast<double>(x[i])));
}
// y, or f(x) by libm in the lanes whose x is large or infinite.
template <class T, int kDigits>
HWY_INLINE Lanes<T, kDigits> at_any_magnitude(double (*f)(double), Lanes<T, kDigits> x, Lanes<T, kDigits> y) {
  const hn::ScalableTag<T> d;
  if (HWY_LIKELY(hn::AllFalse(d, hn::Gt(hn::Abs(x.v), hn::Set(d, static_cast<T>(kTurnReach)))))) return y;
  HWY_ALIGN T xs[hn::MaxLanes(d)], ys[hn::MaxLanes(d)];
  hn::Store(x.v, d, xs);
  hn::Store(y.v, d, ys);
  apply_beyond_reach(f, xs, ys, hn::Lanes(d));
  return hn::Load(d, ys);
}

// Adding it leaves an integer in the lowest bits; its last bit, moved to the sign, flips the sign for odd
// ones.
constexpr double kToHalfTurns = 0x1.8p52;
template <int kDigits>
HWY_INLINE Lanes<double, kDigits> sign_of_odd(Lanes<double, kDigits> y, Lanes<double, kDigits> shifted) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> whole;
  return hn::Xor(y.v, hn::BitCast(d, hn::ShiftLeft<63>(hn::BitCast(whole, shifted.v))));
}
template <int kDigits> HWY_INLINE Lanes<double, kDigits> sine_in_reach(Lanes<double, kDigits> x) {
  using L = Lanes<double, kDigits>;
  const L shifted = mul_add(x, L(0.31830988618379067154), L(kToHalfTurns)), k = shifted - L(kToHalfTurns);
  return sign_of_odd(sine_near_zero(less_half_turns(x, k)), shifted);
}
// sin(x + pi / 2): reduced by half-integer multiples of pi.
template <int kDigits> HWY_INLINE Lanes<double, kDigits> cosine_in_reach(Lanes<double, kDigits> x) {
  using L = Lanes<double, kDigits>;
  const L ahead = mul_add(x, L(0.31830988618379067154), L(0.5)), shifted = ahead + L(kToHalfTurns);
  const L k = shifted - L(kToHalfTurns) - L(0.5);
  return sign_of_odd(sine_near_zero(less_half_turns(x, k)), shifted);
}
template <int kDigits> HWY_INLINE Lanes<double, kDigits> sin(Lanes<double, kDigits> x) {
  return at_any_magnitude([](double v) { return std::sin(v); }, x, sine_in_reach(x));
}
template <int kDigits> HWY_INLINE Lanes<double, kDigits> cos(Lanes<double, kDigits> x) {
  return at_any_magnitude([](double v) { return std::cos(v); }, x, cosine_in_reach(x));
}
template <int kDigits> HWY_INLINE Lanes<double, kDigits> tan(Lanes<double, kDigits> x) {
  return at_any_magnitude([](double v) { return std::tan(v); }, x, sine_in_reach(x) / cosine_in_reach(x));
}

HWY_INLINE Lanes<float> sin(Lanes<float> x) {
  const Lanes<float> y = joined(sine_in_reach(lower_half(x)), sine_in_reach(upper_half(x)));
  return at_any_magnitude([](double v) { return std::sin(v); }, x, y);
}
HWY_INLINE Lanes<float> cos(Lanes<float> x) {
  const Lanes<float> y = joined(cosine_in_reach(lower_half(x)), cosine_in_reach(upper_half(x)));
  return at_any_magnitude([](double v) { return std::cos(v); }, x, y);
}

// tan(r), where r is x minus k quarter turns and nearest to 0.
HWY_INLINE Wide tangent_near_zero(Wide x, Wide& k) {
  const Wide to_whole(0x1.8p52);
  k = mul_add(x, Wide(0.63661977236758134308), to_whole) - to_whole;
  const Wide r = less_half_turns(x, Wide(0.5) * k), z = r * r;
  return r * mul_add(z,
                     polynomial(z, 0.3333315657898369, 0.13338806724711766, 0.053410660933650045,
                                0.024432394132183666, 0.003116230151214952, 0.009387624662865595),
                     Wide(1.0));
}
// By an odd quarter turn -1 / tan(r), whose quotient of floats takes a third of the time of one of doubles.
HWY_INLINE Lanes<float> tan(Lanes<float> x) {
  const Lanes<float>::D d;
  const hn::RebindToUnsigned<Lanes<float>::D> whole;
  Wide lower(0.0), upper(0.0);
  const Wide first = tangent_near_zero(lower_half(x), lower),
             second = tangent_near_zero(upper_half(x), upper);
  const Lanes<float> t = joined(first, second), k = joined(lower, upper) + Lanes<float>(0x1.8p23);
  const auto odd = hn::MaskFromVec(
      hn::BitCast(d, hn::Sub(hn::Zero(whole), hn::And(hn::BitCast(whole, k.v), hn::Set(whole, 1)))));
  const Lanes<float> y = hn::IfThenElse(odd, (Lanes<float>(-1.0) / t).v, t.v);
  return at_any_magnitude([](double v) { return std::tan(v); }, x, y);
}

// (asin(x) - x) / x^3 of z = x^2 <= 1 / 4
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> arcsine_bend(Lanes<T, kDigits> z) {
  if constexpr (kDigits == 24)
    return polynomial(z, 0.16666752684158614, 0.07495288588941393, 0.04547161617510699, 0.02417291103755469,
                      0.04217829433379532);
  else
    return polynomial(z, 0.1666666666666676, 0.07499999999970637, 0.04464285717477663, 0.0303819426994761,
                      0.02237221523216404, 0.0173516074457487, 0.01398087730123813, 0.011398432233109454,
                      0.010783027741017184, 0.003695616605322294, 0.021734441654203414, -0.021038282508236063,
                      0.032653774693440364);
}

// The digits of pi / 2 beyond T's.
template <class T>
constexpr double kHalfPiRest = sizeof(T) == 4 ? -4.3711388286737929e-8 : 6.1232339957367660e-17;
constexpr double kHalfPi = 1.57079632679489661923;

// Above 1/2: pi / 2 - 2 asin(sqrt((1 - |x|) / 2)).
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> asin(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L a = abs(x), half(0.5), far_z = half - half * a;
  const L z = select_gt(a, half, far_z, a * a), s = select_gt(a, half, sqrt(far_z), a);
  const L bend = s * z * arcsine_bend(z), twice = s + s;
  const L far = (L(kHalfPi) - twice) - (bend + bend - L(kHalfPiRest<T>));
  return with_sign(abs(select_gt(a, half, far, s + bend)), x);
}
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> acos(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L a = abs(x), half(0.5), far_z = half - half * a;
  const L z = select_gt(a, half, far_z, a * a), s = select_gt(a, half, sqrt(far_z), x);
  const L bend = s * z * arcsine_bend(z);
  const L near = L(kHalfPi) - (s - (L(kHalfPiRest<T>) - bend)), far = s + bend, twice = far + far;
  const L behind = (L(2 * kHalfPi) - twice) + L(2 * kHalfPiRest<T>);
  return select_gt(a, half, select_gt(x, half, twice, behind), near);
}

// Above tan(pi / 8) by the angle from pi / 4, above its inverse from pi / 2 (Cody & Waite 1980).
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> atan(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L a = abs(x), one(1.0), zero(0.0), low(0.41421356237309503), high(2.4142135623730951);
  const L above = select_gt(a, high, -one, select_gt(a, low, a - one, a));
  const L below = select_gt(a, high, a, select_gt(a, low, a + one, one));
  const L t = above / below, z = t * t;
  const L angle = select_gt(a, high, L(kHalfPi), select_gt(a, low, L(0.5 * kHalfPi), zero));
  const L rest = select_gt(a, high, L(kHalfPiRest<T>), select_gt(a, low, L(0.5 * kHalfPiRest<T>), zero));
  L bend = t * z;
  if constexpr (kDigits == 24)
    bend = bend * polynomial(z, -0.3333331517225327, 0.19998470431471121, -0.14243511485463065,
                             0.10593642777850833, -0.0607776632876639);
  else
    bend = bend * polynomial(z, -0.333333333333332, 0.19999999999953164, -0.1428571428015773,
                             0.11111110781693384, -0.09090897711471703, 0.0769205946413998,
                             -0.06663096238832952, 0.05847837117884453, -0.05039088138338199,
                             0.03805948222529273, -0.017902068135731343);
  return with_sign(angle + (t + (bend + rest)), x);
}

#include "veldt/kernels/close-inl.h"
#endif
