// Activations and their slopes together, one number at a time: what the fused layers spend between two
// products. Fine: to 1e-7, polynomials as the CPU's (cpu/mlp_activation-inl.h). Coarse: the hardware's sine
// and cosine, to 4e-5 up to 100 pi (PTX ISA, sin.approx), of which rounding to bf16 or tf32 leaves nothing.
#pragma once

#include <cmath>

#include "veldt/core/mlp.h"
#include "veldt/cuda/gpu.h"

namespace veldt::cuda {

// sin(omega z) and cos(omega z)
template <bool kCoarse> struct Waves {
  float omega;
  __device__ explicit Waves(float w) : omega(w) {}
  __device__ void operator()(float z, float& sine, float& cosine) const {
    sine = gpu::fast_sin(omega * z);
    cosine = gpu::fast_cos(omega * z);
  }
};
template <> struct Waves<false> {
  float turns;
  __device__ explicit Waves(float w) : turns(w * 0.31830989f) {}
  // Of pi t: r = t - round(t), an odd round(t) turns both signs.
  __device__ void operator()(float z, float& sine, float& cosine) const {
    const float t = z * turns, k = rintf(t), r = t - k, q = r * r;
    float s = fmaf(q, 0.077472806f, -0.59821945f), c = fmaf(q, 0.21942165f, -1.3317304f);
    s = fmaf(s, q, 2.5500715f), c = fmaf(c, q, 4.0583858f);
    s = fmaf(s, q, -5.1677103f), c = fmaf(c, q, -4.9347916f);
    s = fmaf(s, q, 3.1415927f), c = fmaf(c, q, 0.99999994f);
    const float half = 0.5f * k, sign = half == rintf(half) ? 1.0f : -1.0f;
    sine = s * r * sign;
    cosine = c * sign;
  }
};

struct ActivateIdentity {
  __device__ float operator()(float z, float& slope) const {
    slope = 1;
    return z;
  }
};
struct ActivateRelu {
  __device__ float operator()(float z, float& slope) const {
    slope = z > 0 ? 1.0f : 0.0f;
    return z < 0 ? 0.0f : z;  // a NaN stays
  }
};
struct ActivateTanh {
  __device__ float operator()(float z, float& slope) const {
    // (1 - e) / (1 + e), e = exp(-2 |z|)
    const float e = exp2f(-2.8853901f * fabsf(z)), y = copysignf(gpu::fast_quotient(1 - e, 1 + e), z);
    slope = 1 - y * y;
    return y;
  }
};
struct ActivateSigmoid {
  __device__ float operator()(float z, float& slope) const {
    const float e = exp2f(-1.4426950f * fabsf(z)), y = gpu::fast_quotient(z < 0 ? e : 1.0f, 1 + e);
    slope = y - y * y;
    return y;
  }
};
template <bool kCoarse> struct ActivateSine {
  Waves<kCoarse> waves;
  float omega;
  __device__ explicit ActivateSine(float w) : waves(w), omega(w) {}
  __device__ float operator()(float z, float& slope) const {
    float s, c;
    waves(z, s, c);
    slope = c * omega;
    return s;
  }
};
template <bool kCoarse> struct ActivateFiner {
  Waves<kCoarse> waves;
  float omega;
  __device__ explicit ActivateFiner(float w) : waves(w), omega(w) {}
  __device__ float operator()(float z, float& slope) const {
    const float a = fabsf(z), b = a + 1;
    float s, c;
    waves(z * b, s, c);
    slope = c * (omega * (a + b));
    return s;
  }
};
struct ActivateGauss {
  float rate, twice;
  __device__ explicit ActivateGauss(float w) : rate(-1.4426950f * w * w), twice(-2 * w * w) {}
  __device__ float operator()(float z, float& slope) const {
    const float y = exp2f(z * z * rate);
    slope = twice * z * y;
    return y;
  }
};
template <bool kCoarse> struct ActivateWire {
  Waves<kCoarse> waves;
  float omega, rate, twice;
  __device__ ActivateWire(float w, float scale)
      : waves(w), omega(-w), rate(-1.4426950f * scale * scale), twice(-2 * scale * scale) {}
  __device__ float operator()(float z, float& slope) const {
    const float window = exp2f(z * z * rate);
    float s, c;
    waves(z, s, c);
    const float y = c * window;
    slope = omega * s * window + twice * z * y;
    return y;
  }
};

// fn(the activation)
template <bool kCoarse, class Fn>
__device__ __forceinline__ void with_activation(MlpActivation activation, float omega, float scale,
                                                const Fn& fn) {
  switch (activation) {
    case MlpActivation::identity: return fn(ActivateIdentity());
    case MlpActivation::relu: return fn(ActivateRelu());
    case MlpActivation::tanh: return fn(ActivateTanh());
    case MlpActivation::sigmoid: return fn(ActivateSigmoid());
    case MlpActivation::sine: return fn(ActivateSine<kCoarse>(omega));
    case MlpActivation::finer: return fn(ActivateFiner<kCoarse>(omega));
    case MlpActivation::gauss: return fn(ActivateGauss(omega));
    case MlpActivation::wire: return fn(ActivateWire<kCoarse>(omega, scale));
  }
}

}  // namespace veldt::cuda
