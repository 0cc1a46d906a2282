// Converts every stored number type to one for computing, and back: shared by copies and staged half floats.
// Everything is constexpr, so that CUDA kernels can call it.
// Tests: tests/kernels/convert_test.cpp
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "veldt/core/dtype.h"

namespace veldt::scalar {

struct BFloat16 {
  std::uint16_t bits;
};

// IEEE 754 binary16. Not the compiler's _Float16, which clang has only since 15 and x86 converts by a
// library.
struct Float16 {
  std::uint16_t bits;
};

template <class T> constexpr T load(T x) { return x; }
constexpr float load(BFloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
constexpr float load(Float16 x) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(x.bits & 0x7fff) << 13;
  // The exponents' biases differ by 112; the product is exact, and makes small numbers normal.
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const std::uint32_t quiet = magnitude > 0x0f800000u ? 0x400000u : 0;
  const std::uint32_t wide = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u | quiet : finite;
  return std::bit_cast<float>(wide | static_cast<std::uint32_t>(x.bits & 0x8000) << 16);
}

// Rounded to nearest even.
constexpr Float16 half_of(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fffffffu;
  // Above 2^-14: drops 13 bits. Below, all halves are multiples of 2^-24, the spacing of floats near 0.5.
  const std::uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // 65,520 and more
  half = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : half;
  return {static_cast<std::uint16_t>(half | (bits >> 16 & 0x8000u))};
}

// x as a float before conversion to a narrower type: rounded to odd, so that rounding the result to nearest
// even is the same as rounding x itself once (Boldo & Melquiond 2005). Without branches, so that loops become
// SIMD.
template <class From> constexpr float narrowed(From x) {
  if constexpr (std::is_same_v<From, std::int64_t>) {
    constexpr std::int64_t kExact = std::int64_t{1} << 53;  // up to here a double holds every integer
    const std::int64_t low = x & 0x7ff;  // the bits that may not fit; the next bit says whether all were 0
    const std::int64_t odd = (x - low) | (low != 0 ? 0x800 : 0);
    return narrowed(static_cast<double>(-kExact < x && x < kExact ? x : odd));
  } else if constexpr (std::is_same_v<From, std::int32_t>) {
    constexpr std::int32_t kExact = 1 << 24;  // up to here a float does
    const std::int32_t low = x & 0x7f, odd = (x - low) | (low != 0 ? 0x80 : 0);
    return static_cast<float>(-kExact < x && x < kExact ? x : odd);
  } else if constexpr (std::is_same_v<From, double>) {
    const double exact = x;
    const float near = static_cast<float>(exact);
    const double back = static_cast<double>(near);
    const auto bits = std::bit_cast<std::uint32_t>(near);
    const auto rounded = static_cast<std::uint32_t>((back < exact) | (exact < back));  // 0 of NaN
    // Undoes a rounding away from 0.
    const auto away = static_cast<std::uint32_t>((exact < 0) & (back < exact)) |
                      static_cast<std::uint32_t>((exact > 0) & (back > exact));
    return std::bit_cast<float>((bits - away) | rounded);
  } else {
    return static_cast<float>(x);
  }
}

// x as a To, rounded once to nearest even. A float outside an integer type's range gives the nearest value,
// and NaN gives 0 (a plain cast would be undefined); integers wrap.
template <class To, class From> constexpr To store(From x) {
  if constexpr (std::is_same_v<To, BFloat16>) {
    const auto u = std::bit_cast<std::uint32_t>(narrowed(x));
    const std::uint32_t near = (u + 0x7fffu + (u >> 16 & 1u)) >> 16, quiet_nan = u >> 16 | 0x40u;
    return {static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? quiet_nan : near)};
  } else if constexpr (std::is_same_v<To, Float16>) {
    return half_of(narrowed(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Floats hold the bounds of u8 and i8, doubles those of i32. The largest i64 is not a double: `inside` is
    // the largest double that fits.
    using Number = std::conditional_t<sizeof(To) == 1, From, double>;
    constexpr Number low = static_cast<Number>(std::numeric_limits<To>::min());
    constexpr Number high = static_cast<Number>(std::numeric_limits<To>::max());
    constexpr Number inside = static_cast<Number>(sizeof(To) == 8 ? 0x1.fffffffffffffp62 : high);
    const Number number = x == x ? static_cast<Number>(x) : 0;
    const Number above = number < low ? low : number;
    const To whole = static_cast<To>(above < inside ? above : inside);
    return number >= high ? std::numeric_limits<To>::max() : whole;
  } else {
    return static_cast<To>(x);
  }
}

// Calls fn with a number of the type that stores `t`.
template <class Fn> void with_type(DType t, Fn fn) {
  switch (t) {
    case DType::f32: return fn(float());
    case DType::f64: return fn(double());
    case DType::bf16: return fn(BFloat16());
    case DType::f16: return fn(Float16());
    case DType::i64: return fn(std::int64_t());
    case DType::i32: return fn(std::int32_t());
    case DType::u8: return fn(std::uint8_t());
    case DType::i8: return fn(std::int8_t());
    case DType::boolean: return fn(bool());
  }
}

}  // namespace veldt::scalar
