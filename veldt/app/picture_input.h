// A picture from the command line: a PNG, or a pixel table whose name ends in .csv.
#pragma once

#include <cstdint>
#include <string>

#include "veldt/tensor/tensor.h"

namespace veldt::app {

// [height, width, channels] in 0..1. Throws IoError missing or malformed.
Tensor read_picture(const std::string& path, std::int64_t max_pixels);

}  // namespace veldt::app
