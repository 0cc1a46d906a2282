// Pictures of a few colours as a few hundred bytes: drawings, icons, signs. Exact, pixel by pixel from what
// is known before it (coordinate_models.h); or as close as a number of bytes allows, by a network of their
// coordinates alone (coordinate_network.h), which can also be one of the things that the exact pixels are
// guessed from.
// Tests: tests/codec/coordinate_codec_test.cpp, tests/fuzz/packed.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/codec/coordinate_network.h"
#include "veldt/core/function_ref.h"
#include "veldt/core/size.h"
#include "veldt/tensor/tensor.h"

namespace veldt::codec {

// Larger pictures are for the other family.
inline constexpr std::int64_t kMostCoordinatePixels = std::int64_t{1} << 22;

// Whether an exact body holds a network: if that makes it smaller, never, or in any case.
enum class WithNetwork : std::uint8_t { automatic, never, always };

struct CoordinateOptions {
  // None: exact. Else a network alone that takes at most so many bytes.
  std::optional<std::int64_t> max_bytes = {};
  WithNetwork network = WithNetwork::automatic;  // of an exact body
  std::int64_t steps = 2000;                     // of the training of a network
  std::uint64_t seed = 7;
};

// The body of the file: its size and channels are not in it. `picture` is u8 [height, width, channels], 1 to
// 4 channels. `heard` gets the share that is done. Throws ShapeError for another tensor, ConfigError for more
// than kMostCoordinatePixels, and for fewer bytes than any network takes.
std::string pack_coordinates(
    const Tensor& picture, const CoordinateOptions& options = {},
    FunctionRef<bool(double)> heard = [](double) { return true; });

// What is in a body.
struct CoordinatePicture {
  Tensor pixels;  // u8 [height, width, channels]
  bool is_exact = true;
  // The colours of 0 and 1 where there are only two: the network draws 0 below an output of 0, and 1 above.
  std::vector<std::vector<std::uint8_t>> tones;
  std::optional<CoordinateNetwork> network;
};

// Decodes any bytes to some picture of this size, or throws IoError malformed; ConfigError for a size that
// pack_coordinates() refuses. The same bytes are the same pixels on every machine.
CoordinatePicture read_coordinates(std::string_view body, Size size, std::int64_t channels);
// Its pixels.
Tensor unpack_coordinates(std::string_view body, Size size, std::int64_t channels);

}  // namespace veldt::codec
