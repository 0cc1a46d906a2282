// The inner loops of a reduction: one kept and one reduced dimension.
// Tests: tests/cpu/reduce_test.cpp, tests/cpu/gather_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/backend.h"
#include "veldt/kernels/convert.h"

namespace veldt::cpu {

struct ReduceTile {
  std::int64_t kept, kept_stride;        // the outputs
  std::int64_t reduced, reduced_stride;  // the inputs joined into each
};

// acc[j] = op(acc[j], x[j * kept_stride + l * reduced_stride] for each l), j < kept, l < reduced. In an order
// that only depends on the tile's sizes and strides. `norm` adds squares, only of floats.
void reduce_tile(ReduceOp op, const float* x, const ReduceTile& tile, double* acc);
void reduce_tile(ReduceOp op, const double* x, const ReduceTile& tile, double* acc);
void reduce_tile(ReduceOp op, const scalar::BFloat16* x, const ReduceTile& tile, double* acc);
void reduce_tile(ReduceOp op, const scalar::Float16* x, const ReduceTile& tile, double* acc);
void reduce_tile(ReduceOp op, const std::int64_t* x, const ReduceTile& tile, std::int64_t* acc);
void reduce_tile(ReduceOp op, const std::int32_t* x, const ReduceTile& tile, std::int64_t* acc);
void reduce_tile(ReduceOp op, const std::uint8_t* x, const ReduceTile& tile, std::int64_t* acc);
void reduce_tile(ReduceOp op, const std::int8_t* x, const ReduceTile& tile, std::int64_t* acc);
// Only max and min, which need no more memory than an element.
void reduce_tile(ReduceOp op, const std::uint8_t* x, const ReduceTile& tile, std::uint8_t* acc);
void reduce_tile(ReduceOp op, const std::int8_t* x, const ReduceTile& tile, std::int8_t* acc);

}  // namespace veldt::cpu
