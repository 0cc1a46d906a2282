// The error function of a register, and the normal distribution's probability, which is equivalent. In a tail
// both are e^(-u^2 / 2) times a slowly varying function, a minimax polynomial in t = 1 / (1 + c u) (Remez
// 1934). The rounding error of u^2 is compensated (Sun's fdlibm, 1993).
// Tests: tests/ops/accuracy_test.cpp
#if defined(VELDT_KERNELS_ERROR_FUNCTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_ERROR_FUNCTION_INL
#undef VELDT_KERNELS_ERROR_FUNCTION_INL
#else
#define VELDT_KERNELS_ERROR_FUNCTION_INL
#endif

#include <numbers>

#include "veldt/kernels/exponential-inl.h"
#include "veldt/kernels/lanes-inl.h"
#include "veldt/kernels/open-inl.h"

// Standard deviations beyond which the probability is 0, even multiplied by them.
template <class T> constexpr double kFarTail = sizeof(T) == 4 ? 14.5 : 39;

// The c of t = 1 / (1 + c u), for floats one with which few terms do.
template <int kDigits> constexpr double kTailRate = kDigits == 24 ? 0.3 : 0.2;

// k P(-u) e^(u^2 / 2) / t of the normal distribution P, 0 <= u <= kFarTail, by s = 2 t - 1: Mills' ratio
// except for factors.
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> mills_by(Lanes<T, kDigits> s, double k) {
  if constexpr (kDigits == 24)
    return polynomial(s, k * 0.22197061307884552, k * 0.16457948541841108, k * 0.08654971009278187,
                      k * 0.027760336694675354, k * 0.0018160317548986398, k * -0.002423494165107744,
                      k * -0.000569690547974451, k * 0.000280606476635991, k * 7.66796461441959e-5,
                      k * -4.028017907581155e-5);
  else
    return polynomial(s, k * 0.1538386099500126, k * 0.13307650057801132, k * 0.0990611231939954,
                      k * 0.06270663133426314, k * 0.03300407323407233, k * 0.013823727741190341,
                      k * 0.00415901336004805, k * 0.0005986753551400956, k * -0.00015957388029302642,
                      k * -0.00010897982118087596, k * -1.1875142267354693e-05, k * 9.95260207904321e-06,
                      k * 3.336228986170221e-06, k * -7.96298328154113e-07, k * -5.538110432901799e-07,
                      k * 6.754874483031503e-08, k * 8.65372391031332e-08, k * -8.722557358202234e-09,
                      k * -1.3063896628103976e-08, k * 2.0421971797419905e-09, k * 1.4363616567127162e-09,
                      k * -4.0277457911750295e-10);
}

// e^(-share x^2), share 1 or 1/2. The square of the upper half of x's digits is exact.
template <class T, int kDigits>
HWY_INLINE Exponential<T, kDigits> exponential_of_square(Lanes<T, kDigits> x, double share) {
  using L = Lanes<T, kDigits>;
  constexpr int kDown = sizeof(T) == 4 ? 32 : 512;
#if HWY_NATIVE_FMA
  const L y = L(-share) * x, square = y * x;
  return exponential_below_one<kDown>(square, mul_add(y, x, -square));
#else
  const typename L::D d;
  const hn::RebindToUnsigned<typename L::D> whole;
  using U = hn::TFromD<decltype(whole)>;
  constexpr U kUpper = static_cast<U>(~U(0) << (sizeof(T) == 4 ? 12 : 27));
  const L upper = hn::And(x.v, hn::BitCast(d, hn::Set(whole, kUpper))), by(-share);
  return exponential_below_one<kDown>(by * upper * upper, by * (x - upper) * (x + upper));
#endif
}

// erf(x) / x of z = x^2 <= 1
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> erf_over_x(Lanes<T, kDigits> z) {
  if constexpr (kDigits == 24)
    return polynomial(z, 1.1283791657268691, -0.37612625824430973, 0.11283585148821426, -0.02685381191133843,
                      0.005188327609540557, -0.0008010192794314585, 7.853858230631925e-05);
  else
    return polynomial(z, 1.1283791670955126, -0.3761263890318352, 0.11283791670944186, -0.026866170643111652,
                      0.0052239776061199245, -0.0008548325929380051, 0.00012055293578739574,
                      -1.492471233506079e-05, 1.6447131952536898e-06, -1.6206316489635374e-07,
                      1.3710991461964517e-08, -7.779487864135419e-10);
}

