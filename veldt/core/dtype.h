// The number types a tensor may hold.
// Tests: tests/ops/dtype_test.cpp, tests/kernels/convert_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

namespace veldt {

// Integers from the widest to the narrowest; promote() relies on it.
enum class DType : std::uint8_t { f32, f64, bf16, f16, i64, i32, u8, i8, boolean };

constexpr std::size_t size_of(DType t) {
  switch (t) {
    case DType::f32: return 4;
    case DType::f64: return 8;
    case DType::bf16: return 2;
    case DType::f16: return 2;
    case DType::i64: return 8;
    case DType::i32: return 4;
    case DType::u8: return 1;
    case DType::i8: return 1;
    case DType::boolean: return 1;
  }
  return 0;
}

constexpr bool is_float(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::bf16 || t == DType::f16;
}

constexpr bool is_half(DType t) { return t == DType::bf16 || t == DType::f16; }

// The dtype that an op of an `a` and a `b` computes in, as torch.promote_types: for a float and an integer
// the float, for two floats or two integers the wider one, for bf16 and f16 f32. For u8 and i8, which neither
// holds, i32: PyTorch takes i16, which Veldt does not have.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_float(a)) return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
  if ((a == DType::u8 && b == DType::i8) || (a == DType::i8 && b == DType::u8)) return DType::i32;
  return a < b ? a : b;
}

constexpr std::string_view name_of(DType t) {
  switch (t) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::i64: return "i64";
    case DType::i32: return "i32";
    case DType::u8: return "u8";
    case DType::i8: return "i8";
    case DType::boolean: return "bool";
  }
  return "?";
}

inline std::ostream& operator<<(std::ostream& out, DType t) { return out << name_of(t); }

// The dtype that stores C++ type T: dtype_of<float> == DType::f32.
template <class T> inline constexpr DType dtype_of = DType::f32;
template <> inline constexpr DType dtype_of<double> = DType::f64;
template <> inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <> inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <> inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <> inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <> inline constexpr DType dtype_of<bool> = DType::boolean;

}  // namespace veldt
