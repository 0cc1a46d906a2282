// Teaches a network a picture so that both together take few bits: the weights are rounded to steps while
// they learn, and what they will cost counts in the loss.
// Tests: tests/pack/pack_drawing_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veldt/codec/coordinate_network.h"
#include "veldt/core/function_ref.h"
#include "veldt/core/size.h"

namespace veldt::pack {

struct CoordinateTraining {
  std::vector<std::int64_t> widths = {16, 16};  // of the hidden layers
  std::int64_t steps = 2000;
  std::uint64_t seed = 7;
};

// Of levels [height, width, channels] of 0 to 255; with two tones of 0 and 1. `heard` gets the share that is
// done, and returns false to stop: the network is then what it is. It computes in f32, so two machines may
// make different networks. Throws ConfigError for more or wider layers than a body can hold.
codec::CoordinateNetwork train_coordinates(std::span<const std::uint8_t> pixels, Size size,
                                           std::int64_t channels, bool two_tones,
                                           const CoordinateTraining& options,
                                           FunctionRef<bool(double)> heard);

}  // namespace veldt::pack
