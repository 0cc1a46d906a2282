// PNGs in memory: what Veldt's own reader and writer make of them.
#include "veldt/io/png_bytes.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"

namespace veldt::io {
namespace {

TEST(PngBytes, ReadBackTheSamePixels) {
  const test::TempDir dir;
  for (int channels = 1; channels <= 4; ++channels) {
    std::vector<std::uint8_t> pixels;
    for (int i = 0; i < 5 * 3 * channels; ++i) pixels.push_back(static_cast<std::uint8_t>(37 * i));
    const std::string path = dir / "x.png";
    write_file(path, png_bytes(pixels, {5, 3}, channels));
    const Tensor levels = read_image(path);
    ASSERT_EQ(levels.shape(), (Shape{3, 5, channels}));
    const std::vector<float> read = levels.values<float>();
    for (std::size_t i = 0; i < pixels.size(); ++i) EXPECT_EQ(read[i], static_cast<float>(pixels[i]) / 255);
    EXPECT_EQ(png_bytes(levels), png_bytes(pixels, {5, 3}, channels));
  }
}

TEST(PngBytes, WrongSizesAreRefused) {
  const std::vector<std::uint8_t> pixels(12);
  EXPECT_THROW(png_bytes(pixels, {2, 2}, 4), ShapeError);
  EXPECT_THROW(png_bytes(pixels, {2, 2}, 5), ConfigError);
  EXPECT_THROW(png_bytes(pixels, {0, 2}, 3), ConfigError);
  EXPECT_THROW(png_bytes(pixels, {70000, 1}, 1), ConfigError);
  EXPECT_THROW(png_bytes(full({2, 2, 1}, std::nan(""))), Error);
}

}  // namespace
}  // namespace veldt::io
