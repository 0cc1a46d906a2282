// A picture as the body of a packed drawing: exact, or as close as a number of bytes allows.
// Tests: tests/pack/pack_drawing_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veldt/codec/coordinate_codec.h"
#include "veldt/core/function_ref.h"
#include "veldt/tensor/tensor.h"

namespace veldt::pack {

struct DrawingOptions {
  // None: exact. Else a network alone that takes at most so many bytes.
  std::optional<std::int64_t> max_bytes = {};
  std::int64_t steps = 2000;  // of the training of a network
  std::uint64_t seed = 7;
};

// The body of the file: its size and channels are not in it. `picture` is u8 [height, width, channels], 1 to
// 4 channels. `heard` gets the share that is done, and returns false to stop learning; exact pixels are
// written to their end. Throws ShapeError for another tensor, ConfigError for more than
// codec::kMostCoordinatePixels, and for fewer bytes than any network takes.
std::string pack_drawing(
    const Tensor& picture, const DrawingOptions& options = {},
    FunctionRef<bool(double)> heard = [](double) { return true; });

}  // namespace veldt::pack
