// A whole number for each element that is in the same order, so that sorting and finding extremes need one
// kernel for all dtypes.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "veldt/cuda/runtime.h"

namespace veldt::cuda {

#if defined(__CUDACC__) || defined(VELDT_GPU_EMULATION)
inline constexpr std::uint64_t kNanKey = ~std::uint64_t{0};

// order_key(a) < order_key(b) if a < b; equal if a == b. A NaN is the largest, and no other float shares its
// key.
template <class T> __device__ inline std::uint64_t order_key(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    if (x != x) return kNanKey;
    if (x == T(0)) x = T(0);  // both zeros are the same number
    Bits bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) ^ std::uint64_t{1} << 63;
  } else {
    return x;
  }
}
#endif

}  // namespace veldt::cuda
