// Reads the header, and lets the family decode.
#include "veldt/codec/unpack.h"

#include <algorithm>
#include <utility>

#include "veldt/codec/alpha.h"
#include "veldt/codec/coordinate_codec.h"
#include "veldt/codec/photograph.h"
#include "veldt/core/error.h"

namespace veldt::codec {
namespace {

// The first of three channels.
std::vector<std::uint8_t> first_channel(const std::vector<std::uint8_t>& rgb) {
  std::vector<std::uint8_t> grey(rgb.size() / 3);
  for (std::size_t i = 0; i < grey.size(); ++i) grey[i] = rgb[3 * i];
  return grey;
}

// Colours of one or three channels, and a level of alpha for each pixel after them.
std::vector<std::uint8_t> with_alpha(const std::vector<std::uint8_t>& colours,
                                     const std::vector<std::uint8_t>& alpha) {
  const std::size_t channels = colours.size() / alpha.size();
  std::vector<std::uint8_t> both;
  both.reserve(colours.size() + alpha.size());
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    for (std::size_t c = 0; c < channels; ++c) both.push_back(colours[i * channels + c]);
    both.push_back(alpha[i]);
  }
  return both;
}

// [height, width, channels], of which the part is left.
std::vector<std::uint8_t> part_of(std::vector<std::uint8_t> pixels, std::int64_t width, int channels,
                                  const Region& part) {
  const std::int64_t row = part.width() * channels;
  if (part.width() == width && row * part.height() == std::ssize(pixels)) return pixels;
  std::vector<std::uint8_t> some(static_cast<std::size_t>(row * part.height()));
  for (std::int64_t y = 0; y < part.height(); ++y)
    std::copy_n(pixels.begin() + ((y + part.y0) * width + part.x0) * channels, row, some.begin() + y * row);
  return some;
}

}  // namespace

CoordinatePicture read_drawing(const PackedHeader& header, const std::string& name) {
  if (header.size.width * header.size.height > kMostCoordinatePixels)
    throw IoError(IoError::Kind::malformed, "cannot read " + name,
                  str("it says that it is a drawing of ", header.size.width, " x ", header.size.height,
                      " pixels; those have at most ", kMostCoordinatePixels),
                  "pack the picture again, or fetch the file again");
  return read_coordinates(header.body, header.size, header.channels);
}

Unpacked unpack(std::string_view bytes, const std::string& name, const UnpackOptions& options) {
  const PackedHeader header = read_packed(bytes, name, options.max_pixels);
  const auto refuse = [&](const std::string& why, const std::string& fix) {
    return IoError(IoError::Kind::malformed, "cannot read " + name, why, fix);
  };
  if (!header.complete && !options.partial)
    throw refuse(
        "the file ends too early",
        header.family == Family::photograph
            ? "fetch the file again, or take what is there: veldt unpack --partial, or UnpackOptions::partial"
            : "fetch the file again");
  const Region whole{0, 0, header.size.width, header.size.height}, part = options.part.value_or(whole);
  if (part.x0 < 0 || part.y0 < 0 || part.x1 > whole.x1 || part.y1 > whole.y1 || part.width() < 1 ||
      part.height() < 1)
    throw ConfigError(
        str("cannot take columns ", part.x0, " to ", part.x1, " and rows ", part.y0, " to ", part.y1),
        str("the picture is ", whole.x1, " x ", whole.y1, " pixels"), "take a part that lies in it");
  Unpacked result;
  result.family = header.family;
  result.size = header.size;
  result.part = part;
  result.channels = header.channels;
  if (header.family == Family::photograph) {
    const bool alpha = header.channels % 2 == 0;
    const BodyWithAlpha body = alpha ? split_alpha(header.body, name) : BodyWithAlpha{{}, header.body};
    const PhotographReader reader(body.photograph, header.size, name, options.partial);
    result.share = reader.share();
    result.pixels = reader.pixels(part);
    if (header.channels < 3) result.pixels = first_channel(result.pixels);
    if (alpha) result.pixels = with_alpha(result.pixels, read_alpha(body.alpha, header.size, part, name));
    return result;
  }
  if (!header.complete)
    throw refuse("the file ends too early, and a drawing needs all of it", "fetch the file again");
  CoordinatePicture picture = read_drawing(header, name);
  result.pixels = part_of(std::move(picture.pixels), header.size.width, header.channels, part);
  return result;
}

}  // namespace veldt::codec
