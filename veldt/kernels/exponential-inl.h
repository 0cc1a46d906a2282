// Powers of e of a register, by Cody & Waite 1980: x = k ln 2 + r with |r| <= ln 2 / 2, a minimax polynomial
// of r (Remez 1934), and k added to the exponent.
// Tests: tests/ops/accuracy_test.cpp
#if defined(VELDT_KERNELS_EXPONENTIAL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_EXPONENTIAL_INL
#undef VELDT_KERNELS_EXPONENTIAL_INL
#else
#define VELDT_KERNELS_EXPONENTIAL_INL
#endif

#include <limits>
#include <numbers>

#include "veldt/kernels/lanes-inl.h"
#include "veldt/kernels/logarithm-inl.h"
#include "veldt/kernels/open-inl.h"

// e^x = (1 + p) a b, where a and b are the powers of two nearest to the square root of 2^k: a single one
// could exceed the exponent range.
template <class T, int kDigits> struct Exponential { Lanes<T, kDigits> p, a, b, b_inverse; };

// An integer added to this is in the lowest bits.
template <class T> constexpr double kToWhole = sizeof(T) == 4 ? 0x1.8p23 : 0x1.8p52;

// e^r - 1 for |r| <= ln 2 / 2
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> exponential_near_zero(Lanes<T, kDigits> r) {
  Lanes<T, kDigits> q(0.0);
  if constexpr (kDigits == 24)
    q = polynomial(r, 0.5000000095495949, 0.166665186011734, 0.04166620491201839, 0.008368917999407904,
                   0.0013950547469357044);
  else
    q = polynomial(r, 0.5000000000000013, 0.166666666666667, 0.041666666666514925, 0.008333333333307059,
                   0.0013888888947157366, 0.0001984126991769185, 2.480148978452269e-05,
                   2.7557216030575786e-06, 2.7631340172796756e-07, 2.5117945279390674e-08);
  return mul_add(r * r, q, r);
}

// From r and k, which `shifted` holds in its lowest bits.
template <class T, int kDigits>
HWY_INLINE Exponential<T, kDigits> exponential(Lanes<T, kDigits> r, Lanes<T, kDigits> shifted) {
  using L = Lanes<T, kDigits>;
  const typename L::D d;
  const hn::RebindToUnsigned<typename L::D> whole;  // AVX2 has no arithmetic right shift of 64 bits
  constexpr unsigned kMantissa = std::numeric_limits<T>::digits - 1,
                     kBias = std::numeric_limits<T>::max_exponent - 1;
  const auto zero = hn::Sub(hn::BitCast(whole, L(kToWhole<T>).v), hn::Set(whole, 2 * kBias));
  const auto exponents = hn::Sub(hn::BitCast(whole, shifted.v), zero);
  const auto first = hn::ShiftRight<1>(exponents), second = hn::Sub(exponents, first);
  const auto power = [&](auto exponent)
                         HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<kMantissa>(exponent)); };
  return {exponential_near_zero(r), power(first), power(second),
          power(hn::Sub(hn::Set(whole, 2 * kBias), second))};
}

// Beyond the bounds e^x is 0 or infinite, with a factor of up to 2^20 too.
template <class T> constexpr double kExpLow = sizeof(T) == 4 ? -120 : -765;
template <class T> constexpr double kExpHigh = sizeof(T) == 4 ? 104 : 725;

