// The loss of a tile of a fused stack of layers, and its gradient.
// Tests: tests/ops/mlp_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/mlp.h"

namespace veldt::cpu {

// Outputs [rows, columns] in groups of `group` rows that share a target, targets [rows / group, columns],
// `weight` [rows / group] or null. Writes d loss / d output, times `scale`, to dy, and returns the sum of the
// loss (without the scale).
double mlp_loss(const MlpLoss& loss, const float* out, std::int64_t rows, std::int64_t columns,
                std::int64_t group, const float* target, const float* weight, float scale, float* dy);

}  // namespace veldt::cpu
