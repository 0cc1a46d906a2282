// The half of `veldt compare` that is for sounds.
// Tests: tests/app/sound_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"

namespace veldt::app {

// True for the file of a sound, and for a model of one.
bool is_sound(const std::string& path);

// Prints how similar two sounds are (each may be a model), and returns the SNR in dB: the power of a to that
// of b - a, infinite when they are the same. Writes b - a to `difference` unless that is empty. Throws
// UsageError if their lengths, rates or channels differ, or if one is not a sound; IoError as
// io::read_sound().
double compare_sounds(const std::string& a, const std::string& b, const std::string& difference,
                      std::int64_t max_samples, Context& context);

}  // namespace veldt::app
