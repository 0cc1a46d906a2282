// Numbers of fewer bits than any dtype of Veldt has: how they lie in a file, and what a float becomes
// as one. Source: onnx/docs/technical/{float8,float4,int4}.md; OCP 8-bit Floating Point Specification
// 1.0.
// Tests: tests/onnx/narrow_test.cpp
#pragma once

#include <string_view>

#include "veldt/onnx/value.h"

namespace veldt::onnx {

// Of one number in a file: 2 to 64; booleans take 8. Throws Error for texts and complex numbers.
int bits_of(ElementType type);
// 2 for 4 bits, 4 for 2 bits, else 1.
int packed_in_a_byte(ElementType type);

// Numbers as they lie in a file (little endian, narrow ones from the low bits of each byte on). `bytes` must
// be just as many as the shape asks for.
Value from_packed(const Shape& shape, ElementType type, std::string_view bytes);

enum class Rounding : std::uint8_t { up, down, nearest };  // away from zero, towards it, ties away from it

// The number of a float8, float4 or float8e8m0 type that is nearest to x, ties to even; powers of two
// (float8e8m0) are rounded as `rounding` says. Beyond the largest one: the largest, if `saturate`, else
// infinity, or NaN in a type that has none.
float rounded_to(ElementType type, float x, bool saturate, Rounding rounding = Rounding::up);

}  // namespace veldt::onnx
