// The half of `veldt compare` that is for animated pictures.
// Tests: tests/app/clip_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"

namespace veldt::app {

// True for a PNG or GIF of several frames, and for a model of one.
bool is_clip(const std::string& path);

// Prints how similar two clips are (each may be a model, which is drawn at the other's size and moments),
// frame by frame and together, and returns the PSNR of all in dB, infinite when they are the same. Throws
// UsageError if their sizes or numbers of frames differ; IoError as io::read_clip().
double compare_clips(const std::string& a, const std::string& b, std::int64_t max_pixels, Context& context);

}  // namespace veldt::app
