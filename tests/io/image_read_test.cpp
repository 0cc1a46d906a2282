// PNG as it is read: every depth, palette and interlacing comes out as levels, and what is no PNG is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/io/faults.h"
#include "tests/io/make_png.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"

namespace veldt::io {
namespace {

using test::claim_size;
using test::make_png;
using test::PngSpec;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Kind = IoError::Kind;

Tensor read_bytes(const std::string& bytes, const ReadOptions& options = {}) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a.png", bytes);
  return read_image(dir / "a.png", options);
}

IoError error_of_bytes(const std::string& bytes) {
  return thrown_by<IoError>([&] { read_bytes(bytes); });
}

// Numbers that differ from sample to sample.
std::vector<int> some_samples(int count, int depth) {
  std::vector<int> samples;
  for (int i = 0; i < count; ++i) samples.push_back((i * 7919 + i / 3) & ((1 << depth) - 1));
  return samples;
}

std::vector<float> divided(const std::vector<int>& samples, int depth) {
  std::vector<float> values;
  for (const int s : samples) values.push_back(static_cast<float>(s) / static_cast<float>((1 << depth) - 1));
  return values;
}

TEST(ReadImage, DividesGreysOfEveryDepthByTheirLargestLevel) {
  for (const int depth : {1, 2, 4, 8, 16}) {
    const std::vector<int> samples = some_samples(13 * 5, depth);
    const Tensor image = read_bytes(make_png({.width = 13, .height = 5, .depth = depth}, samples));
    EXPECT_EQ(image.shape(), (Shape{5, 13, 1}));
    EXPECT_THAT(image.values<float>(), ElementsAreArray(divided(samples, depth))) << depth;
  }
}

TEST(ReadImage, ReadsTheSameFromMemory) {
  const std::string png = make_png({.width = 4, .height = 3, .depth = 8}, some_samples(12, 8));
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const Picture picture = read_picture(bytes(png), "memory");
  EXPECT_EQ(picture.image.values<float>(), read_bytes(png).values<float>());
  EXPECT_EQ(picture.info.width, 4);
  // An end in the middle, and no bytes at all.
  for (const std::string& cut : {png.substr(0, png.size() - 20), png.substr(0, 3), std::string()}) {
    const IoError error = thrown_by<IoError>([&] { read_picture(bytes(cut), "memory"); });
    EXPECT_EQ(error.kind(), Kind::malformed);
    EXPECT_TRUE(says(error, "memory"));
  }
}

TEST(ReadImage, KeepsTheOrderOfColours) {
  for (const int depth : {8, 16}) {
    const std::vector<int> samples = some_samples(4 * 3 * 3, depth);
    const Tensor image =
        read_bytes(make_png({.width = 4, .height = 3, .depth = depth, .type = PNG_COLOR_TYPE_RGB}, samples));
    EXPECT_EQ(image.shape(), (Shape{3, 4, 3}));
    EXPECT_THAT(image.values<float>(), ElementsAreArray(divided(samples, depth)));
  }
}

TEST(ReadImage, KeepsAlphaThatIsNotOpaqueAndDropsTheOther) {
  const auto read = [](int type, std::vector<int> samples) {
    return read_bytes(make_png({.width = 2, .type = type}, samples));
  };
  EXPECT_THAT(read(PNG_COLOR_TYPE_GRAY_ALPHA, {51, 255, 102, 0}).values<float>(),
              ElementsAre(0.2f, 1, 0.4f, 0));
  const Tensor grey = read(PNG_COLOR_TYPE_GRAY_ALPHA, {51, 255, 102, 255});
  EXPECT_EQ(grey.shape(), (Shape{1, 2, 1}));
  EXPECT_THAT(grey.values<float>(), ElementsAre(0.2f, 0.4f));
  EXPECT_EQ(read(PNG_COLOR_TYPE_RGB_ALPHA, {0, 51, 255, 254, 0, 0, 0, 255}).shape(), (Shape{1, 2, 4}));
  const Tensor rgb = read(PNG_COLOR_TYPE_RGB_ALPHA, {0, 51, 255, 255, 255, 0, 0, 255});
  EXPECT_THAT(rgb.values<float>(), ElementsAre(0, 0.2f, 1, 1, 0, 0));
}

TEST(ReadImage, TurnsAPaletteIntoColoursOrGreys) {
  const PngSpec spec{.width = 3, .depth = 2, .type = PNG_COLOR_TYPE_PALETTE};
  PngSpec colours = spec, greys = spec;
  colours.palette = {{255, 0, 0}, {0, 51, 0}, {7, 7, 7}};
  greys.palette = {{255, 255, 255}, {51, 51, 51}, {0, 0, 0}};
  EXPECT_THAT(read_bytes(make_png(colours, {1, 0, 1})).values<float>(),
              ElementsAre(0, 0.2f, 0, 1, 0, 0, 0, 0.2f, 0));
  const Tensor grey = read_bytes(make_png(greys, {2, 1, 0}));
  EXPECT_EQ(grey.shape(), (Shape{1, 3, 1}));
  EXPECT_THAT(grey.values<float>(), ElementsAre(0, 0.2f, 1));

  colours.palette_alpha = greys.palette_alpha = {0, 51};
  EXPECT_EQ(read_bytes(make_png(colours, {1, 0, 2})).shape(), (Shape{1, 3, 4}));
  const Tensor clear = read_bytes(make_png(greys, {0, 1, 2}));
  EXPECT_EQ(clear.shape(), (Shape{1, 3, 2}));
  EXPECT_THAT(clear.values<float>(), ElementsAre(1, 0, 0.2f, 0.2f, 0, 1));
}

TEST(ReadImage, TakesAColourKeyForAlpha) {
  for (const int depth : {1, 4, 8, 16}) {
    const Tensor image = read_bytes(make_png({.width = 2, .depth = depth, .transparent = {1}}, {1, 0}));
    EXPECT_EQ(image.shape(), (Shape{1, 2, 2}));
    EXPECT_EQ(image.values<float>()[1], 0.0f);
    EXPECT_EQ(image.values<float>()[3], 1.0f);
  }
  const PngSpec rgb{.width = 2, .depth = 16, .type = PNG_COLOR_TYPE_RGB, .transparent = {1, 2, 3}};
  EXPECT_THAT(read_bytes(make_png(rgb, {1, 2, 3, 1, 2, 65535})).values<float>(),
              ElementsAre(1 / 65535.0f, 2 / 65535.0f, 3 / 65535.0f, 0, 1 / 65535.0f, 2 / 65535.0f, 1, 1));
}

TEST(ReadImage, ReadsInterlacedPicturesOfAllSmallSizes) {
  for (int width = 1; width <= 9; ++width)
    for (int height = 1; height <= 9; ++height)
      for (const int depth : {1, 16}) {
        PngSpec spec{.width = width, .height = height, .depth = depth};
        spec.interlaced = true;
        const std::vector<int> samples = some_samples(width * height, depth);
        EXPECT_THAT(read_bytes(make_png(spec, samples)).values<float>(),
                    ElementsAreArray(divided(samples, depth)));
      }
}

TEST(ReadImage, IgnoresGammaOnPurpose) {
  EXPECT_THAT(read_bytes(make_png({.gamma = 1.0}, {51})).values<float>(), ElementsAre(0.2f));
}

TEST(ReadImage, ReadsTheCub) {
  const Tensor cub = read_image(VELDT_SOURCE "/assets/cub.png");
  EXPECT_EQ(cub.shape(), (Shape{200, 200, 1}));
  for (const float v : cub.values<float>()) ASSERT_TRUE(v == 0.0f || v == 1.0f);
}

TEST(ImageInfo, TellsWhatTheFileHolds) {
  const TempDir dir;
  PngSpec spec{.width = 5, .height = 4, .depth = 4, .type = PNG_COLOR_TYPE_PALETTE, .interlaced = true};
  spec.palette = {{1, 2, 3}};
  spec.palette_alpha = {9};
  put_bytes(dir / "a", make_png(spec, std::vector<int>(20, 0)));
  const ImageInfo info = image_info(dir / "a");
  EXPECT_EQ(info.width, 5);
  EXPECT_EQ(info.height, 4);
  EXPECT_EQ(info.channels, 4);
  EXPECT_EQ(info.bit_depth, 4);
  EXPECT_TRUE(info.palette);
  EXPECT_TRUE(info.interlaced);
  put_bytes(dir / "b", make_png({.depth = 16, .type = PNG_COLOR_TYPE_GRAY_ALPHA}, {0, 0}));
  EXPECT_EQ(image_info(dir / "b").channels, 2);
  put_bytes(dir / "huge", claim_size(1000000000, 1));
  EXPECT_EQ(image_info(dir / "huge").width, 1000000000);
}

TEST(ReadImage, SaysWhatAFileThatIsNoPngSeemsToBe) {
  const std::pair<std::string, const char*> cases[] = {{"", "empty"},
                                                       {"hello, this is no picture", "text"},
                                                       {"R", "text"},
                                                       {"RIFF", "RIFF file"},
                                                       {"%PDF-1.4", "PDF"},
                                                       {std::string("\0\1\2\3", 4), "no known kind"},
                                                       {"\x89PNG\n\x1a\n....", "line ends"},
                                                       {"\x89PNG\r\r\n\x1a\r\n..", "line ends"},
                                                       {"\x89PNG\r\n\x1b\n....", "eight bytes are damaged"},
                                                       {"\x88PNG\r\n\x1a\n....", "eight bytes are damaged"}};
  for (const auto& [bytes, text] : cases) {
    const IoError error = error_of_bytes(bytes);
    EXPECT_EQ(error.kind(), Kind::malformed);
    EXPECT_TRUE(says(error, text)) << error.what();
    EXPECT_TRUE(says(error, "not a picture that Veldt reads")) << error.what();
  }
}

TEST(ReadImage, RefusesWhatIsNoPlainFile) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  for (const std::string& path : {dir / "absent.png", dir.path(), dir / "fifo", std::string("/dev/zero")})
    EXPECT_EQ(thrown_by<IoError>([&] { read_image(path); }).kind(), Kind::missing) << path;
}

