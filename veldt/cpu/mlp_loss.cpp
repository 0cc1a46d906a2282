#include "veldt/cpu/mlp_loss.h"

#include <algorithm>
#include <cmath>

namespace veldt::cpu {
namespace {

float logistic(float x) {
  const float e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

float squashed(MlpSquash how, float y) {
  switch (how) {
    case MlpSquash::none: return y;
    case MlpSquash::clamp: return y < -1 ? -1.0f : y > 1 ? 1.0f : y;
    case MlpSquash::sigmoid: return logistic(y);
  }
  return y;
}

// d loss / d y, given g = d loss / d squashed(y).
float through(MlpSquash how, float y, float g) {
  switch (how) {
    case MlpSquash::none: return g;
    case MlpSquash::clamp: return (y > 1 && g < 0) || (y < -1 && g > 0) ? 0.0f : g;
    case MlpSquash::sigmoid: {
      const float s = logistic(y);
      return g * s * (1 - s);
    }
  }
  return g;
}

// The loss of one prediction, and its slope.
double error_of(MlpError error, float p, float t, float& slope) {
  switch (error) {
    case MlpError::squared: {
      const float e = p - t;
      slope = 2 * e;
      return static_cast<double>(e) * e;
    }
    case MlpError::hinge: {
      const float short_of = 1 - t * p, e = short_of > 0 ? short_of : short_of != short_of ? short_of : 0;
      slope = -2 * t * e;
      return static_cast<double>(e) * e;
    }
    case MlpError::bce: {
      slope = logistic(p) - t;
      return std::max(p, 0.0f) + std::log1p(std::exp(-std::abs(p))) - p * t;
    }
  }
  return 0;
}

}  // namespace

double mlp_loss(const MlpLoss& loss, const float* out, std::int64_t rows, std::int64_t columns,
                std::int64_t group, const float* target, const float* weight, float scale, float* dy) {
  double sum = 0;
  for (std::int64_t first = 0; first < rows; first += group) {
    const std::int64_t m = first / group;
    const float w = weight ? weight[m] : 1;
    for (std::int64_t c = 0; c < columns; ++c) {
      float p = 0, slope = 0;
      for (std::int64_t i = 0; i < group; ++i) p += squashed(loss.squash, out[(first + i) * columns + c]);
      sum += w * error_of(loss.error, p / static_cast<float>(group), target[m * columns + c], slope);
      const float g = slope * w * scale / static_cast<float>(group);
      for (std::int64_t i = 0; i < group; ++i) {
        const std::int64_t at = (first + i) * columns + c;
        dy[at] = through(loss.squash, out[at], g);
      }
    }
  }
  return sum;
}

}  // namespace veldt::cpu
