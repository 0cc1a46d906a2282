// Tries the exact pixels where that takes a moment.
#include "veldt/pack/pack.h"

#include <limits>
#include <set>
#include <vector>

#include "veldt/codec/coordinate_codec.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::pack {
namespace {

constexpr std::int64_t kMostTriedPixels = std::int64_t{1} << 20, kAlwaysTriedPixels = std::int64_t{1} << 18;
constexpr std::size_t kFewColours = 256;

// Whether so few colours are in it that its exact pixels may be few bytes.
bool has_few_colours(const std::uint8_t* bytes, std::int64_t pixels, std::int64_t channels) {
  std::set<std::uint32_t> colours;
  for (std::int64_t i = 0; i < pixels; ++i) {
    std::uint32_t colour = 0;
    for (std::int64_t c = 0; c < channels; ++c) colour = colour << 8 | bytes[i * channels + c];
    if (colours.insert(colour).second && colours.size() > kFewColours) return false;
  }
  return true;
}

std::vector<std::uint8_t> three_channels(const std::uint8_t* bytes, std::int64_t pixels,
                                         std::int64_t channels) {
  if (channels == 3) return {bytes, bytes + 3 * pixels};
  std::vector<std::uint8_t> rgb;
  for (std::int64_t i = 0; i < pixels; ++i) rgb.insert(rgb.end(), 3, bytes[i]);
  return rgb;
}

}  // namespace

Packed pack(const Tensor& picture, const PackOptions& options, FunctionRef<bool(const PackProgress&)> heard) {
  if (picture.rank() != 3 || picture.dtype() != DType::u8 || picture.numel() == 0 || picture.size(2) > 4)
    throw ShapeError("cannot pack this tensor",
                     str("it is ", picture.dtype(), " ", picture.shape(), ", not u8 [height, width, 1 to 4]"),
                     "read the picture with keep_bytes");
  NoGrad off;
  const Tensor dense = contiguous(picture);
  const auto* bytes = dense.data<std::uint8_t>();
  const Size size{picture.size(1), picture.size(0)};
  const std::int64_t pixels = size.width * size.height, channels = picture.size(2);
  const bool alpha = channels % 2 == 0;
  const bool tries = options.wanted == Wanted::automatic &&
                     (pixels <= kAlwaysTriedPixels || (alpha && pixels <= codec::kMostCoordinatePixels) ||
                      (pixels <= kMostTriedPixels && has_few_colours(bytes, pixels, channels)));
  std::string exact;  // the body of a drawing
  if (options.wanted == Wanted::exact || tries)
    exact = codec::pack_coordinates(dense, {.network = codec::WithNetwork::never});
  const auto drawing = [&]() -> Packed {
    return {write_packed(codec::Family::drawing, size, static_cast<int>(channels), exact),
            codec::Family::drawing, std::numeric_limits<double>::infinity()};
  };
  const double most = options.photograph.bits_a_pixel * static_cast<double>(pixels) / 8;
  if (!exact.empty() &&
      (options.wanted == Wanted::exact || alpha || static_cast<double>(exact.size()) <= most))
    return drawing();
  if (alpha)
    throw ConfigError("cannot pack this picture as a photograph",
                      "it has alpha, and a packed photograph has none",
                      "lay it over a colour first, or pack it exactly");
  const PackedPhotograph photograph =
      pack_photograph(size, three_channels(bytes, pixels, channels), options.photograph, heard);
  if (!exact.empty() && exact.size() <= photograph.body.size()) return drawing();
  return {write_packed(codec::Family::photograph, size, static_cast<int>(channels), photograph.body),
          codec::Family::photograph, photograph.psnr};
}

}  // namespace veldt::pack
