// What activations of fused layers (kernels/mlp_activation-inl.h) are made of, one number at a time. Fine: to
// 1e-7, polynomials as the CPU's. Coarse: the hardware's sine and cosine, to 4e-5 up to 100 pi (PTX ISA,
// sin.approx), of which rounding to bf16 or tf32 leaves nothing, and its tanh, to 2^-11 of itself, which is
// what rounding to tf32 may take.
// Tests: tests/cuda/mlp_test.cpp
#pragma once

#include <cmath>

#include "veldt/cuda/gpu.h"
#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/mlp_activation-inl.h"

namespace veldt::cuda {

template <bool kCoarse> struct MlpFloats {
  using Number = float;

  static __device__ float zero_below(float z) { return z < 0 ? 0.0f : z; }
  static __device__ float power_of_two(float t) { return exp2f(t); }
  static __device__ float quotient(float a, float b) { return gpu::fast_quotient(a, b); }
  static __device__ float turns(float omega) { return kCoarse ? omega : omega * 0.31830989f; }
  static __device__ void sine_and_cosine(float t, float& sine, float& cosine) {
    if constexpr (kCoarse) {
      sine = gpu::fast_sin(t);
      cosine = gpu::fast_cos(t);
    } else {  // of pi t: r = t - round(t), an odd round(t) turns both signs
      const float k = rintf(t), r = t - k, q = r * r;
      float s = fmaf(q, 0.077472806f, -0.59821945f), c = fmaf(q, 0.21942165f, -1.3317304f);
      s = fmaf(s, q, 2.5500715f), c = fmaf(c, q, 4.0583858f);
      s = fmaf(s, q, -5.1677103f), c = fmaf(c, q, -4.9347916f);
      s = fmaf(s, q, 3.1415927f), c = fmaf(c, q, 0.99999994f);
      const float half = 0.5f * k, sign = half == rintf(half) ? 1.0f : -1.0f;
      sine = s * r * sign;
      cosine = c * sign;
    }
  }
  static __device__ float tanh(float z) requires kCoarse { return gpu::fast_tanh(z); }
  static __device__ float with_sign_of(float y, float z) { return copysignf(y, z); }
  static __device__ float mul_add(float a, float b, float c) { return fmaf(a, b, c); }
  static __device__ float neg_mul_add(float a, float b, float c) { return fmaf(-a, b, c); }
};

}  // namespace veldt::cuda
