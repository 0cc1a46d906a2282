// GIF: codes of every length, transparency and damage, against pictures made byte by byte; and what is
// animated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/io/make_gif.h"
#include "tests/io/make_png.h"
#include "tests/io/read_bytes.h"

namespace veldt::io {
namespace {

using test::bytes_in;
using test::error_of_bytes_of;
using test::GifFrame;
using test::make_gif;
using test::read_bytes_of;
using test::says;
using ::testing::ElementsAre;

const std::string kColours("\x01\x02\x03\x0a\x14\x1e\x64\x65\x66\xff\x00\x07", 12);

TEST(ReadGif, TakesTheColoursOfItsPalette) {
  const auto [image, info] = read_bytes_of(
      make_gif(3, 1, kColours, {{.width = 3, .numbers = {3, 0, 1}}, {.width = 3, .numbers = {0, 0, 0}}}));
  EXPECT_EQ(image.shape(), (Shape{1, 3, 3}));
  EXPECT_THAT(bytes_in(image), ElementsAre(255, 0, 7, 1, 2, 3, 10, 20, 30));
  EXPECT_EQ(info.format, ImageFormat::gif);
  EXPECT_TRUE(info.palette && !info.interlaced);
  EXPECT_EQ(info.bit_depth, 2);
  EXPECT_EQ(info.pictures, 2);
  EXPECT_EQ(left_out(info), "has 2 pictures; the first is taken");
  // A frame's own palette comes first; one of greys is grey.
  const std::string greys("\x05\x05\x05\x09\x09\x09", 6);
  EXPECT_THAT(
      bytes_in(
          read_bytes_of(make_gif(2, 1, kColours, {{.width = 2, .numbers = {1, 0}, .palette = greys}})).image),
      ElementsAre(9, 5));
}

TEST(ReadGif, MakesTransparencyAlpha) {
  const Tensor keyed =
      read_bytes_of(make_gif(2, 1, kColours, {{.width = 2, .numbers = {1, 3}, .transparent = 1}})).image;
  EXPECT_THAT(bytes_in(keyed), ElementsAre(10, 20, 30, 0, 255, 0, 7, 255));
  // What the frame does not cover of its canvas is transparent too.
  const Tensor part =
      read_bytes_of(make_gif(3, 2, kColours, {{.left = 1, .top = 1, .width = 2, .numbers = {1, 3}}})).image;
  EXPECT_EQ(part.shape(), (Shape{2, 3, 4}));
  EXPECT_THAT(bytes_in(part), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                          0, 0, 0, 0, 10, 20, 30, 255, 255, 0, 7, 255));
  // One that is nowhere seen is dropped.
  EXPECT_EQ(read_bytes_of(make_gif(1, 1, kColours, {{.numbers = {0}, .transparent = 1}})).info.channels, 4);
  EXPECT_EQ(read_bytes_of(make_gif(1, 1, kColours, {{.numbers = {0}, .transparent = 1}})).image.size(2), 3);
  // A frame that is larger than its canvas counts, as in browsers.
  EXPECT_EQ(
      read_bytes_of(make_gif(0, 0, kColours, {{.left = 1, .width = 2, .numbers = {1, 3}}})).image.shape(),
      (Shape{1, 3, 4}));
}

// Numbers of all sizes, and all tables of codes: short, full, full and kept.
TEST(ReadGif, ReadsCodesOfEveryLength) {
  for (int bits = 2; bits <= 8; ++bits)
    for (const int side : {1, 5, 40, 300})
      for (const bool interlaced : {false, true})
        for (const bool clears : {false, true}) {
          GifFrame frame{.width = side, .height = side, .bits = bits};
          frame.interlaced = interlaced;
          frame.clears = clears;
          std::string palette;
          for (int i = 0; i < 1 << bits; ++i) palette += std::string(3, static_cast<char>(i));
          std::uint32_t state = 1;
          for (int i = 0; i < side * side; ++i) {
            if (i % 3 != 0) state = state * 1664525u + 1013904223u;
            frame.numbers.push_back(static_cast<int>(state >> 24) & ((1 << bits) - 1));
          }
          const auto [image, info] = read_bytes_of(make_gif(side, side, palette, {frame}));
          ASSERT_EQ(info.interlaced, interlaced);
          std::vector<int> rows;
          if (interlaced) {
            for (const auto& [first, step] : {std::pair(0, 8), {4, 8}, {2, 4}, {1, 2}})
              for (int y = first; y < side; y += step) rows.push_back(y);
          } else {
            for (int y = 0; y < side; ++y) rows.push_back(y);
          }
          std::vector<int> expected(frame.numbers.size());
          for (int y = 0; y < side; ++y)
            std::copy_n(frame.numbers.begin() + y * side, side,
                        expected.begin() + rows[static_cast<std::size_t>(y)] * side);
          ASSERT_EQ(bytes_in(image), expected) << bits << " bits, " << side << " wide";
        }
}

// One that is cut after its first frame still has that one.
TEST(ReadGif, RefusesOneCutWithinItsFirstFrame) {
  const GifFrame first{.width = 9, .height = 3, .numbers = std::vector<int>(27, 2)};
  const std::string one = make_gif(9, 3, kColours, {first});
  const std::string whole =
      make_gif(9, 3, kColours, {first, {.numbers = {1}, .palette = kColours, .transparent = 0}});
  EXPECT_EQ(read_bytes_of(whole).info.pictures, 2);
  for (std::size_t length = 0; length + 1 < one.size(); ++length)
    ASSERT_EQ(error_of_bytes_of(whole.substr(0, length)).kind(), IoError::Kind::malformed) << length;
  for (std::size_t length = one.size() - 1; length + 1 < whole.size(); ++length) {
    const auto [image, info] = read_bytes_of(whole.substr(0, length));
    ASSERT_EQ(bytes_in(image), bytes_in(read_bytes_of(one).image)) << length;
    ASSERT_EQ(info.pictures, 1) << length;
  }
  EXPECT_EQ(read_bytes_of(whole.substr(0, whole.size() - 1)).info.pictures, 2);
}

// As other programs write it.
TEST(ReadGif, TakesZerosBetweenBlocksAndNumbersOfOneBit) {
  const std::string one = make_gif(1, 1, kColours, {{.numbers = {2}}}), end(1, '\x3b');
  const std::string start = one.substr(0, one.size() - 1), zeros(3, '\0');
  EXPECT_THAT(bytes_in(read_bytes_of(start + zeros + end).image), ElementsAre(100, 101, 102));
  const std::string two = start + zeros + one.substr(13 + kColours.size());
  EXPECT_EQ(read_bytes_of(two).info.pictures, 2);
  EXPECT_EQ(read_bytes_of(start + "no block").info.pictures, 1);
  EXPECT_THAT(bytes_in(read_bytes_of(make_gif(4, 1, kColours.substr(0, 6),
                                              {{.width = 4, .numbers = {0, 1, 1, 0}, .bits = 1}}))
                           .image),
              ElementsAre(1, 2, 3, 10, 20, 30, 10, 20, 30, 1, 2, 3));
}

TEST(ReadGif, SurvivesAnyByteFlipped) {
  GifFrame frame{.width = 9, .height = 3, .numbers = {}, .transparent = 2};
  for (int i = 0; i < 27; ++i) frame.numbers.push_back(i * i % 4);
  const std::string whole = make_gif(10, 4, kColours, {frame, frame});
  EXPECT_GT(test::refused_of_flipped(whole), 50);
}

TEST(ReadGif, RefusesSizesThatItCannotHold) {
  const IoError large = error_of_bytes_of(make_gif(65535, 65535, kColours, {{.numbers = {0}}}));
  EXPECT_TRUE(says(large, "too large: 65535 x 65535")) << large.what();
  const IoError bomb =
      error_of_bytes_of(make_gif(1, 1, kColours, {{.width = 1000, .height = 1000, .numbers = {0}}}));
  EXPECT_TRUE(says(bomb, "ends too early")) << bomb.what();
  // Room for a frame of one pixel, within what is allowed.
  const IoError canvas =
      error_of_bytes_of(make_gif(16384, 16384, kColours, {{.numbers = {0}}}), {.keep_bytes = true});
  EXPECT_TRUE(says(canvas, "its canvas of 16384 x 16384 is more than")) << canvas.what();
  const Tensor usual = read_bytes_of(make_gif(3000, 2000, kColours, {{.numbers = {0}}})).image;
  EXPECT_EQ(usual.shape(), (Shape{2000, 3000, 4}));
}

TEST(ReadGif, SaysWhatBreaksTheFormat) {
  const auto says_of = [](const std::string& bytes, const char* text) {
    const IoError error = error_of_bytes_of(bytes);
    EXPECT_TRUE(says(error, text)) << error.what();
  };
  says_of(make_gif(1, 1, "", {{.numbers = {0}}}), "no colours");
  says_of(make_gif(1, 1, kColours, {}), "no picture");
  says_of(make_gif(1, 1, kColours, {{.width = 0, .numbers = {0}}}), "no pixels");
  says_of(make_gif(2, 2, kColours, {{.width = 2, .height = 2, .numbers = {0, 1}}}), "end too early");
  says_of(make_gif(1, 1, std::string(6, '\x01'), {{.numbers = {3}}}), "colour 3 of a palette of 2");
  says_of(make_gif(1, 1, kColours, {{.numbers = {0}, .bits = 9}}), "9 bits");
}

std::string with_chunks(const std::string& chunks) {
  const std::string png = test::make_png({}, {7});
  const std::size_t at = png.find("IDAT") - 4;
  return png.substr(0, at) + chunks + png.substr(at);
}

std::string apng(bool first_is_frame, std::uint32_t frames = 12) {
  std::string chunks = test::chunk("acTL", test::big_endian(frames) + test::big_endian(0));
  if (first_is_frame) chunks += test::chunk("fcTL", std::string(26, '\0'));
  return with_chunks(chunks);
}

// The name is that of the chunk, which says nothing.
std::string with_profile(const std::string& profile) {
  std::string packed(::compressBound(profile.size()), '\0');
  uLongf bytes = packed.size();
  EXPECT_EQ(::compress(reinterpret_cast<Bytef*>(packed.data()), &bytes,
                       reinterpret_cast<const Bytef*>(profile.data()), profile.size()),
            Z_OK);
  return with_chunks(test::chunk("iCCP", std::string("ICC Profile sRGB\0\0", 18) + packed.substr(0, bytes)));
}

TEST(ReadPng, TellsOfAnAnimation) {
  EXPECT_EQ(read_bytes_of(apng(true)).info.pictures, 12);
  EXPECT_EQ(read_bytes_of(apng(false)).info.pictures, 13);
  EXPECT_EQ(read_bytes_of(apng(true, 1)).info.pictures, 1);
  EXPECT_EQ(read_bytes_of(apng(false, 1)).info.pictures, 2);  // a picture for programs without animations
  EXPECT_EQ(read_bytes_of(apng(true, 0)).info.pictures, 1);
  EXPECT_THAT(bytes_in(read_bytes_of(apng(true)).image), ElementsAre(7));
  EXPECT_EQ(read_bytes_of(test::make_png({}, {7})).info.pictures, 1);
  EXPECT_EQ(left_out(read_bytes_of(test::make_png({}, {7})).info), "");
}

TEST(ReadPng, TellsOfAProfileThatIsNotSrgb) {
  const std::string before(300, 'x');
  EXPECT_FALSE(read_bytes_of(with_profile(before + "sRGB IEC61966-2.1")).info.other_profile);
  EXPECT_FALSE(read_bytes_of(with_profile(before + std::string("s\0R\0G\0B", 7))).info.other_profile);
  const ImageInfo info = read_bytes_of(with_profile(before + "Display P3")).info;
  EXPECT_TRUE(info.other_profile);
  EXPECT_EQ(left_out(info), "has a colour profile other than sRGB, which is left out");
  // One that unpacks to 16 MB is not followed to its end; one that does not unpack is no sRGB.
  EXPECT_TRUE(read_bytes_of(with_profile(std::string(1 << 24, 'x') + "sRGB")).info.other_profile);
  EXPECT_TRUE(
      read_bytes_of(with_chunks(test::chunk("iCCP", std::string("a\0\0data", 7)))).info.other_profile);
}

}  // namespace
}  // namespace veldt::io
