// Products of integers of 8 bits, by blocks of 32 columns, and the numbers around them.
// Tests: tests/cpu/quantized_test.cpp
#pragma once

#include <cstdint>

#include "veldt/cpu/affine8.h"

namespace veldt::cpu {

inline constexpr std::int64_t kInt8Block = 32;  // rows and columns of a block
inline constexpr std::int64_t kInt8Depth = 64;  // terms are multiples of it, filled up with weights of 0

// The product of up to 32 rows with up to 32 columns. One of both forms is there.
struct Int8Kernels {
  const char* name;
  std::int64_t step;     // `depth` below is a multiple of it
  std::int64_t columns;  // so many are computed at a time
  // Around products of a thread.
  void (*begin)();
  void (*end)();
  // c[r][j] = sum over k of a[r][k] w[j][k], exactly, for up to 32 rows of `a`, `a_row` bytes apart, and 32
  // columns; c: 32 rows of 32, of which those beyond `rows` may be written. panel: [depth / 4][32][4]. Reads
  // 32 rows of `a`, up to a multiple of kInt8Depth bytes each.
  void (*product)(const std::uint8_t* a, std::int64_t a_row, std::int64_t rows, std::int64_t depth,
                  const std::int8_t* panel, std::int32_t* c);
  // The same of terms of 16 bits, which have been bytes, for the first `columns` columns of 32, rounded up to
  // a multiple of the member of that name; of c it writes no others. panel: [2][panel_depth / 2][16][2].
  void (*wide_product)(const std::int16_t* a, std::int64_t a_row, std::int64_t rows, std::int64_t columns,
                       std::int64_t depth, const std::int16_t* panel, std::int64_t panel_depth,
                       std::int32_t* c);
};
inline constexpr std::int64_t kWideColumns = 16;  // of half a panel

// The best for sums of so many terms by the instruction set in use, or those that use_int8_kernels() has set.
const Int8Kernels& int8_kernels(std::int64_t terms);
// For tests and benchmarks, which do not run beside other calls; null: the best again.
void use_int8_kernels(const Int8Kernels* kernels);
// In intrinsics: null if the processor or the compiler lacks them.
const Int8Kernels* amx_int8_kernels();
const Int8Kernels* vnni_int8_kernels();
const Int8Kernels* avx_vnni_int8_kernels();  // of processors without AVX-512
const Int8Kernels& portable_int8_kernels();  // by pairs of 16 bits, of the instruction set in use
// Bytes as terms of 16 bits; may read and write up to a multiple of 32.
void widen_bytes(const std::uint8_t* from, std::int64_t n, std::int16_t* to);

// For numbers between the smallest and the largest of these, and 0: q of 0 .. 255.
Affine8 affine8_of(float low, float high);
// The smallest and the largest, which include 0.
void range_of_numbers(const float* x, std::int64_t n, float* low, float* high);
// to[i] = round(x[i] / scale + zero) within 0 .. 255; NaN: 0.
void to_bytes(const float* x, std::int64_t n, Affine8 as, std::uint8_t* to);

// Rows of sums, 32 apart.
struct Int8Rows {
  const std::int32_t* c;
  std::int64_t rows, columns;
  const Affine8* affine;  // of each row
};
// As numbers.
void finish_numbers(const Int8Rows& sums, const Int8Finish& f, float* to, std::int64_t to_row);
// The same as bytes, as to_bytes().
void finish_bytes(const Int8Rows& sums, const Int8Finish& f, Affine8 as, std::uint8_t* to,
                  std::int64_t to_row);

}  // namespace veldt::cpu
