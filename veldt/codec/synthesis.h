// Pixels from latents, in integers: what a packed photograph looks like is the same on every machine.
// Tests: tests/codec/synthesis_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/codec/colour_axes.h"
#include "veldt/codec/latents.h"
#include "veldt/codec/networks.h"

namespace veldt::codec {

// The region of `level` that the pixels of `pixels` are computed from; a region of the level below it if
// `level` is 1 or more, which is then `pixels`.
Region upsampling_needs(const Region& finer, Size level);
// The pixels beside which the two convolutions look.
Region synthesis_needs(const Region& pixels, Size picture);

// Bytes [height][width][3] of the region of the picture. The pyramid holds what synthesis_needs() and, level
// by level, upsampling_needs() ask for. Uses the threads of core/threads.h.
std::vector<std::uint8_t> synthesise(const Pyramid& pyramid, const Region& pixels,
                                     const Synthesis<std::int32_t>& network, const ColourAxes& axes);

}  // namespace veldt::codec
