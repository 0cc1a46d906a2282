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

// Whether the last channel, of 2 or 4, is opaque everywhere.
bool is_opaque(const Tensor& image) {
  const std::int64_t channels = image.size(2);
  return by_sample(image, [&]<class Sample>(const Sample* samples, Sample opaque) {
    for (std::int64_t i = channels - 1; i < image.numel(); i += channels)
      if (samples[i] != opaque) return false;
    return true;
  });
}

// [h, w, 2 or 4] -> [h, w, 1 or 3]
Tensor without_alpha(const Tensor& image) {
  const std::int64_t channels = image.size(2), pixels = image.size(0) * image.size(1);
  const Tensor colours = empty({image.size(0), image.size(1), channels - 1}, image.dtype());
  by_sample(image, [&]<class Sample>(const Sample* from, Sample) {
    Sample* to = colours.data<Sample>();
    for (std::int64_t i = 0; i < pixels; ++i, from += channels) to = std::copy_n(from, channels - 1, to);
  });
  return colours;
}

Tensor drop_opaque_alpha(const Tensor& image) {
  return image.size(2) % 2 == 0 && is_opaque(image) ? without_alpha(image) : image;
}

Tensor as_levels(const Tensor& image) {
  if (image.dtype() != DType::u8) return image;
  const Tensor levels = empty(image.shape());
  const std::uint8_t* from = image.data<std::uint8_t>();
  float* to = levels.data<float>();
  for (std::int64_t i = 0; i < image.numel(); ++i) to[i] = static_cast<float>(from[i]) / 255.0f;
  return levels;
}

// Before memory is allocated.
void check_pixels(const ImageDecoder& decoder, const std::string& path, const ReadOptions& options) {
  const ImageInfo& info = decoder.info();
  const std::int64_t pixels = info.width * info.height;  // each side is below 2^31
  if (pixels > options.max_pixels)
    throw IoError(IoError::Kind::malformed, str(path, " is too large: ", info.width, " x ", info.height),
                  str("it has ", pixels, " pixels and ", options.max_pixels, " are allowed"),
                  "raise max_pixels if the picture is meant to be this large");
  const bool as_f32 = decoder.dtype() == DType::f32 || !options.keep_bytes;
  if (as_f32 && pixels > options.max_pixels / info.channels)
    throw IoError(
        IoError::Kind::malformed, str(path, " is too large: ", info.width, " x ", info.height),
        str("it has ", pixels, " pixels of ", info.channels, " samples, each of which takes 4 bytes, and ",
            options.max_pixels, " times 4 bytes are allowed"),
        str("raise max_pixels to ", pixels * info.channels, " if the picture is meant to be this large"));
}

Picture picture_in(InputFile& file, const ReadOptions& options) {
  const std::unique_ptr<ImageDecoder> decoder = decoder_for(file);
  check_pixels(*decoder, file.path(), options);
  const Tensor image = drop_opaque_alpha(decoder->read());
  return {options.keep_bytes ? image : as_levels(image), decoder->info()};
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

struct ImageReader::State {
  State(const std::string& path, const ReadOptions& wishes)
      : options(wishes),
        file(path),
        decoder(decoder_for(file)),
        info(decoder->info()),
        dtype(decoder->dtype()) {
    if (!info.by_rows)
      throw Error(str(path, " cannot be read row by row"),
                  "a PNG that is not interlaced, a JPEG of one scan that is not turned, and a PNM can",
                  "convert it to one of these, or read it whole");
    check_pixels(*decoder, path, options);
    decoder->begin_rows();
    channels = info.channels;
    if (channels % 2 == 0 && has_no_alpha()) --channels;
  }

  // Room for a row of the decoder's.
  Tensor stored() const { return empty({1, info.width, info.channels}, dtype); }

  bool has_no_alpha() {
    const Tensor row = stored();
    bool opaque = true;
    for (std::int64_t y = 0; y < info.height && opaque; ++y) {
      decoder->read_row(row_of(row, 0));
      opaque = io::is_opaque(row);
    }
    begin();
    return opaque;
  }

  void begin() {
    next = info.height;  // if this throws, there is nothing to read
    decoder.reset();
    file.seek(0);
    decoder = decoder_for(file);
    const ImageInfo& now = decoder->info();
    if (now.width != info.width || now.height != info.height || now.channels != info.channels ||
        now.by_rows != info.by_rows || decoder->dtype() != dtype)
      throw IoError(
          IoError::Kind::malformed, str(file.path(), " has changed while it was read"),
          str("it was of ", info.width, " x ", info.height, " and is of ", now.width, " x ", now.height),
          "leave it alone, and start again");
    decoder->begin_rows();
    next = 0;
  }

  Tensor rows(std::int64_t count) {
    const Tensor kept = empty({count, info.width, info.channels}, dtype);
    for (std::int64_t y = 0; y < count; ++y, ++next) decoder->read_row(row_of(kept, y));
    const Tensor image = channels < info.channels ? without_alpha(kept) : kept;
    return options.keep_bytes ? image : as_levels(image);
  }

  ReadOptions options;
  InputFile file;
  std::unique_ptr<ImageDecoder> decoder;
  ImageInfo info;
  DType dtype;  // of the decoder
  std::int64_t channels = 0, next = 0;
};

ImageReader::ImageReader(const std::string& path, const ReadOptions& options)
    : state_(std::make_unique<State>(path, options)) {}
ImageReader::~ImageReader() = default;
const ImageInfo& ImageReader::info() const { return state_->info; }
std::int64_t ImageReader::channels() const { return state_->channels; }
DType ImageReader::dtype() const { return state_->options.keep_bytes ? state_->dtype : DType::f32; }
std::int64_t ImageReader::next_row() const { return state_->next; }

void ImageReader::check(std::int64_t count) const {
  if (count < 0 || count > height() - next_row())
    throw ShapeError(str("cannot read ", count, " rows of ", state_->file.path()),
                     str("it has ", height(), ", of which ", next_row(), " were read"),
                     "read fewer, or rewind()");
}
void ImageReader::rewind() { state_->begin(); }

Tensor ImageReader::read_rows(std::int64_t count) {
  check(count);
  return state_->rows(count);
}

void ImageReader::skip_rows(std::int64_t count) {
  check(count);
  const Tensor row = state_->stored();
  for (; count > 0; --count, ++state_->next) state_->decoder->read_row(row_of(row, 0));
}

}  // namespace veldt::io
