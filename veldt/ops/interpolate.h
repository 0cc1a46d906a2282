// Resizes signals, pictures and volumes, as in torch.nn.functional.
// Tests: tests/support/op_rows_interpolate.cpp, tests/ops/interpolate_test.cpp, tests/ops/edges_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "veldt/ops/convolution.h"

namespace veldt {

// The element at a position or before it; the one whose centre is nearest; linear weights of the two nearest
// (in two dimensions torch's "bilinear"); the cubic through four of Keys 1981, with a = -0.75 ("bicubic").
enum class Interpolation : std::uint8_t { nearest, nearest_exact, linear, cubic };

struct InterpolateOptions {
  std::optional<PerDim> size = {};        // of the result; or
  std::vector<double> scale_factor = {};  // that times x's size, rounded down: one for all dimensions, or for
                                          // each. If that is x's size, nearest and linear change nothing.
  Interpolation mode = Interpolation::nearest;
  // Keeps the centres of the outermost elements in place, not the edges; only for linear and cubic.
  bool align_corners = false;
};

// x [n, channels, spatial ..] -> [n, channels, ..] with 1 to 3 spatial dimensions. nearest keeps any dtype,
// the others give floats; bf16 and f16 are computed as f32 and rounded once. Differentiable to any order.
// Throws ShapeError naming the shape, and ConfigError for options that are invalid for any shape.
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

}  // namespace veldt
