// Floats of 8 bits and of 4, which Veldt holds in f32. Source: OCP 8-bit Floating Point Specification
// 1.0, OCP Microscaling Formats 1.0, onnx/docs/technical/float8.md.
// Tests: tests/onnx/narrow_test.cpp, tests/io/file_dtype_test.cpp
#pragma once

#include <cstdint>

namespace veldt::io {

struct SmallFloat {
  // What stands for no number: all ones below the sign; -0 (there is none then); the largest exponent, as in
  // larger formats, with infinities; nothing.
  enum class Special : std::uint8_t { all_ones, minus_zero, infinities, none };
  int bits, mantissa, bias;
  float largest;
  Special special;
};

inline constexpr SmallFloat kE4m3fn{8, 3, 7, 448, SmallFloat::Special::all_ones};
inline constexpr SmallFloat kE4m3fnuz{8, 3, 8, 240, SmallFloat::Special::minus_zero};
inline constexpr SmallFloat kE5m2{8, 2, 15, 57344, SmallFloat::Special::infinities};
inline constexpr SmallFloat kE5m2fnuz{8, 2, 16, 57344, SmallFloat::Special::minus_zero};
inline constexpr SmallFloat kE2m1{4, 1, 1, 6, SmallFloat::Special::none};

// The number that `bits` stand for.
float value_of(const SmallFloat& format, unsigned bits);

}  // namespace veldt::io
