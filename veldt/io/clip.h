// Animated pictures with all their frames: APNG and GIF in. animation.h writes APNG.
//   const io::Clip clip = io::read_clip("run.gif");  // clip.frames is u8 [frames, height, width, channels]
// Sources: Portable Network Graphics, third edition (W3C 2025); Graphics Interchange Format, version 89a.
// Tests: tests/io/clip_test.cpp, tests/fuzz/pictures.cpp
#pragma once

#include <string>

#include "veldt/io/clip_frames.h"
#include "veldt/io/image.h"

namespace veldt::io {

// Whether it is a PNG or GIF of more than one picture. Throws as image_info().
bool is_clip(const std::string& path);

// Every frame as it is shown: laid over the earlier ones as the file says, before which there is nothing
// (transparent). Samples of 16 bits are rounded to 8. A frame without a duration is shown for a tenth of a
// second, as in browsers. A picture of a PNG that is not part of its animation is left out.
// All pixels of all frames, four bytes each, count for max_pixels, and are compared with it before any are
// decoded; keep_bytes has no effect. Throws IoError missing; malformed for another format, for any damage in
// any frame, and beyond the limit.
Clip read_clip(const std::string& path, const ReadOptions& options = {});

}  // namespace veldt::io
