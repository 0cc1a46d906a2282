// Pictures of a few colours as a few hundred bytes: drawings, icons, signs. Exact, pixel by pixel from what
// is known before it (coordinate_models.h).
// Tests: tests/codec/coordinate_codec_test.cpp, tests/fuzz/packed.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/core/function_ref.h"
#include "veldt/core/size.h"

namespace veldt::codec {

// Larger pictures are for the other family.
inline constexpr std::int64_t kMostCoordinatePixels = std::int64_t{1} << 22;

// A colour: a level for each channel. Two of them, or none.
using Tones = std::vector<std::vector<std::uint8_t>>;

// What is in a body.
struct CoordinatePicture {
  std::vector<std::uint8_t> pixels;  // [height, width, channels]
  Size size;
  std::int64_t channels = 0;
  Tones tones;  // the colours of 0 and 1 where there are only two
};

// Decodes any bytes to some picture of this size, or throws IoError malformed; ConfigError for a size that
// drawing_of() refuses. The same bytes are the same pixels on every machine.
CoordinatePicture read_coordinates(std::string_view body, Size size, std::int64_t channels);

// A picture as it is written.
struct Drawing {
  // [height, width, channels]; of two tones 0 and 1, [height, width].
  std::vector<std::uint8_t> numbers;
  Size size;
  std::int64_t channels = 0;
  Tones tones;  // none: there are more colours

  bool has_two_tones() const { return !tones.empty(); }
};

// Of levels [height, width, channels], 1 to 4 channels. Throws ConfigError for another number of channels,
// and for more than kMostCoordinatePixels.
Drawing drawing_of(std::span<const std::uint8_t> levels, Size size, std::int64_t channels);

// The pixels as a body. `heard` gets the share that is done; what it throws ends the work.
std::string write_exactly(
    const Drawing& drawing, FunctionRef<void(double)> heard = [](double) {});

}  // namespace veldt::codec
