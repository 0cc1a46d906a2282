// BMP: rows from either end, palettes, masks and runs, against pictures made byte by byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/faults.h"
#include "tests/io/make_bmp.h"
#include "tests/io/read_bytes.h"

namespace veldt::io {
namespace {

using test::bytes_in;
using test::error_of_bytes_of;
using test::make_bmp;
using test::read_bytes_of;
using test::says;
using ::testing::ElementsAre;

TEST(ReadBmp, TakesRowsFromTheBottomOrTheTop) {
  const std::string row1("\x03\x02\x01\x06\x05\x04\0\0", 8), row2("\x09\x08\x07\x0c\x0b\x0a\0\0", 8);
  const auto [image, info] = read_bytes_of(make_bmp({.width = 2, .height = 2}, row2 + row1));
  EXPECT_EQ(image.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(bytes_in(image), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_EQ(info.format, ImageFormat::bmp);
  EXPECT_EQ(info.bit_depth, 8);
  EXPECT_EQ(bytes_in(read_bytes_of(make_bmp({.width = 2, .height = -2}, row1 + row2)).image),
            bytes_in(image));
  // The last eight of 32 bits mean nothing, unless a mask says so.
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.bits = 32}, "\x03\x02\x01\x09")).image),
              ElementsAre(1, 2, 3));
}

TEST(ReadBmp, LooksUpPalettesOfEveryDepth) {
  const std::vector<std::uint32_t> colours{0x010203, 0xff0000, 0x405060, 0x0000ff};
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.width = 3, .bits = 1, .palette = {0x010203, 0xff0000}},
                                              std::string("\xa0\0\0\0", 4)))
                           .image),
              ElementsAre(255, 0, 0, 1, 2, 3, 255, 0, 0));
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.width = 3, .bits = 2, .palette = colours},
                                              std::string("\x6c\0\0\0", 4)))
                           .image),
              ElementsAre(255, 0, 0, 64, 80, 96, 0, 0, 255));
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.width = 3, .bits = 4, .palette = colours},
                                              std::string("\x31\x20\0\0", 4)))
                           .image),
              ElementsAre(0, 0, 255, 255, 0, 0, 64, 80, 96));
  const std::string numbers("\x02\x00\x01\0", 4);
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.width = 3, .bits = 8, .palette = colours}, numbers)).image),
              ElementsAre(64, 80, 96, 1, 2, 3, 255, 0, 0));
  // The oldest header has sides of two bytes and colours of three, all of them.
  std::vector<std::uint32_t> greys;
  for (std::uint32_t i = 0; i < 256; ++i) greys.push_back(i * 0x010101);
  const auto [grey, info] =
      read_bytes_of(make_bmp({.width = 3, .bits = 8, .header = 12, .palette = greys}, numbers));
  EXPECT_EQ(grey.shape(), (Shape{1, 3, 1}));
  EXPECT_THAT(bytes_in(grey), ElementsAre(2, 0, 1));
  EXPECT_TRUE(info.palette);
}

TEST(ReadBmp, FollowsMasks) {
  // 5 bits each, as without masks; then 5, 6 and 5.
  const std::string white("\xff\xff\0\0", 4);
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.bits = 16}, std::string("\x41\x7c\0\0", 4))).image),
              ElementsAre(255, 16, 8));
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.bits = 16, .packing = 3, .masks = {0xf800, 0x7e0, 0x1f}},
                                              std::string("\x41\xf8\0\0", 4)))
                           .image),
              ElementsAre(255, 8, 8));
  const std::vector<std::uint32_t> argb{0xff0000, 0xff00, 0xff, 0xff000000};
  for (const int header : {56, 108, 124})
    EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.bits = 32, .header = header, .packing = 3, .masks = argb},
                                                "\x03\x02\x01\x80"))
                             .image),
                ElementsAre(1, 2, 3, 128));
  // Ten bits a colour and two of alpha.
  const auto [fine, info] =
      read_bytes_of(make_bmp({.bits = 32, .packing = 6, .masks = {0x3ff00000, 0xffc00, 0x3ff, 0xc0000000}},
                             test::little(0x40000000u | 1u << 20 | 512u << 10 | 1023u, 4)));
  EXPECT_EQ(info.bit_depth, 10);
  EXPECT_THAT(fine.values<float>(), ElementsAre(1 / 1023.0f, 512 / 1023.0f, 1.0f, 1 / 3.0f));
}

TEST(ReadBmp, UnpacksRuns) {
  const std::vector<std::uint32_t> greys{0x000000, 0x111111, 0x222222, 0x333333};
  // Three of 1; as they are 2, 3, 1 and a byte to fill up; a row further and one to the right; one of 3; the
  // end.
  const std::string runs("\x03\x01\0\x03\x02\x03\x01\0\0\0\0\x02\x01\x01\x01\x03\0\x01", 18);
  const Tensor image =
      read_bytes_of(make_bmp({.width = 6, .height = 3, .bits = 8, .packing = 1, .palette = greys}, runs))
          .image;
  EXPECT_THAT(bytes_in(image), ElementsAre(0, 51, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 17, 17, 34, 51, 17));
  // With four bits: five that take turns, three as they are.
  const std::string halves("\x05\x12\0\x03\x32\x10\0\x01", 8);
  EXPECT_THAT(
      bytes_in(
          read_bytes_of(make_bmp({.width = 8, .bits = 4, .packing = 2, .palette = greys}, halves)).image),
      ElementsAre(17, 34, 17, 34, 17, 51, 34, 17));
  // What a run has too many for its row is left out, but there is no row above the last.
  const test::BmpSpec narrow{.width = 2, .height = 2, .bits = 8, .packing = 1, .palette = greys};
  const std::string wide("\x03\x01\0\0\x02\x02\0\x01", 8);
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp(narrow, wide)).image), ElementsAre(34, 34, 17, 17));
  const IoError error = error_of_bytes_of(make_bmp(narrow, std::string("\0\0\0\0\x01\x01\0\x01", 8)));
  EXPECT_TRUE(says(error, "leaves the picture")) << error.what();
}

