// Looks at exponents: all bits set mean an infinity or a NaN.
#include "veldt/core/finite.h"

#include <cstdint>
#include <cstring>

namespace veldt {
namespace {

// Whether a number has all of these exponent bits set, so that it is infinite or NaN.
template <class Bits> bool any_has(const void* numbers, std::int64_t count, Bits exponent) {
  constexpr std::int64_t kRun = 64;  // of a fixed length, so that it is vectorised
  const auto* at = static_cast<const unsigned char*>(numbers);
  for (; count >= kRun; count -= kRun, at += kRun * sizeof(Bits)) {
    Bits bits[kRun];
    std::memcpy(bits, at, sizeof bits);
    Bits found = 0;
    for (const Bits b : bits) found |= (b & exponent) == exponent;
    if (found) return true;
  }
  for (; count > 0; --count, at += sizeof(Bits)) {
    Bits b;
    std::memcpy(&b, at, sizeof b);
    if ((b & exponent) == exponent) return true;
  }
  return false;
}

}  // namespace

bool all_finite(const View& v) {
  const std::int64_t count = numel(v.shape);
  switch (v.dtype) {
    case DType::f32: return !any_has<std::uint32_t>(v.data, count, 0x7f800000);
    case DType::f64: return !any_has<std::uint64_t>(v.data, count, 0x7ff0000000000000);
    case DType::bf16: return !any_has<std::uint16_t>(v.data, count, 0x7f80);
    case DType::f16: return !any_has<std::uint16_t>(v.data, count, 0x7c00);
    default: return true;
  }
}

}  // namespace veldt
