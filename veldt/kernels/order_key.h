// Maps each element to an integer in the same order, so that sorting and finding extremes need only one
// kernel for all dtypes. Constexpr, so that CUDA kernels may call it.
// Tests: tests/ops/order_test.cpp, tests/cuda/lines_test.cpp
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "veldt/kernels/convert.h"

namespace veldt {

inline constexpr std::uint64_t kNanKey = ~std::uint64_t{0};

// The bits of an IEEE float type, and those of its infinity.
template <class T> struct FloatBits {};
template <> struct FloatBits<float> {
  using Bits = std::uint32_t;
  static constexpr Bits infinity = 0x7f800000;
};
template <> struct FloatBits<double> {
  using Bits = std::uint64_t;
  static constexpr Bits infinity = 0x7ff0000000000000;
};
template <> struct FloatBits<scalar::BFloat16> {
  using Bits = std::uint16_t;
  static constexpr Bits infinity = 0x7f80;
};
template <> struct FloatBits<scalar::Float16> {
  using Bits = std::uint16_t;
  static constexpr Bits infinity = 0x7c00;
};

// order_key(a) < order_key(b) if a < b; equal if a == b. A NaN is the largest, and no other float shares its
// key. All keys except a NaN's have as many bits as a T.
template <class T> constexpr std::uint64_t order_key(T x) {
  if constexpr (requires { FloatBits<T>::infinity; }) {
    using Bits = typename FloatBits<T>::Bits;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    const auto given = std::bit_cast<Bits>(x);
    const auto magnitude = static_cast<Bits>(given & ~kSign);
    const Bits bits = magnitude == 0 ? Bits{0} : given;  // both zeros are the same number
    // Inverts all bits of a negative number, and only the sign of others; without a branch, because signs are
    // random.
    const auto turned = static_cast<Bits>(Bits{0} - static_cast<Bits>(bits >> (8 * sizeof(T) - 1)));
    const auto key = static_cast<Bits>(bits ^ (turned | kSign));
    return magnitude > FloatBits<T>::infinity ? kNanKey : key;
  } else if constexpr (std::is_signed_v<T>) {
    constexpr auto kSign = std::uint64_t{1} << (8 * sizeof(T) - 1);
    return static_cast<std::make_unsigned_t<T>>(x) ^ kSign;
  } else {
    return x;
  }
}

// The same for a search of the largest (`largest`) or smallest element; a NaN is either.
template <class T> constexpr std::uint64_t rank_key(T x, bool largest) {
  const std::uint64_t key = order_key(x);
  const auto number = scalar::load(x);
  return largest || number != number ? key : ~key;
}

}  // namespace veldt
