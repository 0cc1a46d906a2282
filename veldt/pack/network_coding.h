// What a file holds of learned networks: changes from a base, each group of numbers in steps of its own.
// Tests: tests/pack/network_coding_test.cpp
#pragma once

#include <cstdint>

#include "veldt/codec/networks.h"
#include "veldt/codec/networks_code.h"
#include "veldt/pack/learner.h"

namespace veldt::pack {

struct CodedNetworks {
  codec::Networks<std::int32_t> networks;
  codec::Shifts shifts{};
  double bits = 0;  // of a file
};

// All changes from codec::base_networks(base) in steps of 2^shift.
CodedNetworks round_networks(int base, const codec::Networks<float>& learned, int shift);
// Each group in the coarsest steps that are worth it by learner.h's loss, with the latents rounded.
CodedNetworks code_networks(int base, const codec::Networks<float>& learned, Learner& learner, double lambda);

}  // namespace veldt::pack
