// The numbers of the networks as few bytes: what a packed photograph changes of the networks that come
// with Veldt.
// Tests: tests/codec/networks_test.cpp
#pragma once

#include <array>
#include <cstdint>

#include "veldt/codec/networks.h"
#include "veldt/codec/range_coder.h"

namespace veldt::codec {

// The numbers of a group change in steps of 2^shift.
using Shifts = std::array<int, kGroups>;
inline constexpr int kMostShift = 15;

// What decode_networks() makes of encode_networks(): `base`, changed to the nearest multiple of the steps.
Networks<std::int32_t> rounded(const Networks<std::int32_t>& base, const Networks<std::int32_t>& networks,
                               const Shifts& shifts);
// `networks` must be rounded(). A group that is not changed takes about a bit.
void encode_networks(RangeEncoder& out, const Networks<std::int32_t>& base,
                     const Networks<std::int32_t>& networks, const Shifts& shifts);
Networks<std::int32_t> decode_networks(RangeDecoder& in, const Networks<std::int32_t>& base);

}  // namespace veldt::codec
