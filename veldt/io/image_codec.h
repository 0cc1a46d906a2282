// The interface of picture formats to image.h: a decoder each, and an encoder if the format is written. Only
// for the files of io.
// Tests: tests/io/image_read_test.cpp, tests/io/picture_formats_test.cpp, tests/fuzz/pictures.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/io/file.h"
#include "veldt/io/image.h"

namespace veldt::io {

// Reads one picture. Its constructor reads the header, read() the rest; both throw IoError malformed.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  virtual const ImageInfo& info() const = 0;
  // The dtype of the result of read(): u8 if the samples fit into bytes, else f32.
  virtual DType dtype() const { return info().bit_depth > 8 ? DType::f32 : DType::u8; }
  // Called once, after the size was accepted.
  virtual Tensor read() = 0;
  // In place of read(), where info().by_rows: begin_rows() before there is memory for any, which throws for a
  // file that is too short for them; then for each row of the picture, from the top, read_row(), with room
  // for its samples. The last one reads the file to its end.
  virtual void begin_rows() {}
  virtual void read_row(void* to);
};

// Each starts at the file's first byte and refers to the file throughout its lifetime.
std::unique_ptr<ImageDecoder> decode_png(InputFile& file);
std::unique_ptr<ImageDecoder> decode_jpeg(InputFile& file);
std::unique_ptr<ImageDecoder> decode_webp(InputFile& file);
std::unique_ptr<ImageDecoder> decode_gif(InputFile& file);
std::unique_ptr<ImageDecoder> decode_bmp(InputFile& file);
std::unique_ptr<ImageDecoder> decode_pnm(InputFile& file);
std::unique_ptr<ImageDecoder> decode_packed(InputFile& file);
// Each uses a library that is opened then; throws Error if this build has none.
std::unique_ptr<ImageDecoder> decode_tiff(InputFile& file);
std::unique_ptr<ImageDecoder> decode_avif(InputFile& file);
std::unique_ptr<ImageDecoder> decode_heif(InputFile& file);
std::unique_ptr<ImageDecoder> decode_jxl(InputFile& file);

// Writes one picture, row by row from the top; without finish() the file is incomplete.
class ImageEncoder {
 public:
  virtual ~ImageEncoder() = default;
  // Channels side by side, `bits` a sample: packed to bytes if 1, big-endian if 16.
  virtual void write_row(const unsigned char* row) = 0;
  virtual void finish() = 0;
};

struct ImageLayout {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 0;
};

// Each throws ShapeError or ConfigError for a picture that its format cannot hold.
void check_png(const ImageLayout& layout, const WriteOptions& o);
void check_jpeg(const ImageLayout& layout, const WriteOptions& o);
void check_webp(const ImageLayout& layout, const WriteOptions& o);

// These encode pictures that have been checked.
std::unique_ptr<ImageEncoder> encode_png(AtomicFile& file, const ImageLayout& layout, const WriteOptions& o);
std::unique_ptr<ImageEncoder> encode_jpeg(AtomicFile& file, const ImageLayout& layout, const WriteOptions& o);
std::unique_ptr<ImageEncoder> encode_webp(AtomicFile& file, const ImageLayout& layout, const WriteOptions& o);

struct PictureCodec {
  ImageFormat format;
  const char* what;          // "a PNG"
  std::string_view endings;  // ".jpg .jpeg"
  bool (*begins)(std::string_view first_bytes);
  std::unique_ptr<ImageDecoder> (*decode)(InputFile& file);
  // Null for a format that is not written.
  void (*check)(const ImageLayout& layout, const WriteOptions& o) = nullptr;
  std::unique_ptr<ImageEncoder> (*encode)(AtomicFile& file, const ImageLayout& layout,
                                          const WriteOptions& o) = nullptr;
};

// Each format once, in the order of ImageFormat.
std::span<const PictureCodec> picture_codecs();
const PictureCodec& codec_of(ImageFormat format);
// Null if no format has these first bytes, or this ending of a name, in any case.
const PictureCodec* codec_for_bytes(std::string_view first_bytes);
const PictureCodec* codec_for_name(const std::string& path);

// The IoError of a picture that breaks its format.
IoError damaged_picture(const std::string& path, ImageFormat format, const std::string& why);

// Where row y of a picture [height, width, channels] begins.
void* row_of(const Tensor& picture, std::int64_t y);

// For read(), of a decoder that gives rows: all of them.
Tensor all_rows(ImageDecoder& decoder);

// The Error of a build without the library for a format.
Error without_library(const std::string& path, const std::string& format, const std::string& package);

// All bytes of a file whose chunks may have any length. Throws IoError malformed beyond 2^30.
std::vector<unsigned char> whole_picture(InputFile& file, ImageFormat format);

// Throws damaged_picture() if a canvas, which a frame need not fill, has more than 2^24 pixels plus
// `pixels_a_byte` for each byte of the file.
void check_canvas(const InputFile& file, const ImageInfo& canvas, std::uint64_t pixels_a_byte);

// Whether an ICC profile calls itself sRGB, in ASCII or UTF-16. Only its name is checked.
bool is_srgb(std::string_view profile);

// The same for the codes of primaries and transfer function (ISO/IEC 23091-2); unspecified ones count as
// sRGB.
bool is_srgb(int primaries, int transfer);

// Calls use(first sample, the value of white) by the dtype of a picture: u8 or f32.
template <class Use> auto by_sample(const Tensor& image, const Use& use) {
  if (image.dtype() == DType::u8) return use(image.data<std::uint8_t>(), std::uint8_t{255});
  return use(image.data<float>(), 1.0f);
}

}  // namespace veldt::io