// What counts is the memory of the result: four bytes for a pixel, whatever the file has.
TEST(ReadImage, CountsSamplesOfFourBytesAsPixels) {
  const TempDir dir;
  for (const int depth : {8, 16}) {
    SCOPED_TRACE(depth);
    put_bytes(dir / "p.png", make_png({.width = 2, .height = 2, .depth = depth, .type = PNG_COLOR_TYPE_RGB},
                                      std::vector<int>(12, 70)));
    EXPECT_EQ(read_image(dir / "p.png", {.max_pixels = 12}).numel(), 12);
    const IoError error = thrown_by<IoError>([&] { read_image(dir / "p.png", {.max_pixels = 11}); });
    EXPECT_EQ(error.kind(), Kind::malformed);
    EXPECT_TRUE(says(error, "4 pixels of 3 samples") && says(error, "11 times 4 bytes")) << error.what();
    EXPECT_TRUE(says(error, "raise max_pixels to 12")) << error.what();
    const ReadOptions bytes{.max_pixels = 4, .keep_bytes = true};
    if (depth == 8)
      EXPECT_EQ(read_image(dir / "p.png", bytes).numel(), 12);
    else
      EXPECT_EQ(thrown_by<IoError>([&] { read_image(dir / "p.png", bytes); }).kind(), Kind::malformed);
  }
}

