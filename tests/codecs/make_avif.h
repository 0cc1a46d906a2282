// Makes AVIFs with libavif, without loss, for the tests of reading.
#pragma once

#include <avif/avif.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/codecs/levels.h"

namespace veldt::test {

struct AvifSpec {
  int quarters = 0;  // turned to the left
  int mirror = -1;   // 0: top and bottom, 1: left and right
  bool multiplied = false;
  int frames = 1;
  int primaries = AVIF_COLOR_PRIMARIES_BT709;
  std::vector<std::uint32_t> crop = {};  // left, top, width and height
};

inline void must(avifResult result) {
  if (result != AVIF_RESULT_OK) throw std::runtime_error(avifResultToString(result));
}

template <class Mirror> void set_mirror_axis(Mirror& mirror, int axis) {
  if constexpr (requires { mirror.axis; })
    mirror.axis = static_cast<std::uint8_t>(axis);
  else
    mirror.mode = static_cast<std::uint8_t>(axis);
}

inline void put_sample(std::uint8_t* row, int index, int value, bool wide) {
  if (wide)
    reinterpret_cast<std::uint16_t*>(row)[index] = static_cast<std::uint16_t>(value);
  else
    row[index] = static_cast<std::uint8_t>(value);
}

// Green, blue and red as they are (the identity for a matrix), or grey; and alpha.
inline void fill_planes(avifImage& image, const Levels& levels) {
  const bool grey = levels.channels<3, wide = levels.bits> 8;
  for (int y = 0; y < levels.height; ++y)
    for (int x = 0; x < levels.width; ++x) {
      const int* pixel = levels.samples.data() + (y * levels.width + x) * levels.channels;
      constexpr int kPlanes[] = {2, 0, 1};
      for (int c = 0; c < (grey ? 1 : 3); ++c) {
        const int plane = grey ? 0 : kPlanes[c];
        put_sample(image.yuvPlanes[plane] + static_cast<std::uint32_t>(y) * image.yuvRowBytes[plane], x,
                   pixel[c], wide);
      }
      if (levels.channels % 2 == 0)
        put_sample(image.alphaPlane + static_cast<std::uint32_t>(y) * image.alphaRowBytes, x,
                   pixel[levels.channels - 1], wide);
    }
}

inline std::string make_avif(const AvifSpec& spec, const Levels& levels) {
  const bool grey = levels.channels < 3;
  const std::unique_ptr<avifImage, void (*)(avifImage*)> image(
      avifImageCreate(static_cast<std::uint32_t>(levels.width), static_cast<std::uint32_t>(levels.height),
                      static_cast<std::uint32_t>(levels.bits),
                      grey ? AVIF_PIXEL_FORMAT_YUV400 : AVIF_PIXEL_FORMAT_YUV444),
      avifImageDestroy);
  image->matrixCoefficients = grey ? AVIF_MATRIX_COEFFICIENTS_BT601 : AVIF_MATRIX_COEFFICIENTS_IDENTITY;
  image->colorPrimaries = static_cast<avifColorPrimaries>(spec.primaries);
  image->transferCharacteristics = AVIF_TRANSFER_CHARACTERISTICS_SRGB;
  image->yuvRange = AVIF_RANGE_FULL;
  must(avifImageAllocatePlanes(image.get(), levels.channels % 2 == 0 ? AVIF_PLANES_ALL : AVIF_PLANES_YUV));
  fill_planes(*image, levels);
  image->alphaPremultiplied = spec.multiplied ? AVIF_TRUE : AVIF_FALSE;
  if (spec.quarters > 0) {
    image->transformFlags |= AVIF_TRANSFORM_IROT;
    image->irot.angle = static_cast<std::uint8_t>(spec.quarters);
  }
  if (spec.mirror >= 0) {
    image->transformFlags |= AVIF_TRANSFORM_IMIR;
    set_mirror_axis(image->imir, spec.mirror);
  }
  if (!spec.crop.empty()) {
    // Its size, and how far its middle lies from the picture's: twice that, over 2.
    const auto offset = [](std::uint32_t first, std::uint32_t size, int whole) {
      return static_cast<std::uint32_t>(2 * static_cast<int>(first) + static_cast<int>(size) - whole);
    };
    image->transformFlags |= AVIF_TRANSFORM_CLAP;
    image->clap = {spec.crop[2],
                   1,
                   spec.crop[3],
                   1,
                   offset(spec.crop[0], spec.crop[2], levels.width),
                   2,
                   offset(spec.crop[1], spec.crop[3], levels.height),
                   2};
  }
  const std::unique_ptr<avifEncoder, void (*)(avifEncoder*)> encoder(avifEncoderCreate(), avifEncoderDestroy);
  encoder->speed = 10;
  encoder->minQuantizer = encoder->maxQuantizer = 0;
  encoder->minQuantizerAlpha = encoder->maxQuantizerAlpha = 0;
  for (int i = 0; i < spec.frames; ++i)
    must(avifEncoderAddImage(encoder.get(), image.get(), 1,
                             spec.frames == 1 ? AVIF_ADD_IMAGE_FLAG_SINGLE : AVIF_ADD_IMAGE_FLAG_NONE));
  avifRWData data = AVIF_DATA_EMPTY;
  must(avifEncoderFinish(encoder.get(), &data));
  std::string bytes(reinterpret_cast<const char*>(data.data), data.size);
  avifRWDataFree(&data);
  return bytes;
}

}  // namespace veldt::test
