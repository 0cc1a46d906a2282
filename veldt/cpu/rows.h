// The row kernels of one unary op, and of one binary op, as the SIMD targets hand them to the dispatcher.
#pragma once

#include <cstdint>

#include "veldt/core/backend.h"

namespace veldt::cpu {

using UnaryForward = void (*)(Scalars, const void* x, void* y, std::int64_t n);
using UnarySlope = void (*)(Scalars, const void* x, const void* y, const void* g, void* out, std::int64_t n);

struct UnaryRows {
  UnaryForward forward_f32, forward_f64;
  UnarySlope slope_f32, slope_f64;
};

using BinaryRow = void (*)(const void* a, const void* b, void* out, std::int64_t n);

struct BinaryRows {
  BinaryRow f32, f64;
};

}  // namespace veldt::cpu
