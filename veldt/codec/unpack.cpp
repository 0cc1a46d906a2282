// Reads the header, and lets the family decode.
#include "veldt/codec/unpack.h"

#include <algorithm>
#include <vector>

#include "veldt/codec/coordinate_codec.h"
#include "veldt/codec/photograph.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::codec {
namespace {

// The first `channels` of three.
Tensor bytes_tensor(const std::vector<std::uint8_t>& rgb, const Region& part, int channels) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(rgb.size() / 3 * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < rgb.size(); i += 3)
    bytes.insert(bytes.end(), rgb.begin() + static_cast<std::ptrdiff_t>(i),
                 rgb.begin() + static_cast<std::ptrdiff_t>(i) + channels);
  return Tensor::from<std::uint8_t>({part.height(), part.width(), channels}, bytes);
}

}  // namespace

Unpacked unpack(std::string_view bytes, const std::string& name, const UnpackOptions& options) {
  const PackedHeader header = read_packed(bytes, name, options.max_pixels);
  const auto refuse = [&](const std::string& why, const std::string& fix) {
    return IoError(IoError::Kind::malformed, "cannot read " + name, why, fix);
  };
  if (!header.complete && !options.partial)
    throw refuse("the file ends too early",
                 header.family == Family::photograph
                     ? "fetch the file again, or take what is there: --partial, or UnpackOptions::partial"
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
  if (header.family == Family::photograph) {
    if (header.channels != 1 && header.channels != 3)
      throw refuse(
          str("it says that it is a photograph of ", header.channels, " channels; those have 1 or 3"),
          "pack the picture again, or fetch the file again");
    const PhotographReader reader(header.body, header.size, name, options.partial);
    result.share = reader.share();
    result.pixels = bytes_tensor(reader.pixels(part), part, header.channels);
    return result;
  }
  if (!header.complete)
    throw refuse("the file ends too early, and a drawing needs all of it", "fetch the file again");
  if (header.size.width * header.size.height > kMostCoordinatePixels)
    throw refuse(str("it says that it is a drawing of ", header.size.width, " x ", header.size.height,
                     " pixels; those have at most ", kMostCoordinatePixels),
                 "pack the picture again, or fetch the file again");
  NoGrad off;
  const CoordinatePicture picture = read_coordinates(header.body, header.size, header.channels);
  result.is_exact = picture.is_exact;
  result.pixels = picture.pixels;
  if (part != whole) result.pixels = slice(slice(result.pixels, 0, part.y0, part.y1), 1, part.x0, part.x1);
  return result;
}

}  // namespace veldt::codec
