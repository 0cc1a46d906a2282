// Teaches a network a picture so that both together take few bits: the weights are rounded to steps while
// they learn, and what they will cost counts in the loss.
// Tests: tests/codec/coordinate_codec_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veldt/codec/coordinate_network.h"
#include "veldt/core/function_ref.h"
#include "veldt/core/size.h"

namespace veldt::codec {

struct CoordinateTraining {
  std::vector<std::int64_t> widths = {16, 16};  // of the hidden layers
  // The steps of the weights, relative to those that suit most pictures.
  double coarseness = 1;
  // How much a bit of the weights counts, relative to one of the pixels.
  double rate = 1;
  std::int64_t steps = 2000;
  std::uint64_t seed = 7;
};

// Of levels [height, width, channels] of 0 to 255; with two tones of 0 and 1. `heard` gets the share that is
// done, and returns false to stop: the network is then what it is. It computes in f32, so two machines may
// make different networks. Throws ConfigError for more or wider layers than a body can hold.
CoordinateNetwork train_coordinates(std::span<const std::uint8_t> pixels, Size size, std::int64_t channels,
                                    bool two_tones, const CoordinateTraining& options,
                                    FunctionRef<bool(double)> heard);

// The weights of a layer as the angles, or outputs, that they stand for: f32 [out, in] and [out].
double worth_of_step(int step, bool first, bool last);

}  // namespace veldt::codec
