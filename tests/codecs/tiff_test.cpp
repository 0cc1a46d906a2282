// TIFF: every order and depth of samples, palettes, inks and pages; what is left out is told.
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
  for (const int bits : {8, 16})
    for (const bool planar : {false, true}) {
      Levels levels{1, 2, 5, bits, {51, 0, 255, 51, 102, 0, 0, 0, 255, 0}};
      if (bits == 16)
        for (int& sample : levels.samples) sample *= 257;
      const TiffSpec spec{.kind = PHOTOMETRIC_SEPARATED, .planar = planar};
      EXPECT_THAT(
          read_bytes_of(make_tiff(spec, levels)).image.values<float>(),
          testing::Pointwise(testing::FloatNear(1e-6f), {0.64f, 0.8f, 0.0f, 0.4f, 0.0f, 0.0f, 0.0f, 0.0f}))
          << bits << planar;
    }
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
  EXPECT_GT(test::refused_of_flipped(make_tiff({.kind = PHOTOMETRIC_SEPARATED, .planar = true, .tile = 16},
                                               some_levels(5, 7, 5, 8))),
            50);
  const std::vector<std::uint16_t> ramp{0, 1000, 2000, 65535};
  EXPECT_GT(test::refused_of_flipped(make_tiff({.kind = PHOTOMETRIC_PALETTE, .palette = {ramp, ramp, ramp}},
                                               some_levels(5, 7, 2, 2))),
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

void expect_refused(const std::string& bytes, const char* text) {
  const IoError error = error_of_bytes_of(bytes, {.keep_bytes = true});
  EXPECT_EQ(error.kind(), IoError::Kind::malformed);
  EXPECT_TRUE(says(error, text)) << error.what();
}

TEST(ReadTiff, RefusesSizesThatItCannotHold) {
  const std::string small = make_tiff({}, some_levels(5, 7, 3, 8));
  expect_refused(with_tag(small, TIFFTAG_IMAGEWIDTH, 1000000000), "too large: 1000000000 x 7");
  expect_refused(with_tag(small, TIFFTAG_IMAGEWIDTH, 1000000), "ends too early");
  // Strips of a row each, with arrays of their places that are said to be there.
  const std::string strips =
      with_tag(make_tiff({.compression = COMPRESSION_LZW}, some_levels(1, 7, 3, 8)), TIFFTAG_ROWSPERSTRIP, 1);
  for (const std::uint32_t rows : {1u << 20, 1u << 27})
    expect_refused(with_tag(strips, TIFFTAG_IMAGELENGTH, rows), "Incorrect count for \"StripOffsets\"");
  const std::string tiled = make_tiff({.tile = 16}, some_levels(5, 7, 1, 8));
  expect_refused(with_tag(with_tag(tiled, TIFFTAG_TILEWIDTH, 1 << 20), TIFFTAG_TILELENGTH, 1 << 20),
                 "its parts of 1048576 x 1048576 pixels");
}

TEST(ReadTiff, SaysWhichSamplesItDoesNotRead) {
  const Levels whole{2, 1, 1, 32, {1, 2}};
  expect_refused(make_tiff({}, whole), "its samples have 32 bits");
  expect_refused(make_tiff({.format = SAMPLEFORMAT_IEEEFP}, whole), "its samples are floating point numbers");
  const std::string with_signs = make_tiff({.format = SAMPLEFORMAT_INT}, {2, 1, 1, 8, {1, 2}});
  expect_refused(with_signs, "its samples have a sign");
  expect_refused(with_signs, "convert it to samples of 8 or 16 bits without a sign");
  expect_refused(make_tiff({.kind = PHOTOMETRIC_CIELAB}, some_levels(5, 7, 3, 8)),
                 "its colours are of kind 8");
}

// The light of inks is no byte, so it takes four.
TEST(ReadTiff, CountsTheLightOfInksAsFourBytes) {
  for (const bool planar : {false, true}) {
    const std::string inks =
        make_tiff({.kind = PHOTOMETRIC_SEPARATED, .planar = planar}, some_levels(5, 7, 4, 8));
    EXPECT_EQ(read_bytes_of(inks, {.max_pixels = 105, .keep_bytes = true}).image.dtype(), DType::f32);
    const IoError error = error_of_bytes_of(inks, {.max_pixels = 104, .keep_bytes = true});
    EXPECT_TRUE(says(error, "35 pixels of 3 samples, each of which takes 4 bytes")) << error.what();
  }
}

// As libtiff's own reader of colours takes them.
TEST(ReadTiff, GuessesColoursThatItDoesNotName) {
  for (const int channels : {1, 2, 3, 4}) {
    const Levels levels = some_levels(5, 7, channels, 8);
    expect_read(make_tiff({.kind = test::kNoKind}, levels), levels);
  }
  const TiffSpec fax{.compression = COMPRESSION_CCITTFAX4, .kind = test::kNoKind};
  EXPECT_THAT(test::bytes_in(read_bytes_of(make_tiff(fax, {4, 1, 1, 1, {1, 0, 0, 1}})).image),
              ElementsAre(0, 255, 255, 0));
}

TEST(ReadTiff, TellsOfSamplesThatAreLeftOut) {
  const Levels three{2, 1, 3, 8, {1, 2, 3, 4, 5, 6}}, four = some_levels(2, 2, 4, 8);
  const auto [grey, info] = read_bytes_of(make_tiff({.kind = PHOTOMETRIC_MINISBLACK}, three));
  EXPECT_THAT(test::bytes_in(grey), ElementsAre(1, 4));
  EXPECT_EQ(left_out(info), "has 2 extra channels, which are left out");
  EXPECT_EQ(left_out(read_bytes_of(make_tiff({.alpha = EXTRASAMPLE_UNSPECIFIED, .pages = 2}, four)).info),
            "has 2 pictures; the first is taken; it has 1 extra channel, which is left out");
  EXPECT_EQ(left_out(read_bytes_of(make_tiff({}, four)).info), "");
}

TEST(ReadTiff, ReadsPalettesWithAlpha) {
  std::vector<std::uint16_t> red(256), green(256), blue(256);
  red[3] = green[7] = 0xffff;
  for (const bool planar : {false, true}) {
    const Levels levels{2, 1, 2, 8, {3, 255, 7, 128}};
    TiffSpec spec{.kind = PHOTOMETRIC_PALETTE, .planar = planar, .palette = {red, green, blue}};
    EXPECT_THAT(test::bytes_in(read_bytes_of(make_tiff(spec, levels)).image),
                ElementsAre(255, 0, 0, 255, 0, 255, 0, 128));
    spec.palette = {red, red, red};
    EXPECT_THAT(test::bytes_in(read_bytes_of(make_tiff(spec, levels)).image), ElementsAre(255, 255, 0, 128));
  }
}

// Whose codes begin at the lowest bit, as programs wrote them before 1992.
TEST(ReadTiff, ReadsTheOldOrderOfLzw) {
  const Levels levels = some_levels(4, 1, 3, 8);
  std::string bytes, codes;
  std::uint32_t bits = 0;
  int count = 0;
  const auto put = [&](int code) {
    bits |= static_cast<std::uint32_t>(code) << count;
    for (count += 9; count >= 8; count -= 8, bits >>= 8) codes += static_cast<char>(bits & 255);
  };
  put(256);
  for (const int sample : levels.samples) put(sample);
  put(257);
  codes += static_cast<char>(bits & 255);
  bytes = with_tag(make_tiff({}, levels), TIFFTAG_COMPRESSION, COMPRESSION_LZW);
  bytes = with_tag(bytes, TIFFTAG_STRIPOFFSETS, static_cast<std::uint32_t>(bytes.size()));
  bytes = with_tag(bytes, TIFFTAG_STRIPBYTECOUNTS, static_cast<std::uint32_t>(codes.size()));
  expect_read(bytes + codes, levels);
}

}  // namespace
}  // namespace veldt::io

#endif
