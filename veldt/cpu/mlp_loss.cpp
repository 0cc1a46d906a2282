// Sums the loss of a tile's outputs, and writes the gradients with which the backward pass begins.
#include "veldt/cpu/mlp_loss.h"

#include "veldt/kernels/mlp_loss-inl.h"

namespace veldt::cpu {

double mlp_loss(const MlpLoss& loss, const float* out, std::int64_t rows, std::int64_t columns,
                std::int64_t group, const float* target, const float* weight, float scale, float* dy) {
  double sum = 0;
  for (std::int64_t first = 0; first < rows; first += group) {
    const std::int64_t m = first / group;
    const float w = weight ? weight[m] : 1;
    for (std::int64_t c = 0; c < columns; ++c) {
      float p = 0, slope = 0;
      for (std::int64_t i = 0; i < group; ++i)
        p += scalar::squashed(loss.squash, out[(first + i) * columns + c]);
      sum += w * scalar::error_of(loss.error, p / static_cast<float>(group), target[m * columns + c], slope);
      const float g = slope * w * scale / static_cast<float>(group);
      for (std::int64_t i = 0; i < group; ++i) {
        const std::int64_t at = (first + i) * columns + c;
        dy[at] = scalar::through_squash(loss.squash, out[at], g);
      }
    }
  }
  return sum;
}

}  // namespace veldt::cpu
