// The numbers of a field in few bytes: rounded as far as its drawings allow, deflated, as text.
// Tests: tests/publish/page_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/publish/parts.h"

namespace veldt::publish {

// `count` numbers one after another: whole numbers of `bits` bits, times `step`; or f32 as they are, of 32.
struct Run {
  std::string name;  // of the tensor: "e0" of an encoding, "w0" and "b0" of a layer, "closing"
  std::int64_t count = 0;
  int bits = 32;
  double step = 1;
};

struct Packed {
  std::vector<Run> runs;  // those of one name follow each other
  // The bytes of all runs in planes (the lowest byte of each number, then the next ..), as one zlib stream
  // (RFC 1950) in base64.
  std::string text;
  Parts parts;           // with the rounded numbers
  double worst = 0;      // of the compared drawings: the largest share of pixels that differ by more than
                         // kLargestChange; of a sound the largest change of a sample, as a share of the peak
  std::string rounding;  // in words: "a grid of 5 to 8 bits"
};

// A change of a level that nobody can see, and the share of pixels that may change by more than that.
inline constexpr double kLargestChange = 0.8 / 255, kMostChanged = 5e-4;
// The same of a sound, as a share of its peak: a step of 16 bits.
inline constexpr double kLargestSoundChange = 1.0 / 32768;

// The coarsest rounding of those tried whose drawings (the whole and its busiest parts enlarged) are those of
// the field up to the limits above; if none is, nothing is rounded.
Packed packed(const field::Field& field);

std::string deflated(const std::string& bytes);

}  // namespace veldt::publish
