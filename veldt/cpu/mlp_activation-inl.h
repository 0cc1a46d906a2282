// Activations and their slopes together, for registers of floats: what the fused layers spend between two
// matrix products. Polynomials of least largest error over the reduced range; a NaN stays one.
// Tests: tests/ops/mlp_test.cpp, tests/cpu/mlp_bf16_finish_test.cpp
#if defined(VELDT_CPU_MLP_ACTIVATION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_CPU_MLP_ACTIVATION_INL
#undef VELDT_CPU_MLP_ACTIVATION_INL
#else
#define VELDT_CPU_MLP_ACTIVATION_INL
#endif

#include "hwy/highway.h"
#include "veldt/core/mlp.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;

HWY_INLINE Vec number(float x) { return hn::Set(Floats(), x); }

// c0 + c1 x + c2 x^2 + ..
HWY_INLINE Vec polynomial(Vec, float c) { return number(c); }
template <class... More> HWY_INLINE Vec polynomial(Vec x, float c, More... more) {
  return hn::MulAdd(polynomial(x, more...), x, number(c));
}

// x, or the bound below which it lies; a NaN stays. That x86 does in one instruction, if x comes second.
HWY_INLINE Vec at_least(Vec bound, Vec x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  return hn::Max(bound, x);
#else
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}

// sin(pi t) and cos(pi t): r = t - round(t), an odd round(t) turns both signs.
template <bool Coarse> HWY_INLINE void sine_and_cosine(Vec t, Vec& sine, Vec& cosine) {
  const Floats d;
  const hn::RebindToSigned<Floats> whole;
  const Vec k = hn::Round(t), r = hn::Sub(t, k), q = hn::Mul(r, r);
  Vec s, c;
  if constexpr (Coarse) {
    s = polynomial(q, 3.1406434f, -5.136949f, 2.2996752f);
    c = polynomial(q, 0.9999933f, -4.933938f, 4.0412836f, -1.2221255f);
  } else {
    s = polynomial(q, 3.1415927f, -5.1677103f, 2.5500715f, -0.59821945f, 0.077472806f);
    c = polynomial(q, 0.99999994f, -4.9347916f, 4.0583858f, -1.3317304f, 0.21942165f);
  }
  const Vec sign = hn::BitCast(d, hn::ShiftLeft<31>(hn::ConvertTo(whole, k)));
  sine = hn::Xor(hn::Mul(s, r), sign);
  cosine = hn::Xor(c, sign);
}

// 2^t for t <= 0 or little above; 0 below -126.
template <bool Coarse> HWY_INLINE Vec power_of_two(Vec t) {
  const Floats d;
  const hn::RebindToSigned<Floats> whole;
  t = at_least(number(-127), t);
  const Vec k = hn::Round(t), r = hn::Sub(t, k);
  Vec p;
  if constexpr (Coarse)
    p = polynomial(r, 0.99992806f, 0.69326109f, 0.24261124f, 0.055171363f);
  else
    p = polynomial(r, 1.0f, 0.69314694f, 0.24022156f, 0.055507772f, 0.0096743144f, 0.0013261244f);
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(whole, k), hn::Set(whole, 127)));
  return hn::Mul(p, hn::BitCast(d, exponent));
}

// 1 / x for 1 <= x <= 2: the processor's estimate, and Newton's step until it is exact to a rounding or two.
HWY_INLINE Vec reciprocal(Vec x) {
  constexpr int steps = HWY_ARCH_X86 ? 1 : 2;  // 12 bits or more; else 8
  Vec r = hn::ApproximateReciprocal(x);
  for (int i = 0; i < steps; ++i) r = hn::Mul(r, hn::NegMulAdd(x, r, number(2)));
  return r;
}

// 1 / (1 + e^-x), with the exponential of -|x|, which cannot overflow.
template <bool Coarse> HWY_INLINE Vec logistic(Vec x) {
  const Floats d;
  const Vec e = power_of_two<Coarse>(hn::Mul(hn::Abs(x), number(-1.4426950f)));
  const Vec larger = reciprocal(hn::Add(number(1), e));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(number(1), larger), larger);
}

