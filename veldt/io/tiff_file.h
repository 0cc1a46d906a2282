// A TIFF through libtiff, which is opened when the first TIFF is read. Only for tiff.cpp.
// Tests: tests/codecs/tiff_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "veldt/io/file.h"

namespace veldt::io {

class TiffFile {
 public:
  // The largest allocation of libtiff: no writer makes larger blocks of pixels.
  static constexpr std::int64_t kMaxBlockBytes = std::int64_t{1} << 28;

  // Refers to the file throughout its lifetime. Throws Error without libtiff, IoError malformed if it is not
  // a TIFF.
  explicit TiffFile(InputFile& file);
  ~TiffFile();
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  const std::string& path() const;
  std::uint64_t size() const;
  // Throws IoError malformed. An earlier message of libtiff takes precedence over `why`.
  [[noreturn]] void fail(const std::string& why) const;
  void check_no_error() const;
  // From here on warnings are errors: while pixels are read they mean damage, before that unknown tags.
  void count_warnings();

  // The value of a tag, or the format's default if it is missing.
  template <class T> T field(std::uint32_t tag) const {
    T value{};
    get_or_default(tag, &value);
    return value;
  }
  // False if a tag is missing. The pointers are those that TIFFGetField() takes for it.
  bool get(std::uint32_t tag, void* first, void* second = nullptr, void* third = nullptr) const;
  bool get_or_default(std::uint32_t tag, void* first, void* second = nullptr) const;
  // True if libjpeg is to convert the pixels to RGB.
  bool ask_for_rgb();

  std::int64_t pages() const;
  bool is_tiled() const;
  // The tile or strip with this pixel. Throws if it has fewer bytes.
  void read_block(std::int64_t x, std::int64_t y, std::uint16_t plane, void* to, std::size_t bytes);
  // All pixels, converted by libtiff, red in the lowest byte.
  bool read_rgba(std::int64_t width, std::int64_t height, int orientation, std::uint32_t* pixels);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veldt::io
