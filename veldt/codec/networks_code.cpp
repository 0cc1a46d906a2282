// Differences of a group follow a Laplace distribution around 0, whose scale goes before them.
#include "veldt/codec/networks_code.h"

#include <cmath>
#include <cstdlib>

#include "veldt/codec/laplace.h"

namespace veldt::codec {
namespace {

std::int32_t difference(std::int32_t from, std::int32_t to) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(to) - static_cast<std::uint32_t>(from));
}

std::int32_t sum(std::int32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + b);
}

}  // namespace

Networks<std::int32_t> rounded(const Networks<std::int32_t>& base, const Networks<std::int32_t>& networks,
                               const Shifts& shifts) {
  Networks<std::int32_t> result = base;
  for (std::size_t g = 0; g < kGroups; ++g)
    for (std::size_t i = groups()[g].first; i < groups()[g].first + groups()[g].count; ++i) {
      const double step = std::ldexp(1.0, shifts[g]);
      const double steps = std::nearbyint(difference(base.numbers()[i], networks.numbers()[i]) / step);
      result.numbers()[i] =
          sum(base.numbers()[i], static_cast<std::uint32_t>(static_cast<std::int64_t>(steps * step)));
    }
  return result;
}

void encode_networks(RangeEncoder& out, const Networks<std::int32_t>& base,
                     const Networks<std::int32_t>& networks, const Shifts& shifts) {
  for (std::size_t g = 0; g < kGroups; ++g) {
    const Group group = groups()[g];
    const auto steps = [&](std::size_t i) {
      return difference(base.numbers()[i], networks.numbers()[i]) / (1 << shifts[g]);
    };
    double size = 0;
    for (std::size_t i = group.first; i < group.first + group.count; ++i)
      size += std::abs(static_cast<double>(steps(i)));
    out.bits(size > 0 ? 1 : 0, 1);
    if (size == 0) continue;
    size /= static_cast<double>(group.count);
    const int scale =
        std::clamp(static_cast<int>(std::lround(8 * (std::log2(std::max(size, 0.02)) + 6))), 0, kScales - 1);
    out.bits(static_cast<std::uint32_t>(shifts[g]), 4);
    out.bits(static_cast<std::uint32_t>(scale), 7);
    for (std::size_t i = group.first; i < group.first + group.count; ++i) encode(out, {0, scale}, steps(i));
  }
}

Networks<std::int32_t> decode_networks(RangeDecoder& in, const Networks<std::int32_t>& base) {
  Networks<std::int32_t> networks = base;
  for (const Group& group : groups()) {
    if (in.bits(1) == 0) continue;
    const std::uint32_t shift = in.bits(4);
    const auto scale = static_cast<int>(in.bits(7));  // decode() takes any
    for (std::size_t i = group.first; i < group.first + group.count; ++i)
      networks.numbers()[i] =
          sum(base.numbers()[i], static_cast<std::uint32_t>(decode(in, {0, scale})) << shift);
  }
  return networks;
}

}  // namespace veldt::codec
