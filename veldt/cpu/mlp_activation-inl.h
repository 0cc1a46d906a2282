// The building blocks of fused layers' activations (kernels/mlp_activation-inl.h) for registers of floats:
// minimax polynomials over the reduced range; a NaN stays NaN.
// Tests: tests/ops/mlp_test.cpp, tests/cpu/mlp_bf16_finish_test.cpp
#if defined(VELDT_CPU_MLP_ACTIVATION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_CPU_MLP_ACTIVATION_INL
#undef VELDT_CPU_MLP_ACTIVATION_INL
#else
#define VELDT_CPU_MLP_ACTIVATION_INL
#endif

#include "hwy/highway.h"
#include "veldt/core/mlp.h"
#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/mlp_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;

template <bool Coarse> struct MlpRegisters {
  using Number = veldt::HWY_NAMESPACE::Lanes<float>;

  static HWY_INLINE Number zero_below(Number z) { return at_least(Number(0), z); }
  // 0 below -126.
  static HWY_INLINE Number power_of_two(Number t) {
    const Floats d;
    const hn::RebindToSigned<Floats> whole;
    t = at_least(Number(-127), t);
    const Number k = round(t), r = t - k;
    Number p(0);
    if constexpr (Coarse)
      p = polynomial(r, 0.99992806f, 0.69326109f, 0.24261124f, 0.055171363f);
    else
      p = polynomial(r, 1.0f, 0.69314694f, 0.24022156f, 0.055507772f, 0.0096743144f, 0.0013261244f);
    const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(whole, k.v), hn::Set(whole, 127)));
    return p * Number(hn::BitCast(d, exponent));
  }
  static HWY_INLINE Number quotient(Number a, Number b) { return a * reciprocal(b); }
  static HWY_INLINE Number turns(float omega) { return Number(omega * 0.31830989f); }
  // The sine and cosine of pi t: r = t - round(t), an odd round(t) turns both signs.
  static HWY_INLINE void sine_and_cosine(Number t, Number& sine, Number& cosine) {
    const Floats d;
    const hn::RebindToSigned<Floats> whole;
    const Number k = round(t), r = t - k, q = r * r;
    Number s(0), c(0);
    if constexpr (Coarse) {
      s = polynomial(q, 3.1406434f, -5.136949f, 2.2996752f);
      c = polynomial(q, 0.9999933f, -4.933938f, 4.0412836f, -1.2221255f);
    } else {
      s = polynomial(q, 3.1415927f, -5.1677103f, 2.5500715f, -0.59821945f, 0.077472806f);
      c = polynomial(q, 0.99999994f, -4.9347916f, 4.0583858f, -1.3317304f, 0.21942165f);
    }
    const Vec sign = hn::BitCast(d, hn::ShiftLeft<31>(hn::ConvertTo(whole, k.v)));
    sine = hn::Xor(hn::Mul(s.v, r.v), sign);
    cosine = hn::Xor(c.v, sign);
  }
  static HWY_INLINE Number with_sign_of(Number y, Number z) { return hn::CopySign(y.v, z.v); }
  static HWY_INLINE Number mul_add(Number a, Number b, Number c) { return hn::MulAdd(a.v, b.v, c.v); }
  static HWY_INLINE Number neg_mul_add(Number a, Number b, Number c) { return hn::NegMulAdd(a.v, b.v, c.v); }

 private:
  // x, or the bound if x is above it; a NaN stays. x86 does this in one instruction if x is the second
  // operand.
  static HWY_INLINE Number at_least(Number bound, Number x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
    return hn::Max(bound.v, x.v);
#else
    return select_gt(bound, x, bound, x);
#endif
  }
  // 1 / x: the processor's estimate, and Newton's step until it is exact to a rounding or two.
  static HWY_INLINE Number reciprocal(Number x) {
    constexpr int steps = HWY_ARCH_X86 ? 1 : 2;  // 12 bits or more; else 8
    Number r = hn::ApproximateReciprocal(x.v);
    for (int i = 0; i < steps; ++i) r = r * neg_mul_add(x, r, Number(2));
    return r;
  }
};

// fn(activation of the layer)
template <bool Coarse, class Fn> HWY_INLINE void with_activation(const MlpLayer& layer, const Fn& fn) {
  veldt::HWY_NAMESPACE::with_mlp_activation<MlpRegisters<Coarse>>(layer.activation, layer.omega, layer.scale,
                                                                  fn);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
