// Pictures: PNG in and out, row by row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

struct ImageInfo {
  std::int64_t width = 0;
  std::int64_t height = 0;
  int channels = 0;   // 1 grey, 2 grey and alpha, 3 rgb, 4 rgb and alpha; a palette counts as its colours
  int bit_depth = 0;  // 1, 2, 4, 8 or 16 bits a sample, as stored
  bool palette = false;
  bool interlaced = false;
};

// What the file says of itself; the pixels are not read. Throws IoError missing or malformed.
ImageInfo image_info(const std::string& path);

struct ReadOptions {
  std::int64_t max_pixels = std::int64_t{1} << 28;  // refused before any memory is asked for
};

// The picture as f32 [height, width, channels], 0..1: 1 grey, 2 grey and alpha, 3 rgb, 4 rgb and alpha. An
// alpha that is opaque everywhere is dropped; a palette becomes colours, or grey if it holds only greys.
// Samples are taken as they are stored: gAMA, sRGB, cHRM and iCCP are ignored on purpose, because what is
// fitted and compared are the stored numbers, and writing them back must give the same file. Every chunk's
// CRC is checked. Throws IoError missing, or malformed for anything but a whole PNG of at most max_pixels.
Tensor read_image(const std::string& path, const ReadOptions& options = {});

struct WriteOptions {
  int bits = 8;          // 1 (grey alone: 0.5 and above is white), 8 or 16
  int compression = -1;  // zlib's level, 0..9; -1: 6, or 2 beyond 2^24 samples, where 6 would take minutes
};

// Writes [height, width, channels] or [height, width], clamped to 0..1 and rounded half up, whole or not at
// all. Throws ShapeError for another shape or an integer dtype, ConfigError for other options, Error for a
// NaN, IoError unwritable.
void write_image(const std::string& path, const Tensor& image, const WriteOptions& options = {});

// Writes a picture of any height within the memory of a few rows.
class ImageWriter {
 public:
  ImageWriter(const std::string& path, std::int64_t width, std::int64_t height, std::int64_t channels,
              const WriteOptions& options = {});
  // Without finish() nothing is left behind.
  ~ImageWriter();
  ImageWriter(const ImageWriter&) = delete;
  ImageWriter& operator=(const ImageWriter&) = delete;

  // The next `count` rows, from the top: count * width * channels values.
  void write_rows(const float* rows, std::int64_t count);
  // Makes the file durable and gives it its name. Throws Error if rows are missing.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veldt::io
