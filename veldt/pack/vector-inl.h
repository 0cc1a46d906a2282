// Vectors of floats of at most a block, and the functions that the kernels of packing share.
// Tests: tests/pack/learner_test.cpp
#if defined(VELDT_PACK_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_PACK_VECTOR_INL_H
#undef VELDT_PACK_VECTOR_INL_H
#else
#define VELDT_PACK_VECTOR_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::pack::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using I = hn::RebindToSigned<D>;
using U = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;

HWY_INLINE V set(float x) { return hn::Set(D(), x); }
HWY_INLINE V load(const float* from) { return hn::LoadU(D(), from); }
HWY_INLINE float total_of(V v) { return hn::GetLane(hn::SumOfLanes(D(), v)); }
HWY_INLINE void store(V v, float* to) { hn::StoreU(v, D(), to); }

// Within 2 ulp between -87 and 88, which it does not leave (Cephes).
HWY_INLINE V exp(V x) {
  x = hn::Max(hn::Min(x, set(88)), set(-87));
  const V n = hn::Round(hn::Mul(x, set(1.44269504f)));
  const V f = hn::MulAdd(n, set(2.12194440e-4f), hn::NegMulAdd(n, set(0.693359375f), x));
  V p = set(1.9875691500e-4f);
  for (const float c :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = hn::MulAdd(p, f, set(c));
  p = hn::MulAdd(hn::Mul(p, f), f, hn::Add(f, set(1)));
  const hn::Vec<I> power = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(I(), n), hn::Set(I(), 127)));
  return hn::Mul(p, hn::BitCast(D(), power));
}

HWY_INLINE V tanh(V x) { return hn::Sub(set(1), hn::Div(set(2), hn::Add(exp(hn::Add(x, x)), set(1)))); }

// Of a normal number above 0: the exponent, and the series of atanh for a mantissa of 0.71 to 1.41.
HWY_INLINE V log2(V x) {
  const hn::Vec<I> bits = hn::Sub(hn::BitCast(I(), x), hn::Set(I(), 0x3f3504f3));  // root of 1/2
  const hn::Vec<I> exponent = hn::ShiftRight<23>(bits);
  const V m = hn::BitCast(D(), hn::Add(hn::And(bits, hn::Set(I(), 0x7fffff)), hn::Set(I(), 0x3f3504f3)));
  const V s = hn::Div(hn::Sub(m, set(1)), hn::Add(m, set(1))), square = hn::Mul(s, s);
  V p = set(2.0f / 9);
  for (const float c : {2.0f / 7, 2.0f / 5, 2.0f / 3, 2.0f}) p = hn::MulAdd(p, square, set(c));
  return hn::MulAdd(hn::Mul(s, p), set(1.44269504f), hn::ConvertTo(D(), exponent));
}

}  // namespace
}  // namespace veldt::pack::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
