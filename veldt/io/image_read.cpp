// The reading half of image.h: finds the format's decoder, and checks the size before it reads.
#include "veldt/io/image.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/io/image_codec.h"
#include "veldt/io/magic.h"

namespace veldt::io {
namespace {

std::unique_ptr<ImageDecoder> decoder_for(InputFile& file) {
  std::string head(kMagicBytes, '\0');
  head.resize(file.read(head.data(), head.size()));
  file.seek(0);
  const PictureCodec* codec = codec_for_bytes(head);
  if (codec == nullptr)
    throw IoError(IoError::Kind::malformed, file.path() + " is not a picture that Veldt reads",
                  seems_to_be(head), str("convert the picture to ", kWrittenPictures, ", or check the path"));
  return codec->decode(file);
}

// Drops the last channel if it is opaque everywhere: [h, w, 2 or 4] -> [h, w, 1 or 3], or the same.
Tensor drop_opaque_alpha(const Tensor& image) {
  const std::int64_t channels = image.size(2), pixels = image.size(0) * image.size(1);
  if (channels % 2 != 0) return image;
  return by_sample(image, [&]<class Sample>(const Sample* from, Sample opaque) {
    for (std::int64_t i = 0; i < pixels; ++i)
      if (from[i * channels + channels - 1] != opaque) return image;
    const Tensor colours = empty({image.size(0), image.size(1), channels - 1}, image.dtype());
    Sample* to = colours.data<Sample>();
    for (std::int64_t i = 0; i < pixels; ++i, from += channels) to = std::copy_n(from, channels - 1, to);
    return colours;
  });
}

Tensor as_levels(const Tensor& image) {
  if (image.dtype() != DType::u8) return image;
  const Tensor levels = empty(image.shape());
  const std::uint8_t* from = image.data<std::uint8_t>();
  float* to = levels.data<float>();
  for (std::int64_t i = 0; i < image.numel(); ++i) to[i] = static_cast<float>(from[i]) / 255.0f;
  return levels;
}

Picture picture_in(InputFile& file, const ReadOptions& options) {
  const std::string& path = file.path();
  const std::unique_ptr<ImageDecoder> decoder = decoder_for(file);
  const ImageInfo& info = decoder->info();
  const std::int64_t pixels = info.width * info.height;  // each side is below 2^31
  if (pixels > options.max_pixels)
    throw IoError(IoError::Kind::malformed, str(path, " is too large: ", info.width, " x ", info.height),
                  str("it has ", pixels, " pixels and ", options.max_pixels, " are allowed"),
                  "raise max_pixels if the picture is meant to be this large");
  const bool as_f32 = decoder->dtype() == DType::f32 || !options.keep_bytes;
  if (as_f32 && pixels > options.max_pixels / info.channels)
    throw IoError(
        IoError::Kind::malformed, str(path, " is too large: ", info.width, " x ", info.height),
        str("it has ", pixels, " pixels of ", info.channels, " samples, each of which takes 4 bytes, and ",
            options.max_pixels, " times 4 bytes are allowed"),
        str("raise max_pixels to ", pixels * info.channels, " if the picture is meant to be this large"));
  const Tensor image = drop_opaque_alpha(decoder->read());
  return {options.keep_bytes ? image : as_levels(image), info};
}

}  // namespace

ImageInfo image_info(const std::string& path) {
  InputFile file(path);
  return decoder_for(file)->info();
}

Picture read_picture(const std::string& path, const ReadOptions& options) {
  InputFile file(path);
  return picture_in(file, options);
}

Picture read_picture(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options) {
  InputFile file(bytes, name);
  return picture_in(file, options);
}

Tensor read_image(const std::string& path, const ReadOptions& options) {
  return read_picture(path, options).image;
}

}  // namespace veldt::io
