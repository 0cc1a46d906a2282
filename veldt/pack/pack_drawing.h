// A picture as the body of a packed drawing: exact.
// Tests: tests/pack/pack_drawing_test.cpp
#pragma once

#include <string>

#include "veldt/codec/coordinate_codec.h"
#include "veldt/core/function_ref.h"
#include "veldt/tensor/tensor.h"

namespace veldt::pack {

// The body of the file: its size and channels are not in it. `picture` is u8 [height, width, channels], 1 to
// 4 channels. `heard` gets the share that is done; what it throws ends the work. Throws ShapeError for
// another tensor, ConfigError for more than codec::kMostCoordinatePixels.
std::string pack_drawing(
    const Tensor& picture, FunctionRef<void(double)> heard = [](double) {});

}  // namespace veldt::pack
