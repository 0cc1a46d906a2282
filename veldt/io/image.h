// Pictures: eleven formats in, three out; pack/pack.h writes the eleventh.
// Tests: tests/io/image_read_test.cpp, tests/io/image_reader_test.cpp, tests/io/image_write_test.cpp,
// tests/io/picture_formats_test.cpp, tests/codecs/tiff_test.cpp, tests/codecs/avif_test.cpp,
// tests/codecs/heif_test.cpp, tests/codecs/jxl_test.cpp, tests/io/packed_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "veldt/core/size.h"
#include "veldt/tensor/tensor.h"

namespace veldt::io {

enum class ImageFormat : std::uint8_t { png, jpeg, webp, gif, bmp, pnm, tiff, avif, heif, jxl, packed };

const char* name_of(ImageFormat format);  // "PNG"
inline std::ostream& operator<<(std::ostream& out, ImageFormat format) { return out << name_of(format); }

// The same for help and errors.
inline constexpr const char* kPictureFormats =
    "PNG, JPEG, WebP, GIF, BMP, PNM, TIFF, AVIF, HEIC, JPEG XL or VP";
inline constexpr const char* kWrittenPictures = "PNG, JPEG or WebP";

// Whether this is the name of a picture that Veldt reads.
bool is_picture_name(const std::string& path);

struct ImageInfo {
  ImageFormat format = ImageFormat::png;
  std::int64_t width = 0;  // of the picture that read_image() returns
  std::int64_t height = 0;
  int channels = 0;   // 1 grey, 2 grey and alpha, 3 rgb, 4 rgb and alpha; a palette counts as its colours
  int bit_depth = 0;  // 1 to 16 bits per sample, as stored; for a palette those of its indices
  bool palette = false;
  bool interlaced = false;     // or a progressive JPEG
  std::int64_t pictures = 1;   // in the file: frames or pages, of which the first is read
  int other_channels = 0;      // neither colours nor alpha; they are not read
  bool other_profile = false;  // it has a colour profile that is not named sRGB
  bool by_rows = false;        // it can be read row by row, see ImageReader
};

// The parts that reading leaves out, as the end of a sentence that begins with the file's name: "has 12
// pictures; the first is taken". Empty if it leaves out nothing.
std::string left_out(const ImageInfo& info);

// The facts in the file's header; the pixels are not read. Throws IoError missing or malformed.
ImageInfo image_info(const std::string& path);

struct ReadOptions {
  // Larger pictures are refused before memory is allocated. A pixel counts as one if the result takes up to
  // four bytes for it, else as one per four bytes: as f32 each sample counts.
  std::int64_t max_pixels = std::int64_t{1} << 28;
  // Samples of 8 bits or fewer as u8, 255 for white: a quarter of the memory. Others are still f32, and so
  // are colours computed from inks and levels that are not multiples of 1/255.
  bool keep_bytes = false;
};

// The picture as f32 [height, width, channels], 0..1: 1 grey, 2 grey and alpha, 3 rgb, 4 rgb and alpha. The
// format is recognised by the first bytes, not by the name. An alpha that is opaque everywhere is dropped; a
// palette becomes colours, or grey if it holds only greys; CMYK becomes rgb, by (1 - ink)(1 - black). A JPEG
// is turned as its EXIF orientation asks. Samples are taken as they are stored: gAMA, sRGB, cHRM and ICC
// profiles are ignored on purpose, because the stored numbers are fitted and compared, and writing them back
// must give the same file. Every CRC is checked, and a warning of libjpeg is an error. Throws IoError
// missing, or malformed for anything except a complete picture of at most max_pixels.
Tensor read_image(const std::string& path, const ReadOptions& options = {});

struct Picture {
  Tensor image;
  ImageInfo info;
};

// The same, and the facts in the file's header.
Picture read_picture(const std::string& path, const ReadOptions& options = {});
// From the bytes of such a file; `name` is for messages.
Picture read_picture(std::span<const std::byte> bytes, const std::string& name,
                     const ReadOptions& options = {});

// The same picture row by row, within the memory of a few rows: a PNG that is not interlaced, a JPEG of one
// scan that is not turned, a PNM.
class ImageReader {
 public:
  // A picture with alpha is read once for that, because an alpha that is opaque everywhere is dropped. Throws
  // as read_picture(), and Error for a picture that is not info.by_rows.
  explicit ImageReader(const std::string& path, const ReadOptions& options = {});
  ~ImageReader();
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;

  const ImageInfo& info() const;
  std::int64_t height() const { return info().height; }
  std::int64_t width() const { return info().width; }
  std::int64_t channels() const;  // of the rows
  DType dtype() const;
  std::int64_t next_row() const;  // from 0; height() after the last
  // The next `count` rows, [count, width, channels]. Throws ShapeError beyond the last; IoError malformed,
  // with the last row at the latest, for what read_picture() refuses.
  Tensor read_rows(std::int64_t count);
  // Reads on without keeping them.
  void skip_rows(std::int64_t count);
  // Goes back to the first row, of the same file even if another one has its name by now.
  void rewind();

 private:
  struct State;
  void check(std::int64_t count) const;
  std::unique_ptr<State> state_;
};

struct WriteOptions {
  int bits = 8;          // for a PNG 1 (only grey: 0.5 and above is white), 8 or 16; for the others 8
  int compression = -1;  // for a PNG zlib's level, 0..9; -1: 6, or 2 beyond 2^24 samples (6: minutes)
  int quality = 0;       // for a JPEG or WebP 1..100; 0: 95 for a JPEG, lossless for a WebP
};

// The format that a file of this name is written in: .png .jpg .jpeg .webp, in any case. A name without an
// ending (/dev/stdout) is a PNG. Throws ConfigError for any other ending.
ImageFormat format_for_name(const std::string& path);

// Whether the format can hold alpha.
bool holds_alpha(ImageFormat format);

// Writes [height, width, channels] or [height, width], clamped to 0..1 and rounded half up, whole or not at
// all, in the format of its name. A JPEG has 1 or 3 channels; WebP has no grey, so grey is written as three
// equal channels. Throws ShapeError for another shape or an integer dtype, ConfigError for other options,
// Error for a NaN, IoError unwritable.
void write_image(const std::string& path, const Tensor& image, const WriteOptions& options = {});

// The bytes of a JPEG of u8 [height, width, channels], 1 or 3 channels, in a quality of 1 to 100. Throws
// ShapeError and ConfigError for others.
std::string jpeg_bytes(const Tensor& image, int quality);

// Writes a picture row by row: a PNG or JPEG of any height within the memory of a few rows, a WebP (at most
// 16383 x 16383) within four bytes a pixel.
class ImageWriter {
 public:
  // Throws as the constructor does, but creates no file.
  static void check(const std::string& path, Size size, std::int64_t channels,
                    const WriteOptions& options = {});

  ImageWriter(const std::string& path, Size size, std::int64_t channels, const WriteOptions& options = {});
  // Without finish() no file remains.
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