// factor P(-scale |x|), scale 1 or sqrt(2). The rounding errors of t's sum and quotient are added to the
// power, below its last digit.
template <class T, int kDigits>
HWY_INLINE Lanes<T, kDigits> normal_tail(Lanes<T, kDigits> x, double scale, double factor) {
  using L = Lanes<T, kDigits>;
  const L one(1.0), far(kFarTail<T> / scale), c(kTailRate<kDigits> * scale), size = abs(x);
  const L a = select_gt(size, far, far, size), below = mul_add(a, c, one), t = one / below;
  auto e = exponential_of_square(a, scale == 1 ? 0.5 : 1);
  L whole = t;
#if HWY_NATIVE_FMA
  const L lost = neg_mul_add(t, mul_add(a, c, one - below), neg_mul_add(t, below, one));
  whole = mul_add(t, lost, t);
  e.p = e.p + lost;
#endif
  return times(t * mills_by(whole + whole - one, factor), e);
}

// erfc(x) e^(x^2) / t of t = 1 / (1 + kErfRate x), for x from 1 to where erf(x) is 1 to the last digit.
template <int kDigits> constexpr double kErfRate = kDigits == 24 ? 0.5 : 0.4;
template <int kDigits> constexpr double kErfFar = kDigits == 24 ? 3.95 : 5.95;
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> erf_tail_by(Lanes<T, kDigits> s) {
  if constexpr (kDigits == 24)
    return polynomial(s, 0.5107914641626137, 0.3435805919726705, 0.1396886842814979, 0.01871420177941504,
                      -0.01272047401565267);
  else
    return polynomial(s, 0.42161272812228753, 0.32186073977566101, 0.18156564665867258, 0.068500458107534808,
                      0.011344620052034829, -0.003357218763019693, -0.0019275050818596835,
                      0.00017566199002449686, 0.00028094689376195037, -2.2176019091657794e-5,
                      -4.8984952435679706e-5, 1.517259030891406e-5);
}
// Beyond 1 the tail is small compared with 1, from which it is subtracted, so fewer digits matter.
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> erf(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L one(1.0), far(kErfFar<kDigits>), size = abs(x), a = select_gt(size, far, far, size);
  const L near = size * erf_over_x(x * x), t = one / mul_add(a, L(kErfRate<kDigits>), one);
  const L tail = times(t * erf_tail_by(t + t - one), exponential_below_one<0>(-(a * a)));
  return with_sign(select_gt(one, size, near, one - tail), x);
}
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> erfc(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L half(0.5), tail = normal_tail(x, std::numbers::sqrt2, 2), near = L(1.0) - x * erf_over_x(x * x);
  return select_gt(half, abs(x), near, select_gt(L(0.0), x, L(2.0) - tail, tail));
}

// x P(x) = max(x, 0) - |x| P(-|x|), by c |x| t = |x| / (|x| + 1 / c)
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> times_normal_share(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  constexpr double kInverse = 1 / kTailRate<kDigits>;
  const L zero(0.0), one(1.0), far(kFarTail<T>), a = hn::Min(abs(x).v, far.v), q = a / (a + L(kInverse));
  const L tail = times(q * mills_by(one - (q + q), kInverse), exponential_of_square(a, 0.5));
  return select_gt(zero, x, x * zero, x) - tail;  // -infinity times 0 is NaN
}
// (x P(x))' = P(x) + x p(x), with p the density: w of -|x|, and by symmetry 1 - w of |x|. At kFarSlope w is
// 0.
template <class T> constexpr double kFarSlope = sizeof(T) == 4 ? 14.7 : 39;
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> times_normal_share_slope(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  constexpr double kPeak = std::numbers::inv_sqrtpi / std::numbers::sqrt2;  // of the density
  const L one(1.0), far(kFarSlope<T>), size = abs(x), a = select_gt(size, far, far, size);
  const L t = one / mul_add(a, L(kTailRate<kDigits>), one), share = t * mills_by(t + t - one, 1);
  const L w = times(neg_mul_add(a, L(kPeak), share), exponential_of_square(a, 0.5));
  return select_gt(x, L(0.0), one - w, w);
}

#include "veldt/kernels/close-inl.h"
#endif
