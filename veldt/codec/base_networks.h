// The networks that come with Veldt, which packed photographs begin with: learned from other pictures. They
// belong to the format: a file holds only what differs. docs/packing.md tells how they were made.
// Tests: tests/codec/photograph_test.cpp
#pragma once

#include <cstdint>

#include "veldt/codec/networks.h"

namespace veldt::codec {

inline constexpr int kBaseNetworks = 5;
// `which` is below kBaseNetworks.
const Networks<std::int32_t>& base_networks(int which);

}  // namespace veldt::codec
