// Writes PNG.
#include "veldt/io/image_codec.h"

#include <png.h>

#include <string>

#include "veldt/core/error.h"
#include "veldt/io/guarded.h"
#include "veldt/io/png_errors.h"

namespace veldt::io {
namespace {

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

class PngEncoder final : public ImageEncoder {
 public:
  PngEncoder(AtomicFile& file, const ImageLayout& layout, const WriteOptions& options) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure_, on_png_error, ignore_png_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    try {
      begin(file, layout, options);
    } catch (...) {
      png_destroy_write_struct(&png_, &info_);
      throw;
    }
  }
  ~PngEncoder() override { png_destroy_write_struct(&png_, &info_); }
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;

  void write_row(const unsigned char* row) override {
    call([png = png_, row] { png_write_row(png, row); });
  }
  void finish() override {
    call([png = png_] { png_write_end(png, nullptr); });
  }

 private:
  void begin(AtomicFile& file, const ImageLayout& layout, const WriteOptions& options);
  template <class Calls> void call(const Calls& calls) {
    if (guarded(png_jmpbuf(png_), calls)) return;
    if (failure_.thrown) std::rethrow_exception(failure_.thrown);
    const std::string why = failure_.message.data();
    if (why.find("memory") != std::string::npos)
      throw OutOfMemory("cannot encode a PNG", why, "close other programs, or draw a smaller picture");
    throw Error("cannot encode a PNG", why, "report this as a bug of Veldt");
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  PngFailure failure_;
};

void PngEncoder::begin(AtomicFile& file, const ImageLayout& layout, const WriteOptions& options) {
  if (info_ == nullptr)
    throw OutOfMemory("cannot write a PNG", "no memory for libpng's state", "free some memory");
  // Twice as fast, for a third more bytes.
  const bool big = layout.width * layout.channels > (std::int64_t{1} << 24) / layout.height;
  const int level = options.compression >= 0 ? options.compression : big ? 2 : 6;
  constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  const int type = kTypes[layout.channels - 1];
  call([png = png_, info = info_, to = &file, &layout, bits = options.bits, type, level] {
    constexpr png_uint_32 kMaxSide = 0x7fffffff;  // the format's own limit
    png_set_write_fn(png, to, on_write, on_flush);
    png_set_user_limits(png, kMaxSide, kMaxSide);
    png_set_compression_level(png, level);
    png_set_compression_buffer_size(png, std::size_t{1} << 16);
    // Trying all five filters on each row costs more time than it saves bytes.
    png_set_filter(png, PNG_FILTER_TYPE_BASE, bits == 1 ? PNG_FILTER_NONE : PNG_FILTER_SUB | PNG_FILTER_UP);
    png_set_IHDR(png, info, static_cast<png_uint_32>(layout.width), static_cast<png_uint_32>(layout.height),
                 bits, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
  });
}

}  // namespace

void check_png(const ImageLayout& layout, const WriteOptions& o) {
  if (o.bits != 8 && o.bits != 16 && !(o.bits == 1 && layout.channels == 1))
    throw ConfigError(str("cannot write a PNG of ", o.bits, " bits and ", layout.channels, " channels"),
                      "bits may be 8 or 16, or 1 for a single channel", "choose one of these");
  if (o.compression < -1 || o.compression > 9)
    throw ConfigError(str("cannot compress at level ", o.compression),
                      "zlib has levels 0 to 9, and -1 lets Veldt choose", "choose one of these");
  if (o.quality != 0)
    throw ConfigError("cannot write a PNG with a quality", "a PNG is lossless",
                      "leave out quality, or write a JPEG or WebP");
}

std::unique_ptr<ImageEncoder> encode_png(AtomicFile& file, const ImageLayout& layout, const WriteOptions& o) {
  return std::make_unique<PngEncoder>(file, layout, o);
}

}  // namespace veldt::io
