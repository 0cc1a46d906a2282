// Matrix products of bf16 numbers summed in f32, by AMX tiles or by AVX-512's VDPBF16PS. Intrinsics,
// because Highway 1.0.3 supports neither; the steps between the products are in mlp_bf16_finish.h.
//
// A matrix [rows][columns] is stored in panels of kBlock columns, in one of these orders:
//   rows     [panel][row][kBlock]: the left side of a product
//   pairs    [panel][row / 2][kBlock][2]: the right side of a product over its rows
//   columns  [panel][column][rows]: the left side of a product over its rows, for AMX
// Tests: tests/ops/mlp_test.cpp, tests/cpu/mlp_bf16_finish_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace veldt::cpu {

using Bf16 = std::uint16_t;

struct Bf16Kernels {
  static constexpr std::int64_t kBlock = 32;

  // Whether the left side of outer() is in the order of columns, not of pairs.
  bool by_columns;
  // Around a thread's work.
  void (*begin)();
  void (*end)();
  // z [kBlock][stride], kBlock columns, = bias + a w: a in rows, `panels` panels of it, panel_stride numbers
  // apart; w the pairs of one panel over all columns of a.
  void (*product)(const Bf16* a, std::int64_t panel_stride, std::int64_t panels, const Bf16* w,
                  const float* bias, float* z, std::int64_t stride);
  // out [kBlock][kBlock] += d^T a over `rows` rows, a multiple of kBlock: one panel of d, in pairs or by
  // columns that are column_stride numbers apart, and one of a, in pairs.
  void (*outer)(const Bf16* d, std::int64_t column_stride, const Bf16* a, std::int64_t rows, float* out);
  // Rounds z [kBlock][stride] to nearest even, into the requested orders (the others null); `columns` with
  // `column_stride` numbers from column to column.
  void (*pack)(const float* z, std::int64_t stride, Bf16* rows, Bf16* pairs, Bf16* columns,
               std::int64_t column_stride);
};

// Null if the processor has neither.
const Bf16Kernels* bf16_kernels();

}  // namespace veldt::cpu
