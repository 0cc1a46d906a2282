#ifdef VELDT_TIFF_SONAME

#include <gmock/gmock.h>

#include "tests/codecs/make_tiff.h"

namespace veldt::io {
namespace {

using test::error_of_bytes_of;
using test::expect_read;
using test::Levels;
using test::make_tiff;
using test::read_bytes_of;
using test::says;
using test::some_levels;
using test::TiffSpec;
using ::testing::ElementsAre;

TEST(ReadTiff, ReadsEveryOrderOfSamples) {
  for (const int bits : {8, 16})
    for (const int channels : {1, 2, 3, 4})
      for (const bool planar : {false, true})
        for (const int tile : {0, 16})
          for (const int compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE}) {
            TiffSpec spec{.compression = compression, .planar = planar, .tile = tile};
            spec.big_endian = compression == COMPRESSION_LZW;
            SCOPED_TRACE(testing::Message() << bits << " bits, " << channels << " channels, planar " << planar
                                            << ", tile " << tile << ", compression " << compression);
            const Levels levels = some_levels(37, 21, channels, bits);
            expect_read(make_tiff(spec, levels), levels);
          }
}

TEST(ReadTiff, ReadsFewBitsAndWhiteAsZero) {
  for (const int bits : {1, 2, 4}) {
    const Levels levels = some_levels(13, 5, 1, bits);
    const auto [image, info] = read_bytes_of(make_tiff({}, levels));
    const Tensor inverted = read_bytes_of(make_tiff({.kind = PHOTOMETRIC_MINISWHITE}, levels)).image;
    EXPECT_EQ(info.bit_depth, bits);
    std::vector<int> bytes, others;
    for (const int sample : levels.samples) {
      bytes.push_back(sample * 255 / levels.largest());
      others.push_back(255 - bytes.back());
    }
    EXPECT_EQ(test::bytes_in(image), bytes);
    EXPECT_EQ(test::bytes_in(inverted), others);
  }
}

TEST(ReadTiff, LooksUpPalettes) {
  std::vector<std::uint16_t> red(16), green(16), blue(16);
  red[3] = 0xffff;
  green[3] = 0x8000;
  blue[5] = 0x0700;
  const TiffSpec spec{.kind = PHOTOMETRIC_PALETTE, .palette = {red, green, blue}};
  const auto [image, info] = read_bytes_of(make_tiff(spec, {2, 1, 1, 4, {3, 5}}));
  EXPECT_THAT(test::bytes_in(image), ElementsAre(255, 128, 0, 0, 0, 7));
  EXPECT_TRUE(info.palette);
  EXPECT_EQ(info.bit_depth, 4);
  const TiffSpec grey{.kind = PHOTOMETRIC_PALETTE, .palette = {red, red, red}};
  EXPECT_THAT(test::bytes_in(read_bytes_of(make_tiff(grey, {2, 1, 1, 4, {3, 5}})).image),
              ElementsAre(255, 0));
}

TEST(ReadTiff, DividesByAnAlphaThatWasMultipliedIn) {
  const Levels levels{2, 1, 4, 8, {50, 100, 0, 100, 7, 8, 9, 255}};
  EXPECT_THAT(test::bytes_in(read_bytes_of(make_tiff({.alpha = EXTRASAMPLE_ASSOCALPHA}, levels)).image),
              ElementsAre(128, 255, 0, 100, 7, 8, 9, 255));
  EXPECT_EQ(read_bytes_of(make_tiff({.alpha = EXTRASAMPLE_UNSPECIFIED}, levels)).image.shape(),
            (Shape{1, 2, 3}));
}

TEST(ReadTiff, TurnsThePicture) {
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const int tile : {0, 16})
      test::expect_seen(
          make_tiff({.tile = tile, .orientation = orientation}, {3, 2, 1, 8, {1, 2, 3, 4, 5, 6}}),
          orientation);
}

TEST(ReadTiff, MakesLightOfInksAndOfBrightness) {
  const auto inks =
      read_bytes_of(make_tiff({.kind = PHOTOMETRIC_SEPARATED}, {2, 1, 4, 8, {255, 0, 51, 0, 0, 0, 0, 51}}));
  EXPECT_THAT(inks.image.values<float>(),
              testing::Pointwise(testing::FloatNear(1e-6f), {0.0f, 1.0f, 0.8f, 0.8f, 0.8f, 0.8f}));
  const auto bright =
      read_bytes_of(make_tiff({.kind = PHOTOMETRIC_YCBCR}, {2, 1, 3, 8, {255, 128, 128, 77, 128, 128}}));
  EXPECT_THAT(test::bytes_in(bright.image), ElementsAre(255, 255, 255, 77, 77, 77));
}

