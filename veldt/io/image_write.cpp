// The writing half of image.h: converts floats to the rows of bytes that an encoder takes.
#include "veldt/io/image.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/image_codec.h"
#include "veldt/io/pixels.h"

namespace veldt::io {
namespace {

constexpr std::int64_t kMaxWrittenSide = 0x7fffffff;  // PNG's limit; the others' are lower

void check_options(ImageFormat format, const ImageLayout& layout, const WriteOptions& options) {
  if (layout.width < 1 || layout.height < 1 || layout.width > kMaxWrittenSide ||
      layout.height > kMaxWrittenSide)
    throw ShapeError(str("cannot write a ", format, " of ", layout.width, " x ", layout.height),
                     "each side must be 1 to 2^31 - 1", "give a picture with pixels in it");
  if (layout.channels < 1 || layout.channels > 4)
    throw ShapeError(str("cannot write a ", format, " of ", layout.channels, " channels"),
                     "there may be 1 to 4", "give grey, grey and alpha, rgb, or rgb and alpha");
  if (format != ImageFormat::png && options.bits != 8)
    throw ConfigError(str("cannot write a ", format, " of ", options.bits, " bits"), "it has 8 bits a sample",
                      "write a PNG, or leave out bits");
  if (options.quality < 0 || options.quality > 100)
    throw ConfigError(str("cannot write a ", format, " of quality ", options.quality),
                      "quality is 1 to 100, and 0 lets Veldt choose", "choose one of these");
  codec_of(format).check(layout, options);
}

// Packs a row of `count` samples. Returns the index of the first NaN, or -1.
std::int64_t pack(const float* values, std::int64_t count, int bits, unsigned char* out) {
  const float levels = static_cast<float>((1 << bits) - 1);
  if (bits == 1) std::fill_n(out, (count + 7) / 8, static_cast<unsigned char>(0));
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isnan(values[i])) return i;
    const unsigned level = level_of(values[i], levels);
    if (bits == 1) {
      out[i / 8] = static_cast<unsigned char>(out[i / 8] | (level << (7 - i % 8)));
    } else if (bits == 8) {
      out[i] = static_cast<unsigned char>(level);
    } else {
      out[2 * i] = static_cast<unsigned char>(level >> 8);
      out[2 * i + 1] = static_cast<unsigned char>(level & 255);
    }
  }
  return -1;
}

}  // namespace

ImageFormat format_for_name(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string::npos || dot == 0) return ImageFormat::png;
  // Who opens it expects to see something move.
  if (ending_of(name) == ".apng")
    throw ConfigError("cannot write a picture as " + path, "an .apng is animated, and this is one picture",
                      "let the name end in .png");
  if (ending_of(name) == ".vp")
    throw ConfigError("cannot write a picture as " + path, "a .vp is packed, which takes learning",
                      "let the name end in .png, and make a .vp of it with veldt pack");
  const PictureCodec* codec = codec_for_name(name);
  if (codec != nullptr && codec->encode != nullptr) return codec->format;
  throw ConfigError("cannot write a picture as " + path,
                    str("Veldt cannot write pictures whose name ends in ", name.substr(dot)),
                    "let the name end in .png, .jpg or .webp");
}

struct ImageWriter::State {
  explicit State(const std::string& path) : file(path) {}

  AtomicFile file;
  std::unique_ptr<ImageEncoder> encoder;
  ImageLayout layout;
  std::int64_t row = 0;
  int bits = 0;
  std::vector<unsigned char> bytes;  // of one row
};

void ImageWriter::check(const std::string& path, Size size, std::int64_t channels,
                        const WriteOptions& options) {
  check_options(format_for_name(path), {.width = size.width, .height = size.height, .channels = channels},
                options);
}

ImageWriter::ImageWriter(const std::string& path, Size size, std::int64_t channels,
                         const WriteOptions& options) {
  const ImageFormat format = format_for_name(path);
  const ImageLayout layout{.width = size.width, .height = size.height, .channels = channels};
  check_options(format, layout, options);
  state_ = std::make_unique<State>(path);
  state_->encoder = codec_of(format).encode(state_->file, layout, options);
  state_->layout = layout;
  state_->bits = options.bits;
  state_->bytes.resize(static_cast<std::size_t>((size.width * channels * options.bits + 7) / 8));
}

ImageWriter::~ImageWriter() = default;

void ImageWriter::write_rows(const float* rows, std::int64_t count) {
  State& s = *state_;
  if (count > s.layout.height - s.row)
    throw ShapeError(str("cannot write ", count, " more rows"),
                     str(s.row, " of ", s.layout.height, " are written"),
                     "give as many rows as the picture's height");
  const std::int64_t samples = s.layout.width * s.layout.channels;
  for (std::int64_t i = 0; i < count; ++i, rows += samples) {
    const std::int64_t bad = pack(rows, samples, s.bits, s.bytes.data());
    if (bad >= 0) throw nan_in_picture(bad / s.layout.channels, s.row);
    s.encoder->write_row(s.bytes.data());
    ++s.row;
  }
}

void ImageWriter::finish() {
  State& s = *state_;
  if (s.row != s.layout.height)
    throw ShapeError("cannot finish a picture early",
                     str(s.row, " of ", s.layout.height, " rows are written"), "write the other rows first");
  s.encoder->finish();
  s.file.commit();
}

void write_image(const std::string& path, const Tensor& image, const WriteOptions& options) {
  const Pixels pixels = host_pixels(image);
  ImageWriter writer(path, {pixels.width, pixels.height}, pixels.channels, options);
  writer.write_rows(pixels.values, pixels.height);
  writer.finish();
}

}  // namespace veldt::io
