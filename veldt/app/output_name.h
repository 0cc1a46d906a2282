// Whether the name of an output fits what is written into it.
// Tests: tests/app/bad_input_test.cpp
#pragma once

#include <string>
#include <string_view>

#include "veldt/app/frame.h"

namespace veldt::app {

// What a verb writes, how such a file is named, and what veldt export makes of it.
struct WrittenFile {
  std::string_view what, ending, exported = "";
};
inline constexpr WrittenFile kModelFile{"a safetensors file", ".safetensors", " .onnx .html .h .glsl .svg "};
inline constexpr WrittenFile kPackedPicture{"a packed picture", ".vp", " .html "};
inline constexpr WrittenFile kPixelTable{"a pixel table", ".csv"};

// Call before the work starts: throws UsageError where programs take files of this name for another kind.
// Endings that nobody knows, and none (/dev/stdout), are no fault. `instead`: what else helps, "draw it with
// veldt render".
void check_ending(const std::string& output, const std::string& flag, const WrittenFile& written,
                  const std::string& instead = "");

}  // namespace veldt::app
