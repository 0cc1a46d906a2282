// The writing half of image.h: floats become a PNG's rows.
#include "veldt/io/image.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/pixels.h"
#include "veldt/io/png_errors.h"

namespace veldt::io {
namespace {

constexpr std::int64_t kMaxSide = 0x7fffffff;  // the format's own limit

void on_write(png_structp png, png_bytep from, std::size_t bytes) {
  bool written = false;
  try {
    static_cast<AtomicFile*>(png_get_io_ptr(png))->write(from, bytes);
    written = true;
  } catch (...) {
    static_cast<PngFailure*>(png_get_error_ptr(png))->thrown = std::current_exception();
  }
  if (!written) png_error(png, "writing failed");
}

void on_flush(png_structp) {}

void check_options(std::int64_t width, std::int64_t height, std::int64_t channels,
                   const WriteOptions& options) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    throw ShapeError(str("cannot write a PNG of ", width, " x ", height), "each side must be 1 to 2^31 - 1",
                     "give a picture with pixels in it");
  if (channels < 1 || channels > 4)
    throw ShapeError(str("cannot write a PNG of ", channels, " channels"), "there may be 1 to 4",
                     "give grey, grey and alpha, rgb, or rgb and alpha");
  if (options.bits != 8 && options.bits != 16 && !(options.bits == 1 && channels == 1))
    throw ConfigError(str("cannot write a PNG of ", options.bits, " bits and ", channels, " channels"),
                      "bits may be 8 or 16, or 1 for a single channel", "choose one of these");
  if (options.compression < -1 || options.compression > 9)
    throw ConfigError(str("cannot compress at level ", options.compression),
                      "zlib has levels 0 to 9, and -1 lets Veldt choose", "choose one of these");
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

struct ImageWriter::State {
  explicit State(const std::string& path) : file(path) {}
  ~State() { png_destroy_write_struct(&png, &info); }
  template <class Calls> void call(const Calls& calls) {
    if (guarded(png, calls)) return;
    if (failure.thrown) std::rethrow_exception(failure.thrown);
    throw Error("cannot encode a PNG", failure.message.data(), "report this as a bug of Veldt");
  }

  AtomicFile file;
  png_structp png = nullptr;
  png_infop info = nullptr;
  PngFailure failure;
  std::int64_t width = 0, height = 0, channels = 0, row = 0;
  int bits = 0;
  std::vector<unsigned char> bytes;  // of one row
};

ImageWriter::ImageWriter(const std::string& path, std::int64_t width, std::int64_t height,
                         std::int64_t channels, const WriteOptions& options) {
  check_options(width, height, channels, options);
  state_ = std::make_unique<State>(path);
  State& s = *state_;
  s.width = width;
  s.height = height;
  s.channels = channels;
  s.bits = options.bits;
  s.bytes.resize(static_cast<std::size_t>((width * channels * options.bits + 7) / 8));
  s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s.failure, on_png_error, ignore_png_warning);
  s.info = s.png != nullptr ? png_create_info_struct(s.png) : nullptr;
  if (s.info == nullptr)
    throw OutOfMemory("cannot write " + path, "no memory for libpng's state", "free some memory");
  // Twice the samples a second for a third more bytes.
  const bool big = width * channels > (std::int64_t{1} << 24) / height;
  const int level = options.compression >= 0 ? options.compression : big ? 2 : 6;
  constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  s.call([&s, type = kTypes[channels - 1], level] {
    png_set_write_fn(s.png, &s.file, on_write, on_flush);
    png_set_user_limits(s.png, kMaxSide, kMaxSide);
    png_set_compression_level(s.png, level);
    png_set_compression_buffer_size(s.png, std::size_t{1} << 16);
    // Trying all five filters on each row costs more time than it saves bytes.
    png_set_filter(s.png, PNG_FILTER_TYPE_BASE,
                   s.bits == 1 ? PNG_FILTER_NONE : PNG_FILTER_SUB | PNG_FILTER_UP);
    png_set_IHDR(s.png, s.info, static_cast<png_uint_32>(s.width), static_cast<png_uint_32>(s.height), s.bits,
                 type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(s.png, s.info);
  });
}

ImageWriter::~ImageWriter() = default;

void ImageWriter::write_rows(const float* rows, std::int64_t count) {
  State& s = *state_;
  if (count > s.height - s.row)
    throw ShapeError(str("cannot write ", count, " more rows"), str(s.row, " of ", s.height, " are written"),
                     "give as many rows as the picture is high");
  for (std::int64_t i = 0; i < count; ++i, rows += s.width * s.channels) {
    const std::int64_t bad = pack(rows, s.width * s.channels, s.bits, s.bytes.data());
    if (bad >= 0) throw nan_in_picture(bad / s.channels, s.row);
    s.call([&s] { png_write_row(s.png, s.bytes.data()); });
    ++s.row;
  }
}

void ImageWriter::finish() {
  State& s = *state_;
  if (s.row != s.height)
    throw ShapeError("cannot finish a picture early", str(s.row, " of ", s.height, " rows are written"),
                     "write the other rows first");
  s.call([&s] { png_write_end(s.png, nullptr); });
  s.file.commit();
}

void write_image(const std::string& path, const Tensor& image, const WriteOptions& options) {
  const Pixels pixels = host_pixels(image);
  ImageWriter writer(path, pixels.width, pixels.height, pixels.channels, options);
  writer.write_rows(pixels.values, pixels.height);
  writer.finish();
}

}  // namespace veldt::io
