// PNGs in memory, by libpng's simplified interface.
#include "veldt/io/png_bytes.h"

#include <png.h>

#include <array>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/pixels.h"

namespace veldt::io {

std::string png_bytes(std::span<const std::uint8_t> pixels, Size size, int channels) {
  constexpr std::array<png_uint_32, 4> kFormats{PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                                PNG_FORMAT_RGBA};
  constexpr std::int64_t kMostSide = 65535;
  if (channels < 1 || channels > 4)
    throw ConfigError("cannot make a PNG", str("a PNG has 1 to 4 channels, not ", channels),
                      "give grey, grey and alpha, RGB or RGB and alpha");
  if (size.width < 1 || size.height < 1 || size.width > kMostSide || size.height > kMostSide)
    throw ConfigError(str("cannot make a PNG of ", size.width, 'x', size.height),
                      str("its sides are 1 to ", kMostSide, " pixels"), "give another size");
  if (std::ssize(pixels) != size.width * size.height * channels)
    throw ShapeError("cannot make a PNG",
                     str(pixels.size(), " bytes are not ", size.height, 'x', size.width, 'x', channels),
                     "give a byte for each pixel and channel");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(size.width);
  image.height = static_cast<png_uint_32>(size.height);
  image.format = kFormats[static_cast<std::size_t>(channels) - 1];
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string png(bytes, '\0');
  if (png_image_write_to_memory(&image, png.data(), &bytes, 0, pixels.data(), 0, nullptr) == 0)
    throw Error("cannot make a PNG", static_cast<const char*>(image.message),
                "report this as a bug of Veldt");
  png.resize(bytes);
  return png;
}

std::string png_bytes(const Tensor& levels) {
  const Pixels source = host_pixels(levels);
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(levels.numel()));
  for (std::int64_t i = 0; i < levels.numel(); ++i) {
    if (std::isnan(source.values[i])) {
      const std::int64_t pixel = i / source.channels;
      throw nan_in_picture(pixel % source.width, pixel / source.width);
    }
    pixels.push_back(static_cast<std::uint8_t>(level_of(source.values[i], 255)));
  }
  return png_bytes(pixels, {source.width, source.height}, static_cast<int>(source.channels));
}

}  // namespace veldt::io
