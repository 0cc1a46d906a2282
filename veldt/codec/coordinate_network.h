// A picture as a network of its coordinates whose numbers are all integers (SIREN, Sitzmann 2020): a sine is
// a table's, an angle wraps around with 32 bits, so that it draws the same on every machine.
// Tests: tests/codec/coordinate_network_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/codec/coordinate_mixing.h"
#include "veldt/codec/range_coder.h"
#include "veldt/core/size.h"

namespace veldt::codec {

inline constexpr int kMostHidden = 4;           // hidden layers
inline constexpr std::int64_t kMostWidth = 64;  // units of each
inline constexpr int kMostWeight = 2047;        // the largest weight, in steps
inline constexpr int kSteps = 80;               // step s is 2^(s/4)

// The angle, or the output, of a step of a weight whose input is 2^-12 (a coordinate's: 2^-16): 2^(step/4),
// rounded down, where 2^32 is a whole turn (of an output: 2^28 is 1).
std::uint32_t size_of_step(int step);
// The angle, in radians, or the output that a weight of one step stands for.
double worth_of_step(int step, bool first, bool last);

struct CoordinateLayer {
  std::int64_t in = 0, out = 0;
  int step = 0;
  // [out, in + 1]: those of the inputs, then the one of the constant 1.
  std::vector<std::int32_t> weights;
};

struct CoordinateNetwork {
  std::vector<CoordinateLayer> layers;

  std::int64_t channels() const { return layers.back().out; }
  std::int64_t products() const;  // for one place

  // At the place (x, y), in 2^-16 where the longer side of the picture spans -1..1: `channels` outputs, of
  // which -2^16 is a level of 0 and 2^16 a level of 255.
  void at(std::int32_t x, std::int32_t y, std::int32_t* outputs) const;
  // At the centres of all pixels, [height, width, channels]. Done by several threads.
  std::vector<std::int32_t> draw(Size size) const;
};

// The level of an output.
std::uint8_t level_of_output(std::int32_t output);

void encode(RangeEncoder& out, const CoordinateNetwork& network);
// Any bytes are some network, of at most kMostHidden layers of kMostWidth units.
CoordinateNetwork decode_network(RangeDecoder& in, std::int64_t channels);

}  // namespace veldt::codec
