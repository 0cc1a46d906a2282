// The number types that formulas are written over, and the functions they may call: float and double one at a
// time (CUDA threads, the test oracle), and Lanes<T>, a SIMD register that reads like one number.
#if defined(VELDT_KERNELS_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_MATH_INL
#undef VELDT_KERNELS_MATH_INL
#else
#define VELDT_KERNELS_MATH_INL
#endif

#include <cmath>
#include <cstddef>

#if defined(HWY_TARGET) && !defined(__CUDACC__)
#include "hwy/contrib/math/math-inl.h"
#endif
#include "veldt/kernels/open-inl.h"

VELDT_FN float exp(float x) { return ::expf(x); }
VELDT_FN double exp(double x) { return ::exp(x); }
VELDT_FN float log(float x) { return ::logf(x); }
VELDT_FN double log(double x) { return ::log(x); }
VELDT_FN float sqrt(float x) { return ::sqrtf(x); }
VELDT_FN double sqrt(double x) { return ::sqrt(x); }
VELDT_FN float sin(float x) { return ::sinf(x); }
VELDT_FN double sin(double x) { return ::sin(x); }
VELDT_FN float cos(float x) { return ::cosf(x); }
VELDT_FN double cos(double x) { return ::cos(x); }
VELDT_FN float tanh(float x) { return ::tanhf(x); }
VELDT_FN double tanh(double x) { return ::tanh(x); }
VELDT_FN float log1p(float x) { return ::log1pf(x); }
VELDT_FN double log1p(double x) { return ::log1p(x); }
VELDT_FN float pow(float x, float p) { return ::powf(x, p); }
VELDT_FN double pow(double x, double p) { return ::pow(x, p); }
VELDT_FN float expm1(float x) { return ::expm1f(x); }
VELDT_FN double expm1(double x) { return ::expm1(x); }
VELDT_FN float floor(float x) { return ::floorf(x); }
VELDT_FN double floor(double x) { return ::floor(x); }
VELDT_FN float ceil(float x) { return ::ceilf(x); }
VELDT_FN double ceil(double x) { return ::ceil(x); }
VELDT_FN float trunc(float x) { return ::truncf(x); }
VELDT_FN double trunc(double x) { return ::trunc(x); }
// Half to even.
VELDT_FN float round(float x) { return ::rintf(x); }
VELDT_FN double round(double x) { return ::rint(x); }
VELDT_FN float abs(float x) { return ::fabsf(x); }
VELDT_FN double abs(double x) { return ::fabs(x); }

// The share of a standard normal distribution that lies below x, exact in the lower tail too.
VELDT_FN float normal_share(float x) { return 0.5f * ::erfcf(-0.70710678f * x); }
VELDT_FN double normal_share(double x) { return 0.5 * ::erfc(-0.70710678118654752440 * x); }

// a > b ? yes : no; false when either is NaN
VELDT_FN float select_gt(float a, float b, float yes, float no) { return a > b ? yes : no; }
VELDT_FN double select_gt(double a, double b, double yes, double no) { return a > b ? yes : no; }
VELDT_FN float select_nan(float x, float yes, float no) { return x != x ? yes : no; }
VELDT_FN double select_nan(double x, double yes, double no) { return x != x ? yes : no; }

#if defined(HWY_TARGET) && !defined(__CUDACC__)
namespace hn = hwy::HWY_NAMESPACE;

