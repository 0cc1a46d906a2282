// The error function of a register, and the normal distribution's share, which is the same thing. In a tail
// both are e^(-u^2 / 2) times a function that varies little: of t = 1 / (1 + c u), a polynomial with the
// smallest largest relative error (Remez 1934). What u^2 is more than its rounded value is not lost (Sun's
// fdlibm, 1993).
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

// Standard deviations from which the share is 0, times themselves too.
template <class T> constexpr double kFarTail = sizeof(T) == 4 ? 14.5 : 39;

// P(-u) e^(u^2 / 2) of the normal distribution P, 0 <= u = scale x <= kFarTail: Mills' ratio but for a factor
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> mills(Lanes<T, kDigits> x, double scale = 1) {
  using L = Lanes<T, kDigits>;
  const L one(1.0), c((kDigits == 24 ? 0.6 : 0.2) * scale), below = mul_add(x, c, one);
  L t = one / below;
#if HWY_NATIVE_FMA  // Newton's step, of what the sum and the quotient lost
  t = mul_add(t, neg_mul_add(t, mul_add(x, c, one - below), neg_mul_add(t, below, one)), t);
#endif
  const L s = t + t - one;
  if constexpr (kDigits == 24)
    return t * polynomial(s, 0.3833160580635826, 0.14676556030939103, -0.019762696579907257,
                          -0.017885614872878916, 0.008250940143639626, 0.0007432903162477714,
                          -0.0023549623952010823, 0.0010251846377212527, 0.0001279469533219951,
                          -0.0003355347715309066, 0.00010982141841694259);
  else
    return t * polynomial(s, 0.1538386099500126, 0.13307650057801132, 0.0990611231939954, 0.06270663133426314,
                          0.03300407323407233, 0.013823727741190341, 0.00415901336004805,
                          0.0005986753551400956, -0.00015957388029302642, -0.00010897982118087596,
                          -1.1875142267354693e-05, 9.95260207904321e-06, 3.336228986170221e-06,
                          -7.96298328154113e-07, -5.538110432901799e-07, 6.754874483031503e-08,
                          8.65372391031332e-08, -8.722557358202234e-09, -1.3063896628103976e-08,
                          2.0421971797419905e-09, 1.4363616567127162e-09, -4.0277457911750295e-10);
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

// erfc(|x|) where that is not near 1
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> erfc_in_tail(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L far(kFarTail<T> / std::numbers::sqrt2), size = abs(x), a = select_gt(size, far, far, size);
  return times(L(2.0) * mills(a, std::numbers::sqrt2), exponential_of_square(a, 1));
}
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> erf(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L one(1.0), near = abs(x) * erf_over_x(x * x);
  return with_sign(select_gt(one, abs(x), near, one - erfc_in_tail(x)), x);
}
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> erfc(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L half(0.5), tail = erfc_in_tail(x), near = L(1.0) - x * erf_over_x(x * x);
  return select_gt(half, abs(x), near, select_gt(L(0.0), x, L(2.0) - tail, tail));
}

// (P(x) - 1/2) / x of z = x^2 <= 1
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> share_over_x(Lanes<T, kDigits> z) {
  using L = Lanes<T, kDigits>;
  if constexpr (kDigits == 24)
    return polynomial(z, 0.3989422801176761, -0.06649035992408542, 0.00997332341401911,
                      -0.0011863299524647558, 0.00011348638295974655, -7.654212350876095e-06);
  else
    return L(0.5 * std::numbers::sqrt2 / 2) * erf_over_x(L(0.5) * z);
}

template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> normal_share(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L one(1.0), far(kFarTail<T>), size = abs(x), a = select_gt(size, far, far, size);
  const L near = mul_add(x, share_over_x(x * x), L(0.5)),
          tail = times(mills(a), exponential_of_square(a, 0.5));
  return select_gt(one, size, near, select_gt(x, L(0.0), one - tail, tail));
}
// x P(x) = max(x, 0) - |x| P(-|x|)
template <class T, int kDigits> HWY_INLINE Lanes<T, kDigits> times_normal_share(Lanes<T, kDigits> x) {
  using L = Lanes<T, kDigits>;
  const L zero(0.0), far(kFarTail<T>), size = abs(x), a = select_gt(size, far, far, size);
  const L near = x * mul_add(x, share_over_x(x * x), L(0.5));
  const L tail = times(a * mills(a), exponential_of_square(a, 0.5));
  const L above = select_gt(zero, x, x * zero, x);  // -infinity times 0 is NaN
  return select_gt(L(1.0), size, near, above - tail);
}

#include "veldt/kernels/close-inl.h"
#endif
