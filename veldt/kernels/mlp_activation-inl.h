// Activations of fused layers together with their slopes: the work between two matrix products. Written over
// a set of functions M, because each device has its own fastest way and the last bits do not matter:
//
//   M::Number                       what is computed with
//   M::zero_below(z)                max(z, 0); a NaN stays M::power_of_two(t)              2^t for t <= 0 or
//   little above M::quotient(a, b)               a / b for 1 <= b <= 2 M::sine_and_cosine(t, s, c)     of t =
//   z M::turns(omega), which stands for the angle omega z M::with_sign_of(y, z), M::mul_add(a, b, c),
//   M::neg_mul_add(a, b, c) M::tanh(z)                      where the device has one that is quicker
// Tests: tests/ops/mlp_test.cpp, tests/cpu/mlp_bf16_finish_test.cpp, tests/cuda/mlp_test.cpp
#if defined(VELDT_KERNELS_MLP_ACTIVATION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_MLP_ACTIVATION_INL
#undef VELDT_KERNELS_MLP_ACTIVATION_INL
#else
#define VELDT_KERNELS_MLP_ACTIVATION_INL
#endif

#include "veldt/core/mlp.h"
#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/open-inl.h"

template <class M> struct MlpIdentity {
  using F = typename M::Number;
  VELDT_FN F operator()(F z, F& slope) const {
    slope = F(1);
    return z;
  }
};
template <class M> struct MlpRelu {
  using F = typename M::Number;
  VELDT_FN F operator()(F z, F& slope) const {
    slope = select_gt(z, F(0), F(1), F(0));
    return M::zero_below(z);
  }
};
template <class M> struct MlpTanh {
  using F = typename M::Number;
  VELDT_FN F operator()(F z, F& slope) const {
    const F y = of(z);
    slope = M::neg_mul_add(y, y, F(1));
    return y;
  }

 private:
  static VELDT_FN F of(F z) {
    if constexpr (requires { M::tanh(z); }) {
      return M::tanh(z);
    } else {  // (1 - e) / (1 + e), e = exp(-2 |z|)
      const F e = M::power_of_two(abs(z) * F(-2.8853901f));
      return M::with_sign_of(M::quotient(F(1) - e, F(1) + e), z);
    }
  }
};
template <class M> struct MlpSigmoid {
  using F = typename M::Number;
  VELDT_FN F operator()(F z, F& slope) const {
    const F y = of(z);
    slope = M::neg_mul_add(y, y, y);
    return y;
  }

 private:
  static VELDT_FN F of(F z) {
    if constexpr (requires { M::tanh(z); }) {
      return M::mul_add(F(0.5f), M::tanh(F(0.5f) * z), F(0.5f));
    } else {  // with the exponential of -|z|, which cannot overflow
      const F larger = M::quotient(F(1), F(1) + M::power_of_two(abs(z) * F(-1.4426950f)));
      return select_gt(F(0), z, F(1) - larger, larger);
    }
  }
};
template <class M> struct MlpSine {
  using F = typename M::Number;
  F turns, omega;
  VELDT_FN explicit MlpSine(float w) : turns(M::turns(w)), omega(w) {}
  VELDT_FN F operator()(F z, F& slope) const {
    F s(0), c(0);
    M::sine_and_cosine(z * turns, s, c);
    slope = c * omega;
    return s;
  }
};
template <class M> struct MlpFiner {
  using F = typename M::Number;
  F turns, omega;
  VELDT_FN explicit MlpFiner(float w) : turns(M::turns(w)), omega(w) {}
  VELDT_FN F operator()(F z, F& slope) const {
    const F a = abs(z), b = a + F(1);
    F s(0), c(0);
    M::sine_and_cosine(z * turns * b, s, c);
    slope = c * (omega * (a + b));
    return s;
  }
};
template <class M> struct MlpGauss {
  using F = typename M::Number;
  F rate, twice;
  VELDT_FN explicit MlpGauss(float w) : rate(-1.4426950f * w * w), twice(-2 * w * w) {}
  VELDT_FN F operator()(F z, F& slope) const {
    const F y = M::power_of_two(z * z * rate);
    slope = twice * z * y;
    return y;
  }
};
template <class M> struct MlpWire {
  using F = typename M::Number;
  F turns, omega, rate, twice;
  VELDT_FN MlpWire(float w, float scale)
      : turns(M::turns(w)), omega(-w), rate(-1.4426950f * scale * scale), twice(-2 * scale * scale) {}
  VELDT_FN F operator()(F z, F& slope) const {
    const F window = M::power_of_two(z * z * rate);
    F s(0), c(0);
    M::sine_and_cosine(z * turns, s, c);
    const F y = c * window;
    slope = M::mul_add(omega * s, window, twice * z * y);
    return y;
  }
};

// fn(the activation)
template <class M, class Fn>
VELDT_FN void with_mlp_activation(MlpActivation activation, float omega, float scale, const Fn& fn) {
  switch (activation) {
    case MlpActivation::identity: return fn(MlpIdentity<M>());
    case MlpActivation::relu: return fn(MlpRelu<M>());
    case MlpActivation::tanh: return fn(MlpTanh<M>());
    case MlpActivation::sigmoid: return fn(MlpSigmoid<M>());
    case MlpActivation::sine: return fn(MlpSine<M>(omega));
    case MlpActivation::finer: return fn(MlpFiner<M>(omega));
    case MlpActivation::gauss: return fn(MlpGauss<M>(omega));
    case MlpActivation::wire: return fn(MlpWire<M>(omega, scale));
  }
}

#include "veldt/kernels/close-inl.h"
#endif