TEST(ReadTiff, TellsOfPagesAndProfiles) {
  const Levels levels = some_levels(4, 4, 1, 8);
  EXPECT_EQ(read_bytes_of(make_tiff({.pages = 3}, levels)).info.pictures, 3);
  EXPECT_FALSE(read_bytes_of(make_tiff({.profile = "this is sRGB"}, levels)).info.other_profile);
  EXPECT_TRUE(read_bytes_of(make_tiff({.profile = "this is Adobe RGB"}, levels)).info.other_profile);
}

TEST(ReadTiff, RefusesOneCutAtAnyLength) {
  test::expect_refused_at_any_length(make_tiff({}, some_levels(5, 7, 3, 8)));
  test::expect_refused_at_any_length(
      make_tiff({.compression = COMPRESSION_LZW, .tile = 16}, some_levels(5, 7, 1, 8)));
}

TEST(ReadTiff, SurvivesAnyByteFlipped) {
  EXPECT_GT(test::refused_of_flipped(make_tiff({}, some_levels(5, 7, 3, 8))), 50);
  EXPECT_GT(
      test::refused_of_flipped(make_tiff({.compression = COMPRESSION_ADOBE_DEFLATE, .tile = 16, .pages = 2},
                                         some_levels(5, 7, 4, 16))),
      50);
}

// One tag of a directory of 12 bytes an entry, little-endian, gets another value.
std::string with_tag(std::string tiff, int tag, std::uint32_t value) {
  const auto number = [&tiff](std::size_t at, int bytes) {
    std::uint32_t result = 0;
    for (int i = bytes - 1; i >= 0; --i)
      result = result << 8 | static_cast<unsigned char>(tiff[at + static_cast<std::size_t>(i)]);
    return result;
  };
  const std::size_t directory = number(4, 4);
  for (std::uint32_t i = 0; i < number(directory, 2); ++i) {
    const std::size_t entry = directory + 2 + std::size_t{12} * i;
    if (number(entry, 2) != static_cast<std::uint32_t>(tag)) continue;
    const bool is_short = number(entry + 2, 2) == 3;
    if (is_short && value > 0xffff) tiff[entry + 2] = 4;  // a long one
    for (std::size_t j = 0; j < 4; ++j) tiff[entry + 8 + j] = static_cast<char>(value >> (8 * j) & 255);
  }
  return tiff;
}

TEST(ReadTiff, RefusesSizesThatItCannotHold) {
  const std::string small = make_tiff({}, some_levels(5, 7, 3, 8));
  const auto says_of = [](const std::string& bytes, const char* text) {
    const IoError error = error_of_bytes_of(bytes);
    EXPECT_EQ(error.kind(), IoError::Kind::malformed);
    EXPECT_TRUE(says(error, text)) << error.what();
  };
  says_of(with_tag(small, TIFFTAG_IMAGEWIDTH, 1000000000), "too large: 1000000000 x 7");
  says_of(with_tag(with_tag(small, TIFFTAG_IMAGELENGTH, 1000000000), TIFFTAG_ROWSPERSTRIP, 1),
          "");  // 10^9 strips
  says_of(with_tag(small, TIFFTAG_BITSPERSAMPLE, 32), "");
  // As many strips, with arrays of their places that are said to be there.
  const std::string strips = with_tag(with_tag(small, TIFFTAG_IMAGEWIDTH, 1), TIFFTAG_IMAGELENGTH, 1000000);
  says_of(with_tag(strips, TIFFTAG_ROWSPERSTRIP, 1), "");
  const std::string tiled = make_tiff({.tile = 16}, some_levels(5, 7, 1, 8));
  says_of(with_tag(with_tag(tiled, TIFFTAG_TILEWIDTH, 1 << 20), TIFFTAG_TILELENGTH, 1 << 20), "");
  says_of(make_tiff({.kind = PHOTOMETRIC_CIELAB}, some_levels(5, 7, 3, 8)), "its colours are of kind 8");
}

}  // namespace
}  // namespace veldt::io

#endif
