// Lanes<T>: a SIMD register that reads like one number, so that a formula is written once for both. Included
// by math-inl.h where a SIMD target is compiled.
// Tests: tests/ops/targets_test.cpp, tests/ops/accuracy_test.cpp
#if defined(VELDT_KERNELS_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_LANES_INL
#undef VELDT_KERNELS_LANES_INL
#else
#define VELDT_KERNELS_LANES_INL
#endif

#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "veldt/kernels/open-inl.h"

namespace hn = hwy::HWY_NAMESPACE;

// kDigits: the accuracy of its functions in binary digits. Fewer digits need shorter polynomials.
template <class T, int kDigits = std::numeric_limits<T>::digits> struct Lanes {
  using D = hn::ScalableTag<T>;
  hn::Vec<D> v;
  HWY_INLINE Lanes(hn::Vec<D> r) : v(r) {}  // NOLINT: reads like a number
  HWY_INLINE explicit Lanes(double s) : v(hn::Set(D(), static_cast<T>(s))) {}
  // The first n lanes from memory, the rest 1; and back. For the end of a row. If a masked access may still
  // touch memory beyond, a buffer is used.
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

  friend HWY_INLINE Lanes sqrt(Lanes x) { return hn::Sqrt(x.v); }
  friend HWY_INLINE Lanes abs(Lanes x) { return hn::Abs(x.v); }
  friend HWY_INLINE Lanes floor(Lanes x) { return hn::Floor(x.v); }
  friend HWY_INLINE Lanes ceil(Lanes x) { return hn::Ceil(x.v); }
  friend HWY_INLINE Lanes trunc(Lanes x) { return hn::Trunc(x.v); }
  friend HWY_INLINE Lanes round(Lanes x) { return hn::Round(x.v); }
  friend HWY_INLINE Lanes select_gt(Lanes a, Lanes b, Lanes yes, Lanes no) {
    return hn::IfThenElse(hn::Gt(a.v, b.v), yes.v, no.v);
  }
  friend HWY_INLINE Lanes select_nan(Lanes x, Lanes yes, Lanes no) {
    return hn::IfThenElse(hn::IsNaN(x.v), yes.v, no.v);
  }
  // a b + c, and c - a b; rounded once where the processor can.
  friend HWY_INLINE Lanes mul_add(Lanes a, Lanes b, Lanes c) { return hn::MulAdd(a.v, b.v, c.v); }
  friend HWY_INLINE Lanes neg_mul_add(Lanes a, Lanes b, Lanes c) { return hn::NegMulAdd(a.v, b.v, c.v); }
  // y with the sign bit of s as well as its own: an odd function keeps -0.
  friend HWY_INLINE Lanes with_sign(Lanes y, Lanes s) { return hn::OrAnd(y.v, hn::SignBit(D()), s.v); }
  // x clamped to the bounds; a NaN stays, which not every Min and Max guarantees.
  friend HWY_INLINE Lanes between(double low, Lanes x, double high) {
    const Lanes l(low), h(high);
    return select_gt(l, x, l, select_gt(x, h, h, x));
  }
};

// Floats computed as doubles: a result exact to 24 digits rounds to the nearest float or its neighbour.
using Wide = Lanes<double, 24>;

#if HWY_TARGET == HWY_SCALAR  // one lane: the lower half is all there is
HWY_INLINE Wide lower_half(Lanes<float> x) { return hn::PromoteTo(Wide::D(), x.v); }
HWY_INLINE Wide upper_half(Lanes<float> x) { return lower_half(x); }
// A cast, not DemoteTo: that makes the largest float of an infinity here, and in EMU128.
HWY_INLINE Lanes<float> joined(Wide lower, Wide) {
  return hn::Set(Lanes<float>::D(), static_cast<float>(hn::GetLane(lower.v)));
}
#else
HWY_INLINE Wide lower_half(Lanes<float> x) {
  const hn::Rebind<float, Wide::D> half;
  return hn::PromoteTo(Wide::D(), hn::LowerHalf(half, x.v));
}
HWY_INLINE Wide upper_half(Lanes<float> x) {
  const hn::Rebind<float, Wide::D> half;
  return hn::PromoteTo(Wide::D(), hn::UpperHalf(half, x.v));
}
HWY_INLINE auto narrowed(Wide x) {
  const hn::Rebind<float, Wide::D> half;
#if HWY_TARGET == HWY_EMU128
  HWY_ALIGN double wide[hn::MaxLanes(Wide::D())];
  HWY_ALIGN float narrow[hn::MaxLanes(half)];
  hn::Store(x.v, Wide::D(), wide);
  for (std::size_t i = 0; i < hn::Lanes(half); ++i) narrow[i] = static_cast<float>(wide[i]);
  return hn::Load(half, narrow);
#else
  return hn::DemoteTo(half, x.v);
#endif
}
HWY_INLINE Lanes<float> joined(Wide lower, Wide upper) {
  return hn::Combine(Lanes<float>::D(), narrowed(upper), narrowed(lower));
}
#endif

// Computed by libm, lane by lane.
template <class T, class Fn> HWY_INLINE Lanes<T> each_lane(Lanes<T> a, Lanes<T> b, Fn fn) {
  const typename Lanes<T>::D d;
  HWY_ALIGN T as[hn::MaxLanes(d)], bs[hn::MaxLanes(d)];
  hn::Store(a.v, d, as);
  hn::Store(b.v, d, bs);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) as[i] = fn(as[i], bs[i]);
  return hn::Load(d, as);
}

// y, or x where that is NaN.
template <class T> HWY_INLINE Lanes<T> keep_nan(Lanes<T> x, Lanes<T> y) { return select_nan(x, x, y); }

// c0 + c1 x + c2 x^2 + .., by Horner's rule
template <class L> HWY_INLINE L polynomial(L, double c) { return L(c); }
template <class L, class... More> HWY_INLINE L polynomial(L x, double c, More... more) {
  return mul_add(polynomial(x, more...), x, L(c));
}

#include "veldt/kernels/close-inl.h"
#endif
