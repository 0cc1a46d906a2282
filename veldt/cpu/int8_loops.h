// Inner loops over small integers that are no product of matrices of 8 bits.
// Tests: tests/cpu/quantized_test.cpp
#pragma once

#include <cstdint>

namespace veldt::cpu {

// c[j] = sum over t of x[t][j] w[t][j], w [taps, channels].
void depthwise_sums(const std::uint8_t* const* x, const std::int8_t* w, std::int64_t taps,
                    std::int64_t channels, std::int32_t* c);

// Rows of weights of 4 bits, whose groups of 32 have a scale each, and of 8 bits, which have one
// (core/entries.inc, multiply_narrow).
inline constexpr std::int64_t kNarrowGroup = 32;
// A row of k of them as numbers.
void decode_row(const std::uint8_t* w, const float* scale, std::int64_t k, float* to);
void decode_row(const std::int8_t* w, const float* scale, std::int64_t k, float* to);
// out[r * out_row] = x[r] times that row, for each r.
void narrow_dots(const float* x, std::int64_t x_row, std::int64_t rows, const std::uint8_t* w,
                 const float* scale, std::int64_t k, float* out, std::int64_t out_row);
void narrow_dots(const float* x, std::int64_t x_row, std::int64_t rows, const std::int8_t* w,
                 const float* scale, std::int64_t k, float* out, std::int64_t out_row);

}  // namespace veldt::cpu