template <bool Coarse> struct ActivateIdentity {
  explicit ActivateIdentity(float) {}
  HWY_INLINE Vec operator()(Vec z, Vec& slope) const {
    slope = number(1);
    return z;
  }
};
template <bool Coarse> struct ActivateRelu {
  explicit ActivateRelu(float) {}
  HWY_INLINE Vec operator()(Vec z, Vec& slope) const {
    const Vec zero = hn::Zero(Floats());
    slope = hn::IfThenElseZero(hn::Gt(z, zero), number(1));
    return at_least(zero, z);
  }
};
template <bool Coarse> struct ActivateTanh {
  explicit ActivateTanh(float) {}
  HWY_INLINE Vec operator()(Vec z, Vec& slope) const {
    // (1 - e) / (1 + e), e = exp(-2 |z|)
    const Vec e = power_of_two<Coarse>(hn::Mul(hn::Abs(z), number(-2.8853901f)));
    const Vec y = hn::CopySign(hn::Mul(hn::Sub(number(1), e), reciprocal(hn::Add(number(1), e))), z);
    slope = hn::NegMulAdd(y, y, number(1));
    return y;
  }
};
template <bool Coarse> struct ActivateSigmoid {
  explicit ActivateSigmoid(float) {}
  HWY_INLINE Vec operator()(Vec z, Vec& slope) const {
    const Vec y = logistic<Coarse>(z);
    slope = hn::NegMulAdd(y, y, y);
    return y;
  }
};
template <bool Coarse> struct ActivateSine {
  Vec turns, omega;
  explicit HWY_INLINE ActivateSine(float w) : turns(number(w * 0.31830989f)), omega(number(w)) {}
  HWY_INLINE Vec operator()(Vec z, Vec& slope) const {
    Vec s, c;
    sine_and_cosine<Coarse>(hn::Mul(z, turns), s, c);
    slope = hn::Mul(c, omega);
    return s;
  }
};
template <bool Coarse> struct ActivateFiner {
  Vec turns, omega;
  explicit HWY_INLINE ActivateFiner(float w) : turns(number(w * 0.31830989f)), omega(number(w)) {}
  HWY_INLINE Vec operator()(Vec z, Vec& slope) const {
    const Vec a = hn::Abs(z), b = hn::Add(a, number(1));
    Vec s, c;
    sine_and_cosine<Coarse>(hn::Mul(hn::Mul(z, turns), b), s, c);
    slope = hn::Mul(c, hn::Mul(omega, hn::Add(a, b)));
    return s;
  }
};
template <bool Coarse> struct ActivateGauss {
  Vec rate, twice;
  explicit HWY_INLINE ActivateGauss(float w) : rate(number(-1.4426950f * w * w)), twice(number(-2 * w * w)) {}
  HWY_INLINE Vec operator()(Vec z, Vec& slope) const {
    const Vec y = power_of_two<Coarse>(hn::Mul(hn::Mul(z, z), rate));
    slope = hn::Mul(hn::Mul(twice, z), y);
    return y;
  }
};

template <bool Coarse> struct ActivateWire {
  Vec turns, omega, rate, twice;
  HWY_INLINE ActivateWire(float w, float scale)
      : turns(number(w * 0.31830989f)),
        omega(number(-w)),
        rate(number(-1.4426950f * scale * scale)),
        twice(number(-2 * scale * scale)) {}
  HWY_INLINE Vec operator()(Vec z, Vec& slope) const {
    const Vec window = power_of_two<Coarse>(hn::Mul(hn::Mul(z, z), rate));
    Vec s, c;
    sine_and_cosine<Coarse>(hn::Mul(z, turns), s, c);
    const Vec y = hn::Mul(c, window);
    slope = hn::MulAdd(hn::Mul(omega, s), window, hn::Mul(hn::Mul(twice, z), y));
    return y;
  }
};

// fn(activation of the layer)
template <bool Coarse, class Fn> HWY_INLINE void with_activation(const MlpLayer& layer, const Fn& fn) {
  switch (layer.activation) {
    case MlpActivation::identity: return fn(ActivateIdentity<Coarse>(layer.omega));
    case MlpActivation::relu: return fn(ActivateRelu<Coarse>(layer.omega));
    case MlpActivation::tanh: return fn(ActivateTanh<Coarse>(layer.omega));
    case MlpActivation::sigmoid: return fn(ActivateSigmoid<Coarse>(layer.omega));
    case MlpActivation::sine: return fn(ActivateSine<Coarse>(layer.omega));
    case MlpActivation::finer: return fn(ActivateFiner<Coarse>(layer.omega));
    case MlpActivation::gauss: return fn(ActivateGauss<Coarse>(layer.omega));
    case MlpActivation::wire: return fn(ActivateWire<Coarse>(layer.omega, layer.scale));
  }
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