// Most of a picture may be what its runs leave out; not all of one that is larger than any such file.
TEST(ReadBmp, ReadsLargePicturesOfFewRuns) {
  test::BmpSpec spec{.width = 1000, .height = 100, .bits = 8, .packing = 1, .palette = {0, 0xffffff}};
  const std::string runs = std::string(2 * 99, '\0') + std::string("\x05\x01\0\x01", 4);
  const Tensor image = read_bytes_of(make_bmp(spec, runs)).image;
  EXPECT_EQ(image.data<std::uint8_t>()[4], 255);
  EXPECT_EQ(image.data<std::uint8_t>()[5], 0);
  spec.width = spec.height = 16384;
  const IoError error = error_of_bytes_of(make_bmp(spec, runs), {.keep_bytes = true});
  EXPECT_TRUE(says(error, "its canvas of 16384 x 16384 is more than")) << error.what();
}

TEST(ReadBmp, SkipsColoursThatNoPixelCanHave) {
  EXPECT_THAT(bytes_in(read_bytes_of(make_bmp({.width = 2, .bits = 1, .palette = {1, 2, 3}},
                                              std::string("\x40\0\0\0", 4)))
                           .image),
              ElementsAre(0, 0, 1, 0, 0, 2));
}

constexpr std::uint32_t kEmbeddedProfile = 0x4d424544;

std::string with_space(std::uint32_t space, const std::string& profile) {
  std::string bmp = make_bmp({.header = 124}, "\x03\x02\x01 ");
  bmp.replace(14 + 56, 4, test::little(space, 4));
  bmp.replace(14 + 112, 8,
              test::little(124 + 4, 4) + test::little(static_cast<std::uint32_t>(profile.size()), 4));
  return bmp + profile;
}

TEST(ReadBmp, TellsOfOtherProfiles) {
  constexpr std::uint32_t kSrgb = 0x73524742, kLinked = 0x4c494e4b;
  EXPECT_FALSE(read_bytes_of(with_space(0, "")).info.other_profile);
  EXPECT_FALSE(read_bytes_of(with_space(kSrgb, "")).info.other_profile);
  EXPECT_FALSE(read_bytes_of(with_space(kEmbeddedProfile, "this is sRGB")).info.other_profile);
  EXPECT_TRUE(read_bytes_of(with_space(kEmbeddedProfile, "this is Adobe RGB")).info.other_profile);
  EXPECT_TRUE(read_bytes_of(with_space(kLinked, "C:\\a.icc")).info.other_profile);
  std::string cut = with_space(kEmbeddedProfile, "this is sRGB");
  cut.resize(cut.size() - 1);
  EXPECT_TRUE(read_bytes_of(cut).info.other_profile);  // it is not there
}

std::vector<std::string> small_bmps() {
  return {make_bmp({.width = 3, .height = 2, .bits = 8, .palette = {0, 0x808080, 0xff}},
                   std::string("\0\x01\x02\0\x02\x01\0\0", 8)),
          make_bmp({.width = 4, .height = 2, .bits = 8, .packing = 1, .palette = {0, 0x808080, 0xff}},
                   std::string("\x04\x01\0\0\x04\x02\0\x01", 8)),
          make_bmp({.bits = 32, .header = 124, .packing = 3, .masks = {0xff0000, 0xff00, 0xff, 0xff000000}},
                   "\x03\x02\x01\x80"),
          with_space(kEmbeddedProfile, "this is sRGB").substr(0, 14 + 124 + 4)};
}

TEST(ReadBmp, RefusesOneCutAtAnyLength) {
  for (const std::string& whole : small_bmps())
    for (std::size_t length = 0; length < whole.size(); ++length)
      ASSERT_EQ(error_of_bytes_of(whole.substr(0, length)).kind(), IoError::Kind::malformed) << length;
}

TEST(ReadBmp, SurvivesAnyByteFlipped) {
  for (const std::string& whole : small_bmps()) EXPECT_GT(test::refused_of_flipped(whole), 20);
}

TEST(ReadBmp, SaysWhatBreaksTheFormat) {
  const auto says_of = [](const test::BmpSpec& spec, const char* text) {
    const IoError error = error_of_bytes_of(make_bmp(spec, std::string(64, '\x07')));
    EXPECT_TRUE(says(error, text)) << error.what();
  };
  says_of({.bits = 7}, "does not read 7 bits a pixel, packed in way 0");
  says_of({.packing = 4}, "packed in way 4");
  says_of({.width = 0}, "0 x 1");
  says_of({.bits = 8, .palette = {1, 2}}, "colour 7 of a palette of 2");
  says_of({.bits = 32, .packing = 3, .masks = {0xff00ff, 0xff, 0xff}}, "the mask of its channel 0");
  says_of({.bits = 32, .packing = 3, .masks = {0, 0xff, 0xff}}, "the mask of its channel 0");
  says_of({.width = 0x7fffffff, .height = 0x7fffffff}, "ends too early");
}

}  // namespace
}  // namespace veldt::io