TEST(ReadImage, RefusesImpossibleSizesBeforeAskingForMemory) {
  const std::pair<std::string, const char*> cases[] = {
      {claim_size(1000000000, 1), "1000000000 pixels"},
      {claim_size(1, 1000000000), "1000000000 pixels"},
      {claim_size(0x7fffffff, 0x7fffffff, 16, 6), "too large"},
      {claim_size(0x80000000u, 0x80000000u), "2147483648 x 2147483648 is impossible"},
      {claim_size(0, 5), "0 x 5"},
      {claim_size(16384, 16384, 16, 0), "too early"}};  // allowed, but the file cannot hold it
  for (const auto& [bytes, text] : cases) {
    const IoError error = error_of_bytes(bytes);
    EXPECT_EQ(error.kind(), Kind::malformed);
    EXPECT_TRUE(says(error, text)) << error.what();
  }
  const std::string small = make_png({.width = 10, .height = 10}, std::vector<int>(100, 0));
  EXPECT_EQ(read_bytes(small, {.max_pixels = 100}).numel(), 100);
  EXPECT_EQ(thrown_by<IoError>([&] { read_bytes(small, {.max_pixels = 99}); }).kind(), Kind::malformed);
}

TEST(ReadImage, RefusesAColourBeyondThePalette) {
  PngSpec spec{.width = 2, .depth = 8, .type = PNG_COLOR_TYPE_PALETTE};
  spec.palette = {{1, 2, 3}, {4, 5, 6}};
  const IoError error = error_of_bytes(make_png(spec, {1, 2}));
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "palette")) << error.what();
}

// Every kind of chunk that Veldt reads, and one that it skips.
std::vector<std::string> small_pngs() {
  PngSpec palette{.width = 5, .height = 4, .depth = 4, .type = PNG_COLOR_TYPE_PALETTE, .interlaced = true};
  palette.palette = {{1, 2, 3}, {9, 9, 9}};
  palette.palette_alpha = {9};
  PngSpec rgb{.width = 3, .height = 3, .depth = 16, .type = PNG_COLOR_TYPE_RGB, .transparent = {1, 2, 3}};
  rgb.gamma = 0.45;
  return {make_png(palette, some_samples(20, 1)), make_png(rgb, some_samples(27, 16))};
}

TEST(ReadImage, RefusesAPngCutAtAnyLength) {
  for (const std::string& whole : small_pngs())
    for (std::size_t length = 0; length < whole.size(); ++length)
      ASSERT_EQ(error_of_bytes(whole.substr(0, length)).kind(), Kind::malformed) << length;
}

TEST(ReadImage, RefusesAPngWithAnyByteFlipped) {
  for (const std::string& whole : small_pngs())
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (const int flip : {1 << (i % 8), 0xff}) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ flip);
        ASSERT_EQ(error_of_bytes(bytes).kind(), Kind::malformed) << "byte " << i << " flipped by " << flip;
      }
}

}  // namespace
}  // namespace veldt::io
