// Converts interleaved samples of a decoder to a picture of bytes or floats, and divides colours by their
// alpha.
#include "veldt/io/samples.h"

#include <algorithm>
#include <cstring>

#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

template <class Stored> Stored stored_at(const unsigned char* row, std::int64_t index) {
  Stored value;
  std::memcpy(&value, row + index * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}

}  // namespace

Tensor picture_from(const Interleaved& samples, int channels) {
  const bool wide = samples.bits > 8;
  const auto largest = static_cast<float>((1 << samples.bits) - 1);
  const Tensor image = empty({samples.height, samples.width, channels}, wide ? DType::f32 : DType::u8);
  // A grey picture takes the first of three channels, and the last one as its alpha.
  const int step = channels == 2 && samples.channels == 4 ? 3 : 1;
  by_sample(image, [&]<class Sample>(Sample* to, Sample) {
    for (std::int64_t y = 0; y < samples.height; ++y) {
      const unsigned char* row = samples.data + static_cast<std::size_t>(y) * samples.row_bytes;
      if (!wide && channels == samples.channels) {
        to = std::copy_n(row, samples.width * channels, to);
        continue;
      }
      for (std::int64_t x = 0; x < samples.width; ++x)
        for (int c = 0; c < channels; ++c) {
          const std::int64_t from = x * samples.channels + c * step;
          if constexpr (std::is_same_v<Sample, float>)
            *to++ = static_cast<float>(stored_at<std::uint16_t>(row, from)) / largest;
          else
            *to++ = row[from];
        }
    }
  });
  return image;
}

void unmultiply(const Tensor& image) {
  const std::int64_t channels = image.size(2), pixels = image.size(0) * image.size(1);
  by_sample(image, [&]<class Sample>(const Sample*, Sample opaque) {
    Sample* pixel = image.data<Sample>();
    for (std::int64_t i = 0; i < pixels; ++i, pixel += channels) {
      const Sample alpha = pixel[channels - 1];
      if (alpha == 0 || alpha == opaque) continue;
      for (std::int64_t c = 0; c + 1 < channels; ++c) {
        const auto part = static_cast<float>(pixel[c]) / static_cast<float>(alpha);
        const float value = std::min(part, 1.0f) * static_cast<float>(opaque);
        pixel[c] =
            std::is_integral_v<Sample> ? static_cast<Sample>(value + 0.5f) : static_cast<Sample>(value);
      }
    }
  });
}

}  // namespace veldt::io
