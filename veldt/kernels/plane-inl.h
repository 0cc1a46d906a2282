// The angle and the length of a point in the plane, special values as in C23 F.10.
// Tests: tests/cpu/binary_test.cpp
#if defined(VELDT_KERNELS_PLANE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_PLANE_INL
#undef VELDT_KERNELS_PLANE_INL
#else
#define VELDT_KERNELS_PLANE_INL
#endif

#include <cmath>

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/open-inl.h"

VELDT_FN float atan2(float y, float x) { return ::atan2f(y, x); }
VELDT_FN double atan2(double y, double x) { return ::atan2(y, x); }
VELDT_FN float hypot(float a, float b) { return ::hypotf(a, b); }
VELDT_FN double hypot(double a, double b) { return ::hypot(a, b); }

#if defined(HWY_TARGET) && !defined(__CUDACC__)
// c[0] + c[1] x + ..
template <class T, std::size_t n> HWY_INLINE Lanes<T> polynomial(const T (&c)[n], Lanes<T> x) {
  const typename Lanes<T>::D d;
  auto y = hn::Set(d, c[n - 1]);
  for (std::size_t i = n - 1; i-- > 0;) y = hn::MulAdd(y, x.v, hn::Set(d, c[i]));
  return y;
}

// (atan(t) - t) / t^3 of t^2, for t from 0 to 1; a minimax fit with errors relative to atan(t) of 3e-9 and
// 8e-19.
HWY_INLINE Lanes<float> arc_beyond_chord(Lanes<float> square) {
  constexpr float c[] = {-0.333332990918f,  0.199985483573f,  -0.142642423353f,
                         0.109521887058f,   -0.08403457831f,  0.0579577086071f,
                         -0.0311779502508f, 0.0109146574124f, -0.00179363244254f};
  return polynomial(c, square);
}
HWY_INLINE Lanes<double> arc_beyond_chord(Lanes<double> square) {
  constexpr double c[] = {-0.3333333333333328571,     0.19999999999990446051,    -0.14285714285036578095,
                          0.11111111086446319636,     -0.090909085472416659039,  0.07692299711648225351,
                          -0.06666583721908498944,    0.058817161495146399432,   -0.052594337726227163984,
                          0.04744926080032620133,     -0.042863908813437793076,  0.038210064685752068982,
                          -0.032785433004952443304,   0.026151677832564486225,   -0.018614218162241300918,
                          0.011317673735898088697,    -0.0056124069912125901139, 0.0021515995280048832401,
                          -0.00059289770078791642258, 0.00010387292782483327508, -8.6543148590681869598e-6};
  return polynomial(c, square);
}

// The angle from the ratio of the shorter to the longer side, then the nearest axis's angle: 0, pi / 2 or pi,
// each as the sum of two numbers.
template <class T> HWY_INLINE Lanes<T> atan2(Lanes<T> y, Lanes<T> x) {
  const typename Lanes<T>::D d;
  constexpr T pi = static_cast<T>(3.14159265358979323846);
  constexpr T rest = static_cast<T>(sizeof(T) == 4 ? -8.74227765734758577e-8 : 1.22464679914735317723e-16);
  const auto zero = hn::Zero(d), one = hn::Set(d, T(1)), a = hn::Abs(x.v), b = hn::Abs(y.v);
  const auto shorter = hn::Min(a, b), longer = hn::Max(a, b);
  auto t = hn::IfThenElse(hn::Eq(a, b), one, hn::Div(shorter, longer));  // of two infinities too
  t = hn::IfThenElse(hn::Eq(longer, zero), zero, t);
  const auto square = hn::Mul(t, t);
  const auto angle = hn::MulAdd(hn::Mul(t, square), arc_beyond_chord(Lanes<T>(square)).v, t);
  const auto steep = hn::Gt(b, a), left = hn::Lt(hn::CopySign(one, x.v), zero);
  const auto from_axis = hn::IfThenElse(hn::Xor(steep, left), hn::Neg(angle), angle);
  const auto half = hn::Set(d, T(0.5));
  const auto turns = hn::IfThenElse(steep, half, hn::IfThenElse(left, one, zero));  // of pi, to the axis
  auto r = hn::Add(hn::Mul(turns, hn::Set(d, pi)), hn::Add(hn::Mul(turns, hn::Set(d, rest)), from_axis));
  r = hn::CopySign(r, y.v);
  return keep_nan(y, keep_nan(x, Lanes<T>(r)));
}

// By the ratio of the sides, whose square cannot overflow and does not matter if it underflows.
template <class T> HWY_INLINE Lanes<T> hypot(Lanes<T> a, Lanes<T> b) {
  const typename Lanes<T>::D d;
  const auto x = hn::Abs(a.v), y = hn::Abs(b.v), longer = hn::Max(x, y);
  const auto ratio = hn::Div(hn::Min(x, y), longer);
  const auto length = hn::Mul(longer, hn::Sqrt(hn::MulAdd(ratio, ratio, hn::Set(d, T(1)))));
  const Lanes<T> r(hn::IfThenElse(hn::Eq(longer, hn::Zero(d)), longer, length));
  const auto infinite = hn::Or(hn::Eq(x, hn::Inf(d)), hn::Eq(y, hn::Inf(d)));
  return hn::IfThenElse(infinite, hn::Inf(d), keep_nan(a, keep_nan(b, r)).v);
}
#endif

#include "veldt/kernels/close-inl.h"
#endif
