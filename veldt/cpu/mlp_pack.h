// Conversions between the tensors of a stack of layers and its kernels' panels.
// Tests: tests/ops/mlp_test.cpp
#pragma once

#include "veldt/core/view.h"
#include "veldt/cpu/mlp_layout.h"

namespace veldt::cpu {

// Every weight and bias of `arrays` into its place, over all threads.
void pack_weights(const MlpShape& shape, const View* arrays, const PackedWeights& to);

// Adds up the parts' gradients, and writes them to the arrays that need them.
void unpack_gradients(const MlpShape& shape, const MlpArea* areas, const View* arrays);

// `rows` rows of x [n, in] into the area, filled up with zeros to `padded` rows.
void pack_input(const MlpShape& shape, const float* x, std::int64_t rows, std::int64_t padded,
                const MlpArea& to);

}  // namespace veldt::cpu
