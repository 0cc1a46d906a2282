// The losses of a stack of layers (core/mlp.h) and their slopes.
// Tests: tests/ops/mlp_test.cpp, tests/cuda/mlp_test.cpp
#if defined(VELDT_KERNELS_MLP_LOSS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_MLP_LOSS_INL
#undef VELDT_KERNELS_MLP_LOSS_INL
#else
#define VELDT_KERNELS_MLP_LOSS_INL
#endif

#include <cmath>

#include "veldt/core/mlp.h"
#include "veldt/kernels/open-inl.h"

VELDT_FN float mlp_logistic(float x) {
  const float e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1.0f) / (1 + e);
}

VELDT_FN float squashed(MlpSquash how, float y) {
  switch (how) {
    case MlpSquash::none: return y;
    case MlpSquash::clamp: return y < -1 ? -1.0f : y > 1 ? 1.0f : y;
    case MlpSquash::sigmoid: return mlp_logistic(y);
  }
  return y;
}

// d loss / d y, given g = d loss / d squashed(y).
VELDT_FN float through_squash(MlpSquash how, float y, float g) {
  switch (how) {
    case MlpSquash::none: return g;
    case MlpSquash::clamp: return (y > 1 && g < 0) || (y < -1 && g > 0) ? 0.0f : g;
    case MlpSquash::sigmoid: {
      const float s = mlp_logistic(y);
      return g * s * (1 - s);
    }
  }
  return g;
}

// The loss of one prediction, and its slope.
VELDT_FN double error_of(MlpError error, float p, float t, float& slope) {
  switch (error) {
    case MlpError::squared: {
      const float e = p - t;
      slope = 2 * e;
      return static_cast<double>(e) * static_cast<double>(e);
    }
    case MlpError::hinge: {
      const float short_of = 1 - t * p, e = short_of > 0 ? short_of : short_of != short_of ? short_of : 0;
      slope = -2 * t * e;
      return static_cast<double>(e) * static_cast<double>(e);
    }
    case MlpError::bce: {
      slope = mlp_logistic(p) - t;
      const float rest = std::log1p(std::exp(-std::abs(p)));
      return static_cast<double>((p > 0 ? p : p != p ? p : 0.0f) + rest - p * t);
    }
  }
  return 0;
}

#include "veldt/kernels/close-inl.h"
#endif
