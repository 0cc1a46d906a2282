// A TIFF through libtiff, which is opened when the first one is read. For tiff.cpp alone.
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
  // What libtiff may ask for at once: no writer makes larger blocks of pixels.
  static constexpr std::int64_t kMaxBlockBytes = std::int64_t{1} << 28;

  // Refers to the file while it lives. Throws Error without libtiff, IoError malformed for what is not a
  // TIFF.
  explicit TiffFile(InputFile& file);
  ~TiffFile();
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  const std::string& path() const;
  std::uint64_t size() const;
  // Throws IoError malformed. What libtiff said before counts for more than what follows from it.
  [[noreturn]] void fail(const std::string& why) const;
  void check_no_error() const;
  // From here on warnings are errors: where pixels are read they tell of damage, before of unknown tags.
  void count_warnings();

  // What a tag has, or where it is missing what the format says instead.
  template <class T> T field(std::uint32_t tag) const {
    T value{};
    get_or_default(tag, &value);
    return value;
  }
  // False if a tag is missing. The pointers are those that TIFFGetField() wants for it.
  bool get(std::uint32_t tag, void* first, void* second = nullptr, void* third = nullptr) const;
  bool get_or_default(std::uint32_t tag, void* first, void* second = nullptr) const;
  // True if libjpeg is to make red, green and blue of the pixels.
  bool ask_for_rgb();

  std::int64_t pages() const;
  bool is_tiled() const;
  // The tile or strip with this pixel. Throws if it has fewer bytes.
  void read_block(std::int64_t x, std::int64_t y, std::uint16_t plane, void* to, std::size_t bytes);
  // All pixels as libtiff understands them, red in the lowest byte.
  bool read_rgba(std::int64_t width, std::int64_t height, int orientation, std::uint32_t* pixels);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veldt::io
