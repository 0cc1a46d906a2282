// The steps between two products of bf16 matrices: a block of f32 sums is activated, or scaled by slopes, and
// rounded into the orders that the next products read (mlp_bf16.h) while it is in registers.
// Tests: tests/cpu/mlp_bf16_finish_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/mlp.h"

namespace veldt::cpu {

struct Bf16Finish {
  // A block z of 32 x 32 sums, rows `stride` apart: f(z) to rows and, unless null, pairs; f'(z) to slope,
  // unless null, in the order of rows. Both to 7e-5, which is invisible after rounding.
  void (*activate)(const MlpLayer&, const float* z, std::int64_t stride, std::uint16_t* rows,
                   std::uint16_t* pairs, std::uint16_t* slope);
  // A block d *= slope (1 if that is null) to rows and pairs, or if pairs is null to rows and back to d;
  // sums[k] += column k.
  void (*scale)(float* d, std::int64_t stride, const std::uint16_t* slope, float* sums, std::uint16_t* rows,
                std::uint16_t* pairs);
};

// Null unless this was compiled for AVX-512; call it only if bf16_kernels() is not null.
const Bf16Finish* bf16_finish();

}  // namespace veldt::cpu