template <class T> struct Lanes {
  using D = hn::ScalableTag<T>;
  hn::Vec<D> v;
  HWY_INLINE Lanes(hn::Vec<D> r) : v(r) {}  // NOLINT: reads like a number
  HWY_INLINE explicit Lanes(double s) : v(hn::Set(D(), static_cast<T>(s))) {}
  // The first n lanes from memory, the rest 1; and back. For the end of a row. Where a masked access may
  // still touch what lies beyond, through a buffer.
#if HWY_MEM_OPS_MIGHT_FAULT
  static HWY_INLINE Lanes load_part(const T* from, std::size_t n) {
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    for (std::size_t i = 0; i < hn::MaxLanes(D()); ++i) lanes[i] = i < n ? from[i] : T(1);
    return hn::Load(D(), lanes);
  }
  HWY_INLINE void store_part(T* to, std::size_t n) const {
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    hn::Store(v, D(), lanes);
    for (std::size_t i = 0; i < n; ++i) to[i] = lanes[i];
  }
#else
  static HWY_INLINE Lanes load_part(const T* from, std::size_t n) {
    const auto first = hn::FirstN(D(), n);
    return hn::IfThenElse(first, hn::MaskedLoad(first, D(), from), hn::Set(D(), T(1)));
  }
  HWY_INLINE void store_part(T* to, std::size_t n) const { hn::BlendedStore(v, hn::FirstN(D(), n), D(), to); }
#endif
  friend HWY_INLINE Lanes operator+(Lanes a, Lanes b) { return hn::Add(a.v, b.v); }
  friend HWY_INLINE Lanes operator-(Lanes a, Lanes b) { return hn::Sub(a.v, b.v); }
  friend HWY_INLINE Lanes operator*(Lanes a, Lanes b) { return hn::Mul(a.v, b.v); }
  friend HWY_INLINE Lanes operator/(Lanes a, Lanes b) { return hn::Div(a.v, b.v); }
  friend HWY_INLINE Lanes operator-(Lanes a) { return hn::Neg(a.v); }
};

// What libm computes, lane by lane.
template <class T, class Fn> HWY_INLINE Lanes<T> each_lane(Lanes<T> a, Lanes<T> b, Fn fn) {
  const typename Lanes<T>::D d;
  HWY_ALIGN T as[hn::MaxLanes(d)], bs[hn::MaxLanes(d)];
  hn::Store(a.v, d, as);
  hn::Store(b.v, d, bs);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) as[i] = fn(as[i], bs[i]);
  return hn::Load(d, as);
}

