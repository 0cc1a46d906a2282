// Moves between memory of any strides and the dense rows that kernels take, compiled for each instruction
// set.
// Tests: tests/cpu/elementwise_test.cpp, tests/cpu/reduce_test.cpp
#pragma once

#include <cstdint>

namespace veldt::cpu {

struct Stage {
  // to[i * to_stride] = from[i * from_stride], of elements of 1, 2, 4 and 8 bytes.
  using Move = void (*)(const void* from, std::int64_t from_stride, void* to, std::int64_t to_stride,
                        std::int64_t n);
  // to[r * to_stride + c] = from[c * from_stride + r], for all r below `rows` and c below `columns`.
  using Turn = void (*)(const void* from, std::int64_t from_stride, void* to, std::int64_t to_stride,
                        std::int64_t rows, std::int64_t columns);
  using Convert = void (*)(const void* from, void* to, std::int64_t n);

  Move move[4];
  Turn turn[4];
  Convert widen_bf16, widen_f16, narrow_bf16, narrow_f16;  // dense halves to floats, and back
};

const Stage& stage();

// The index in `move` and `turn` for an element of that many bytes.
constexpr int stage_index(std::int64_t bytes) { return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3; }

}  // namespace veldt::cpu
