// Bits to numbers.
#include "veldt/io/small_float.h"

#include <cmath>
#include <limits>

namespace veldt::io {

float value_of(const SmallFloat& format, unsigned bits) {
  using Special = SmallFloat::Special;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  const unsigned sign = 1U << (format.bits - 1), rest = bits & (sign - 1);
  const unsigned ones = (1U << format.mantissa) - 1, fraction = rest & ones;
  const auto signed_as_bits = [&](float value) { return (bits & sign) != 0 ? -value : value; };
  if (format.special == Special::minus_zero && bits == sign) return kNan;
  if (format.special == Special::all_ones && rest == sign - 1) return kNan;
  if (format.special == Special::infinities && rest >= sign - 1 - ones)
    return fraction == 0 ? signed_as_bits(kInf) : kNan;
  const auto exponent = static_cast<int>(rest >> format.mantissa);
  const auto whole = static_cast<float>(exponent == 0 ? fraction : fraction + ones + 1);
  return signed_as_bits(std::ldexp(whole, (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa));
}

}  // namespace veldt::io
