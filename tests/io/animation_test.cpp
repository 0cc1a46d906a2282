// Animated pictures: their chunks, and that each frame is what was drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/animation.h"
#include "veldt/io/clip.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"

namespace veldt::io {
namespace {

using Pixels = std::vector<std::uint8_t>;

std::uint32_t number_at(const std::string& bytes, std::size_t at, int size = 4) {
  std::uint32_t value = 0;
  for (int i = 0; i < size; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

std::string in_four(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

struct Chunk {
  std::string name, data;
};

// All chunks, their checksums tested.
std::vector<Chunk> chunks_of(const std::string& file) {
  std::vector<Chunk> all;
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t size = number_at(file, at);
    all.push_back({file.substr(at + 4, 4), file.substr(at + 8, size)});
    const auto sum =
        ::crc32(0, reinterpret_cast<const Bytef*>(file.data() + at + 4), static_cast<uInt>(size + 4));
    EXPECT_EQ(number_at(file, at + 8 + size), sum) << all.back().name;
    at += size + 12;
  }
  return all;
}

void add_chunk(std::string& file, const std::string& name, const std::string& data) {
  const std::string body = name + data;
  file += in_four(static_cast<std::uint32_t>(data.size())) + body;
  file += in_four(static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

// The box of a frame, as a picture of its own that the house's reader decodes.
Tensor decoded(std::uint32_t width, std::uint32_t height, const std::string& data) {
  std::string file = "\x89PNG\r\n\x1a\n";
  add_chunk(file, "IHDR", in_four(width) + in_four(height) + std::string("\x08\x02\x00\x00\x00", 5));
  add_chunk(file, "IDAT", data);
  add_chunk(file, "IEND", "");
  return read_picture(std::as_bytes(std::span(file)), "frame", {.keep_bytes = true}).image;
}

// What a viewer shows after each frame.
std::vector<Pixels> shown(const std::vector<Chunk>& chunks, std::size_t width, std::size_t height) {
  std::vector<Pixels> all;
  Pixels canvas(width * height * 3);
  std::uint32_t sequence = 0;
  std::string control;
  for (const Chunk& chunk : chunks) {
    if (chunk.name == "fcTL") {
      EXPECT_EQ(number_at(chunk.data, 0), sequence++);
      control = chunk.data;
    }
    if (chunk.name != "IDAT" && chunk.name != "fdAT") continue;
    if (chunk.name == "fdAT") {
      EXPECT_EQ(number_at(chunk.data, 0), sequence++);
    }
    const std::uint32_t w = number_at(control, 4), h = number_at(control, 8);
    const std::size_t left = number_at(control, 12), top = number_at(control, 16);
    const Tensor box = decoded(w, h, chunk.name == "IDAT" ? chunk.data : chunk.data.substr(4));
    // The reader drops what an rgb picture does not need.
    const auto channels = static_cast<std::size_t>(box.size(2));
    const std::vector<std::uint8_t> values = box.values<std::uint8_t>();
    for (std::size_t y = 0; y < h; ++y)
      for (std::size_t x = 0; x < w; ++x)
        for (std::size_t c = 0; c < 3; ++c)
          canvas[((top + y) * width + left + x) * 3 + c] =
              values[(y * w + x) * channels + std::min(c, channels - 1)];
    all.push_back(canvas);
  }
  return all;
}

TEST(Animation, EveryFrameIsWhatWasDrawn) {
  constexpr std::size_t kWidth = 13, kHeight = 7;
  const test::TempDir dir;
  Animation film({kWidth, kHeight});
  std::vector<Pixels> drawn;
  Pixels pixels(kWidth * kHeight * 3, 255);
  for (std::size_t i = 0; i < 6; ++i) {
    if (i != 3)  // the fourth is the third again
      for (std::size_t c = 0; c < 3; ++c)
        pixels[((i % 5) * kWidth + 2 * i + 1) * 3 + c] = static_cast<std::uint8_t>(40 * i + c);
    film.add(pixels, i == 5 ? 1.5 : 0.02);
    drawn.push_back(pixels);
  }
  EXPECT_EQ(film.frames(), 6);
  film.write(dir / "a.apng");
  const std::string file = read_file(dir / "a.apng");
  const std::vector<Chunk> chunks = chunks_of(file);
  ASSERT_EQ(chunks.size(), 2 + 2 * 6 + 1u);
  EXPECT_EQ(chunks[1].name, "acTL");
  EXPECT_EQ(number_at(chunks[1].data, 0), 6u);
  EXPECT_EQ(chunks.back().name, "IEND");
  EXPECT_EQ(shown(chunks, kWidth, kHeight), drawn);
  EXPECT_EQ(number_at(chunks[2].data, 20), 1u << 16 | 50);  // a fiftieth of a second
  EXPECT_EQ(number_at(chunks[12].data, 20), 3u << 16 | 2);
  EXPECT_EQ(number_at(chunks[4].data, 4), 1u);  // a box of the one pixel that changed
  // Who knows no animations sees the first frame.
  EXPECT_EQ(read_image(dir / "a.apng", {.keep_bytes = true}).values<std::uint8_t>(), drawn[0]);
}

TEST(Animation, TakesFloatsAsPicturesAreWritten) {
  const test::TempDir dir = test::TempDir::in_memory();
  Animation film({3, 2}, 1);
  const Tensor levels = Tensor::of({2, 3, 1}, {-5, 0, 0.5, 1, 7, 0.25});
  film.add(levels, 1);
  film.write(dir / "a.apng");
  EXPECT_EQ(read_image(dir / "a.apng", {.keep_bytes = true}).values<std::uint8_t>(),
            (Pixels{0, 0, 128, 255, 255, 64}));
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(test::error_of<Error>([&] {
                film.add(Tensor::of({2, 3, 1}, {0, 0, 0, 0, nan, 0}), 1);
              }),
              ::testing::HasSubstr("column 1, row 1"));
  film.add(Tensor::of({2, 3, 1}, {inf, -inf, 0, 0, 0, 0}), 1);
  EXPECT_THAT(test::error_of<ShapeError>([&] {
                film.add(Tensor::of({3, 2, 1}, {0, 0, 0, 0, 0, 0}), 1);
              }),
              ::testing::HasSubstr("[3, 2, 1]"));
}

// 30 frames a second are 30, not 30.3: what is read is what was written.
TEST(Animation, KeepsTheTimesOfFrames) {
  const test::TempDir dir = test::TempDir::in_memory();
  const std::vector<double> exact{1 / 30.0, 1001 / 30000.0, 1 / 24.0,    0.1,  2,
                                  12.5,     0.8 / 7,        1 / 65535.0, 65535};
  const std::vector<double> others{1 / 29.97002, std::sqrt(2), 1e-4 / 3, 1.6e-5, 64321.98};
  Animation film({2, 2});
  for (const double seconds : exact) film.add(Pixels(12), seconds);
  for (const double seconds : others) film.add(Pixels(12), seconds);
  film.write(dir / "a.apng");
  const Clip clip = read_clip(dir / "a.apng");
  ASSERT_EQ(clip.seconds.size(), exact.size() + others.size());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_DOUBLE_EQ(clip.seconds[i], exact[i]);
  for (std::size_t i = 0; i < others.size(); ++i)
    EXPECT_NEAR(clip.seconds[exact.size() + i] / others[i], 1, 2e-5) << others[i];
}

TEST(Animation, WhatCannotBeIsRefused) {
  EXPECT_THAT(test::error_of<ConfigError>([] { Animation film({0, 5}); }), ::testing::HasSubstr("0 by 5"));
  Animation film({2, 2});
  EXPECT_THAT(test::error_of<ShapeError>([&] { film.add(Pixels(5), 1); }), ::testing::HasSubstr("5 bytes"));
  for (const double seconds : {0.0, -1.0, 1e-5, 65536.0, std::nan("")})
    EXPECT_THAT(test::error_of<ConfigError>([&] { film.add(Pixels(12), seconds); }),
                ::testing::HasSubstr("cannot be shown for"))
        << seconds;
  EXPECT_THAT(test::error_of<ConfigError>([&] { film.write("none.png"); }),
              ::testing::HasSubstr("without frames"));
}

}  // namespace
}  // namespace veldt::io