// If e^x is neither above 1 nor far below the denormals, a constant is enough for b: 2^-kDown. x may have
// more parts, each far below the one before.
template <int kDown, class T, int kDigits, class... More>
HWY_INLINE Exponential<T, kDigits> exponential_below_one(Lanes<T, kDigits> x, More... more) {
  using L = Lanes<T, kDigits>;
  const typename L::D d;
  const hn::RebindToUnsigned<typename L::D> whole;
  constexpr unsigned kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr double to_exponent = kToWhole<T> + std::numeric_limits<T>::max_exponent - 1 + kDown;
  const L shifted = mul_add(x, L(std::numbers::log2e), L(to_exponent));
  const L k = shifted - L(to_exponent);
  const L r = (neg_mul_add(k, L(kLn2Low<T>), neg_mul_add(k, L(kLn2High<T>), x)) + ... + more);
  const L a = hn::BitCast(d, hn::ShiftLeft<kMantissa>(hn::BitCast(whole, shifted.v)));
  const L b(kDown == 0 ? 1.0 : kDown == 32 ? 0x1p-32 : 0x1p-512);
  return {exponential_near_zero(r), a, b, b};
}
template <class T, int kDigits> HWY_INLINE Exponential<T, kDigits> exponential_of(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  x = between(kExpLow<T>, x, kExpHigh<T>);
  const L shifted = mul_add(x, L(std::numbers::log2e), L(kToWhole<T>)), k = shifted - L(kToWhole<T>);
  return exponential(neg_mul_add(k, L(kLn2Low<T>), neg_mul_add(k, L(kLn2High<T>), x)), shifted);
}

// m e, rounded once: e alone could be a denormal while m is large.
template <class T, int kDigits>
HWY_INLINE Lanes<T, kDigits> times(Lanes<T, kDigits> m, const Exponential<T, kDigits>& e) {
  return mul_add(m, e.p, m) * e.a * e.b;
}

template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> exp(Lanes<T, kDigits> x) {
  const auto e = exponential_of(x);
  return (Lanes<T, kDigits>(1.0) + e.p) * e.a * e.b;
}
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> exp2(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  x = between(kExpLow<T> * std::numbers::log2e, x, kExpHigh<T> * std::numbers::log2e);
  const L shifted = x + L(kToWhole<T>), f = x - (shifted - L(kToWhole<T>));
  const L r = f * L(std::numbers::ln2);
  const auto e = exponential(r, shifted);
  return (L(1.0) + e.p) * e.a * e.b;
}
// m e^x
template <class T, int kDigits>
HWY_INLINE Lanes<T, kDigits> exp_times(Lanes<T, kDigits> x, Lanes<T, kDigits> m) {
  using L = Lanes<T, kDigits>;
  return select_gt(L(kExpLow<T>), x, m * L(0.0), times(m, exponential_of(x)));
}

template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> expm1(Lanes<T, kDigits> x) {
  const auto e = exponential_of(x);
  return with_sign(mul_add(e.p, e.a, e.a - e.b_inverse) * e.b, x);
}

// (e^2x - 1) / (e^2x + 1), by e^2x - 1 or, to fewer digits, by e^-2|x| and near 0 a polynomial. Beyond the
// bound it is 1 up to rounding.
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> tanh(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L one(1.0), bound(sizeof(T) == 4 ? 10 : 20), a = abs(x), c = select_gt(a, bound, bound, a);
  if constexpr (kDigits == 24) {
    const L z = a * a,
            near = mul_add(a * z,
                           polynomial(z, -0.3333329800279033, 0.13331924134920575, -0.05378383065481795,
                                      0.020795972251959182, -0.005895158138456089),
                           a);
    const auto e = exponential_below_one<0>(L(-2.0) * c);
    const L small = mul_add(e.p, e.a, e.a);
    return with_sign(select_gt(L(0.6), a, near, (one - small) / (one + small)), x);
  } else {
    const L e = expm1(c + c);
    return with_sign(e / (e + L(2.0)), x);
  }
}

// (e^x - e^-x) / 2 and (e^x + e^-x) / 2 of |x|; e^|x| / 2 has one exponent less, and may be as large as a
// number can.
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> sinh(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L half(0.5), a = abs(x);
  const auto e = exponential_of(a);
  const L less = mul_add(e.p, e.a, e.a - e.b_inverse);  // e^|x| - 1 without its factor b
  const L small = less * e.b, y = half * (small + small / (small + L(1.0)));
  return with_sign(select_gt(a, L(20.0), times(half, e), y), x);
}
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> cosh(Lanes<T, kDigits> x) {
  const Lanes<T, kDigits> half(0.5);
  const auto e = exponential_of(abs(x));
  return times(half, e) + half / (times(Lanes<T, kDigits>(1.0), e));
}

#include "veldt/kernels/close-inl.h"
#endif
