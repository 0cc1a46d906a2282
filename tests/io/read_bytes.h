// Reads pictures from bytes, for the tests of reading.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"

namespace veldt::test {

inline io::Picture read_bytes_of(const std::string& bytes,
                                 const io::ReadOptions& options = {.keep_bytes = true}) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a", bytes);
  const io::ImageInfo told = io::image_info(dir / "a");
  io::Picture picture = io::read_picture(dir / "a", options);
  EXPECT_EQ(picture.image.size(0), told.height);
  EXPECT_EQ(picture.image.size(1), told.width);
  return picture;
}

inline IoError error_of_bytes_of(const std::string& bytes, const io::ReadOptions& options = {
                                                               .max_pixels = 1 << 20, .keep_bytes = true}) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a", bytes);
  return thrown_by<IoError>([&] { io::read_picture(dir / "a", options); });
}

inline std::vector<int> bytes_in(const Tensor& image) {
  const std::vector<std::uint8_t> bytes = image.values<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

// Flips each byte in two ways. What is read then is small, or refused as malformed: so many times.
inline int refused_of_flipped(const std::string& whole) {
  const TempDir dir = TempDir::in_memory();
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int flip : {1 << (i % 8), 0xff}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      put_bytes(dir / "a", bytes);
      try {
        const Tensor image = io::read_image(dir / "a", {.max_pixels = 1 << 16});
        EXPECT_LE(image.numel(), 4 << 16);
      } catch (const IoError& error) {
        EXPECT_EQ(error.kind(), IoError::Kind::malformed) << error.what();
        ++refused;
      }
    }
  return refused;
}

}  // namespace veldt::test