// Highway's polynomials turn a NaN into a number in places; training must see it, so it is put back.
template <class T> HWY_INLINE Lanes<T> keep_nan(Lanes<T> x, Lanes<T> y) {
  return hn::IfThenElse(hn::IsNaN(x.v), x.v, y.v);
}
template <class T> HWY_INLINE Lanes<T> exp(Lanes<T> x) {
  const typename Lanes<T>::D d;
  // Beyond these bounds the result is 0 or infinity; the polynomial is not valid there.
  const auto top = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 88.8 : 709.8));
  const auto y = hn::Exp(d, hn::Min(x.v, top));
  return keep_nan(x, Lanes<T>(hn::IfThenElse(hn::Ge(x.v, top), hn::Inf(d), y)));
}
template <class T> HWY_INLINE Lanes<T> expm1(Lanes<T> x) {
  const typename Lanes<T>::D d;
  const auto top = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 88.8 : 709.8));  // as in exp
  const auto y = hn::Expm1(d, hn::Min(x.v, top));
  return keep_nan(x, Lanes<T>(hn::IfThenElse(hn::Ge(x.v, top), hn::Inf(d), y)));
}
template <class T> HWY_INLINE Lanes<T> floor(Lanes<T> x) { return hn::Floor(x.v); }
template <class T> HWY_INLINE Lanes<T> ceil(Lanes<T> x) { return hn::Ceil(x.v); }
template <class T> HWY_INLINE Lanes<T> trunc(Lanes<T> x) { return hn::Trunc(x.v); }
template <class T> HWY_INLINE Lanes<T> round(Lanes<T> x) { return hn::Round(x.v); }
template <class T> HWY_INLINE Lanes<T> log(Lanes<T> x) {
  const typename Lanes<T>::D d;
  const auto zero = hn::Zero(d);
  auto y = hn::Log(d, x.v);
  y = hn::IfThenElse(hn::Eq(x.v, zero), hn::Neg(hn::Inf(d)), y);
  y = hn::IfThenElse(hn::Eq(x.v, hn::Inf(d)), x.v, y);
  y = hn::IfThenElse(hn::Lt(x.v, zero), hn::NaN(d), y);
  return keep_nan(x, Lanes<T>(y));
}
template <class T> HWY_INLINE Lanes<T> log1p(Lanes<T> x) {
  // Kahan: log(u) (x / (u - 1)) with u = 1 + x rounded; x itself where u is 1.
  const Lanes<T> one(1.0), u = one + x;
  const Lanes<T> ratio = log(u) * (x / (u - one));
  const typename Lanes<T>::D d;
  return hn::IfThenElse(hn::Eq(u.v, one.v), x.v, hn::IfThenElse(hn::Eq(x.v, hn::Inf(d)), x.v, ratio.v));
}
template <class T> HWY_INLINE Lanes<T> sqrt(Lanes<T> x) { return hn::Sqrt(x.v); }
// Good to 3 ulp for |x| <= 39,000; infinity gives NaN as in libm.
template <class T> HWY_INLINE Lanes<T> sin(Lanes<T> x) {
  const Lanes<T> y(hn::Sin(typename Lanes<T>::D(), x.v));
  return hn::IfThenElse(hn::IsFinite(x.v), y.v, hn::NaN(typename Lanes<T>::D()));
}
template <class T> HWY_INLINE Lanes<T> cos(Lanes<T> x) {
  const Lanes<T> y(hn::Cos(typename Lanes<T>::D(), x.v));
  return hn::IfThenElse(hn::IsFinite(x.v), y.v, hn::NaN(typename Lanes<T>::D()));
}
template <class T> HWY_INLINE Lanes<T> tanh(Lanes<T> x) {
  return keep_nan(x, Lanes<T>(hn::Tanh(typename Lanes<T>::D(), x.v)));
}
template <class T> HWY_INLINE Lanes<T> abs(Lanes<T> x) { return hn::Abs(x.v); }
template <class T> HWY_INLINE Lanes<T> select_gt(Lanes<T> a, Lanes<T> b, Lanes<T> yes, Lanes<T> no) {
  return hn::IfThenElse(hn::Gt(a.v, b.v), yes.v, no.v);
}
template <class T> HWY_INLINE Lanes<T> select_nan(Lanes<T> x, Lanes<T> yes, Lanes<T> no) {
  return hn::IfThenElse(hn::IsNaN(x.v), yes.v, no.v);
}
// In floats, with u = |x| and t = 1 / (1 + 0.4 u), the upper tail is e^(-u^2 / 2) t p(t). p was fitted to the
// smallest largest relative error, 2e-8 up to u = 15, where the tail has long been 0; by Horner's rule it is
// good to 3 ulp.
HWY_INLINE Lanes<float> normal_share(Lanes<float> x) {
  const Lanes<float> t = Lanes<float>(1.0) / (Lanes<float>(1.0) + Lanes<float>(0.4) * abs(x));
  Lanes<float> p(0.03229760006070137);
  p = p * t + Lanes<float>(-0.1772495061159134);
  p = p * t + Lanes<float>(0.38327762484550476);
  p = p * t + Lanes<float>(-0.3752373158931732);
  p = p * t + Lanes<float>(0.1203979030251503);
  p = p * t + Lanes<float>(-0.02727128192782402);
  p = p * t + Lanes<float>(0.09146250784397125);
  p = p * t + Lanes<float>(0.1331169456243515);
  p = p * t + Lanes<float>(0.1596297174692154);
  p = p * t + Lanes<float>(0.15957580506801605);
  const Lanes<float> tail = exp(Lanes<float>(-0.5) * x * x) * t * p;
  return select_gt(x, Lanes<float>(0.0), Lanes<float>(1.0) - tail, tail);
}
HWY_INLINE Lanes<double> normal_share(Lanes<double> x) {
  const Lanes<double>::D d;
  HWY_ALIGN double xs[hn::MaxLanes(d)];
  hn::Store(x.v, d, xs);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) xs[i] = normal_share(xs[i]);
  return hn::Load(d, xs);
}
#endif

// s(x) = 1 / (1 + exp(-x)); by the smaller exponential, which cannot overflow, so that the tail is right down
// to the denormals.
template <class F> VELDT_FN F logistic(F x) {
  const F e = exp(-abs(x));
  return select_gt(F(0), x, e, F(1)) / (F(1) + e);
}

#include "veldt/kernels/close-inl.h"
#endif
