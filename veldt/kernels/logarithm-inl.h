// Logarithms of a register. x = 2^k m with m from sqrt(1/2) to sqrt(2), f = m - 1, s = f / (2 + f):
// log(m) = 2 atanh(s) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)), as in Sun's fdlibm (1993), which loses no digits
// of f.
// Tests: tests/ops/accuracy_test.cpp
#if defined(VELDT_KERNELS_LOGARITHM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_LOGARITHM_INL
#undef VELDT_KERNELS_LOGARITHM_INL
#else
#define VELDT_KERNELS_LOGARITHM_INL
#endif

#include <cstdint>
#include <limits>
#include <numbers>

#include "veldt/kernels/lanes-inl.h"
#include "veldt/kernels/open-inl.h"

// The k and f of x > 0.
template <class L> struct Logarithm { L k, f; };
template <class T, int kDigits> HWY_INLINE Logarithm<Lanes<T, kDigits>> logarithm(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const typename L::D d;
  const hn::RebindToUnsigned<typename L::D> whole;
  using U = hn::TFromD<decltype(whole)>;
  constexpr unsigned kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  // A denormal has more exponents than its bits say.
  const L smallest(static_cast<double>(std::numeric_limits<T>::min())), zero(0.0);
  const L more = select_gt(smallest, x, L(static_cast<double>(kMantissa + 1)), zero);
  x = select_gt(smallest, x, x * L(static_cast<double>(U(1) << (kMantissa + 1))), x);
  const U root_half = static_cast<U>(sizeof(T) == 4 ? 0x3f3504f3 : 0x3fe6a09e667f3bcd);
  const U one = static_cast<U>(U(kBias) << kMantissa), fraction = static_cast<U>((U(1) << kMantissa) - 1);
  const auto bits = hn::Add(hn::BitCast(whole, x.v), hn::Set(whole, static_cast<U>(one - root_half)));
  // The exponent as a number: placed into the lowest bits of a constant.
  constexpr double to_whole = static_cast<double>(U(1) << kMantissa);
  const L shifted =
      hn::BitCast(d, hn::Or(hn::ShiftRight<kMantissa>(bits), hn::BitCast(whole, L(to_whole).v)));
  const auto m = hn::Add(hn::And(bits, hn::Set(whole, fraction)), hn::Set(whole, root_half));
  return {shifted - L(to_whole + kBias) - more, L(hn::BitCast(d, m)) - L(1.0)};
}

// log(1 + f) = f - less
template <class T, int kDigits>
HWY_INLINE Lanes<T, kDigits> less_than_f(Lanes<T, kDigits> f, Lanes<T, kDigits> more) {
  using L = Lanes<T, kDigits>;
  const L s = f / (L(2.0) + f), z = s * s, half_square = L(0.5) * f * f;
  L r = z;
  if constexpr (kDigits == 24)
    r = z * polynomial(z, 0.6666677644892884, 0.3997753235314629, 0.29871997538368467);
  else
    r = z * polynomial(z, 0.6666666666666734, 0.3999999999941397, 0.28571428742561916, 0.22222198553761713,
                       0.1818356540993316, 0.15314021025180244, 0.1479626229421983);
  return half_square - mul_add(s, half_square + r, more);
}

// A logarithm's special values: -infinity at 0, infinity, NaN below 0. x may be 1 + the argument.
template <class T, int kDigits>
HWY_INLINE Lanes<T, kDigits> with_ends(Lanes<T, kDigits> x, Lanes<T, kDigits> y) {
  const typename Lanes<T, kDigits>::D d;
  const auto inf = hn::Inf(d), zero = hn::Zero(d);
  const auto above = hn::IfThenElse(hn::Lt(x.v, inf), y.v, x.v);
  return hn::IfThenElse(hn::Gt(x.v, zero), above,
                        hn::IfThenElse(hn::Eq(x.v, zero), hn::Neg(inf), hn::NaN(d)));
}

// ln 2 in parts, the first with few enough bits that its product with k is exact.
template <class T> constexpr double kLn2High = sizeof(T) == 4 ? 0.693359375 : 0x1.62e42fefa38p-1;
template <class T>
constexpr double kLn2Low = sizeof(T) == 4 ? -2.1219444005469058277e-4 : 0x1.ef35793c7673p-45;

template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> log(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const auto [k, f] = logarithm(x);
  return with_ends(x, mul_add(k, L(kLn2High<T>), f - less_than_f(f, k * L(kLn2Low<T>))));
}

// log(u), u = 1 + x rounded, and what the rounding lost: log(u + lost) = log(u) + lost / u.
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> log1p(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L one(1.0), u = one + x, lost = select_gt(x, one, one - (u - x), x - (u - one));
  const auto [k, f] = logarithm(u);
  const L more = mul_add(k, L(kLn2Low<T>), lost / u);
  return with_sign(with_ends(u, mul_add(k, L(kLn2High<T>), f - less_than_f(f, more))), x);
}

// k + log(m) / log 2, and with log10 for log2: the product in two parts, of which the first is exact.
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> log2(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const auto [k, f] = logarithm(x);
  return with_ends(x, k + (f - less_than_f(f, L(0.0))) * L(std::numbers::log2e));
}
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> log10(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  // log10(2) in parts as ln 2
  constexpr double high = sizeof(T) == 4 ? 0x1.344p-2 : 0x1.34413509f78p-2;
  constexpr double low = sizeof(T) == 4 ? 0x1.3509f79fef312p-18 : 0x1.fef311f12b358p-46;
  const auto [k, f] = logarithm(x);
  const L part = (f - less_than_f(f, L(0.0))) * L(std::numbers::log10e);
  return with_ends(x, mul_add(k, L(high), mul_add(k, L(low), part)));
}

#include "veldt/kernels/close-inl.h"
#endif
