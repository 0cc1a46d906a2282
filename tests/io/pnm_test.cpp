// PBM, PGM, PPM and PAM, as text and as bytes, and what breaks their format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/read_bytes.h"

namespace veldt::io {
namespace {

using test::bytes_in;
using test::error_of_bytes_of;
using test::read_bytes_of;
using test::says;
using ::testing::ElementsAre;

std::vector<float> levels_in(const std::string& bytes) {
  return read_bytes_of(bytes, {}).image.values<float>();
}

TEST(ReadPnm, ReadsTextAndBytes) {
  const std::string zero(1, '\0');
  EXPECT_THAT(bytes_in(read_bytes_of("P1 3 2\n01 1\n1 0 0").image), ElementsAre(255, 0, 0, 0, 255, 255));
  EXPECT_THAT(bytes_in(read_bytes_of("P2\n# a comment\n2 1 # another\n255\n7 255\n").image),
              ElementsAre(7, 255));
  EXPECT_THAT(bytes_in(read_bytes_of("P1\n3 1\n# a comment\n1 0#another\n1\n").image),
              ElementsAre(0, 255, 0));
  EXPECT_THAT(bytes_in(read_bytes_of("P5\n3#of the width\n1 255#\nabc").image), ElementsAre('a', 'b', 'c'));
  EXPECT_THAT(bytes_in(read_bytes_of("P3 1 2 5 1 2 3  5 0 4").image), ElementsAre(51, 102, 153, 255, 0, 204));
  EXPECT_THAT(bytes_in(read_bytes_of("P4 9 2\n\x80\x80\x7f" + zero).image),
              ElementsAre(0, 255, 255, 255, 255, 255, 255, 255, 0, 255, 0, 0, 0, 0, 0, 0, 0, 255));
  EXPECT_THAT(bytes_in(read_bytes_of("P5 2 1 255\n\x07\xff").image), ElementsAre(7, 255));
  const auto [image, info] = read_bytes_of("P6 2 1\r255\r\x01\x02\x03\x04\x05\x06");
  EXPECT_EQ(image.shape(), (Shape{1, 2, 3}));
  EXPECT_THAT(bytes_in(image), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(info.format, ImageFormat::pnm);
  EXPECT_EQ(info.bit_depth, 8);
}

TEST(ReadPnm, ReadsPamWithAlpha) {
  const std::string head = "P7\nWIDTH 1\nHEIGHT 2\n";
  const auto [image, info] = read_bytes_of(
      head + "DEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n\x01\x02\x03\x04\x05\x06\x07\x08");
  EXPECT_EQ(image.shape(), (Shape{2, 1, 4}));
  EXPECT_THAT(bytes_in(image), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(info.channels, 4);
  EXPECT_THAT(bytes_in(read_bytes_of(head + "# no kind\nDEPTH 2\nMAXVAL 3\nENDHDR\n\x01\x02\x03\x01").image),
              ElementsAre(85, 170, 255, 85));
  // 1 is white, unlike in a PBM.
  EXPECT_THAT(bytes_in(read_bytes_of(head + "DEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nENDHDR\n\x01" +
                                     std::string(1, '\0'))
                           .image),
              ElementsAre(255, 0));
  const auto says_of = [&](const std::string& lines, const char* text) {
    const IoError error = error_of_bytes_of(head + lines);
    EXPECT_TRUE(says(error, text)) << error.what();
  };
  says_of("DEPTH 4\nMAXVAL 255\nTUPLTYPE CMYK\nENDHDR\n12345678", "a kind that Veldt does not know");
  says_of("DEPTH 4\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n12345678", "4 channels, and samples of 3");
  says_of("DEPTH 5\nMAXVAL 255\nENDHDR\n1234567890", "is 5, and 4 is the largest");
  says_of("COLOUR 1\n", "a line that no PAM has");
}

TEST(ReadPnm, DividesByTheLargestSample) {
  EXPECT_THAT(levels_in(std::string("P5 2 1 65535\n\x01\x02\xff\xff", 17)),
              ElementsAre(258 / 65535.0f, 1.0f));
  EXPECT_THAT(levels_in(std::string("P5 2 1 1023\n\x03\xff\0\x01", 16)), ElementsAre(1.0f, 1 / 1023.0f));
  EXPECT_THAT(levels_in("P2 2 1 100 50 100"), ElementsAre(0.5f, 1.0f));  // no whole bytes
  EXPECT_EQ(read_bytes_of("P2 1 1 1023 7").info.bit_depth, 10);
}

// A hundredth is no whole byte, so it takes four.
TEST(ReadPnm, CountsWhatIsNoByteAsFour) {
  const std::string hundredths = "P3 2 1 100 " + std::string("1 2 3 4 5 6"), bytes = "P3 2 1 51 1 2 3 4 5 6";
  EXPECT_EQ(read_bytes_of(hundredths, {.max_pixels = 6, .keep_bytes = true}).image.dtype(), DType::f32);
  const IoError error = error_of_bytes_of(hundredths, {.max_pixels = 5, .keep_bytes = true});
  EXPECT_TRUE(says(error, "2 pixels of 3 samples, each of which takes 4 bytes")) << error.what();
  EXPECT_EQ(read_bytes_of(bytes, {.max_pixels = 2, .keep_bytes = true}).image.dtype(), DType::u8);
}

TEST(ReadPnm, TellsOfMorePictures) {
  const std::string one("P5 2 1 255\n\x07\xff", 13);
  EXPECT_EQ(read_bytes_of(one).info.pictures, 1);
  EXPECT_EQ(read_bytes_of(one + one + "P4 1 1 \x80").info.pictures, 3);
  EXPECT_EQ(read_bytes_of(one + "\n").info.pictures, 1);
  for (const char* other :
       {"P", "PX", "P5", "P5 1 1", "P5 1 1 255\n", "P5 0 1 255\n1", "P2 1 1 255 7", "Px 1 1 1"})
    EXPECT_EQ(read_bytes_of(one + other).info.pictures, 1) << other;
}

TEST(ReadPnm, RefusesWhatBreaksTheFormat) {
  const auto says_of = [](const std::string& bytes, const char* text) {
    const IoError error = error_of_bytes_of(bytes);
    EXPECT_EQ(error.kind(), IoError::Kind::malformed);
    EXPECT_TRUE(says(error, text)) << error.what();
  };
  says_of("P5 0 1 255\n", "0 x 1");
  says_of("P5 1 1 0\n1", "0 levels");
  says_of("P5 1 1 65536\n1", "is 65536, and 65535 is the largest");
  says_of("P5 99999999999999999999 1 255\n1", "and 2147483647 is the largest");
  says_of("P5 2147483647 2147483647 255\n1", "ends too early");
  says_of("P1 100000 100000 1", "ends too early");
  says_of("P5 1 1 7\nA", "one of its samples is 65, and 7 is white");
  says_of("P3 1 1 7 1 2 9", "is 9, and 7 is the largest");
  says_of("P1 1 1 2", "neither 0 nor 1");
  says_of("P2 1 x 7 1", "not a number");
  says_of("P2 1 1 7", "ends too early");
  says_of("P2 " + std::string(100, '1'), "not a number");
}

TEST(ReadPnm, RefusesOneCutAtAnyLength) {
  for (const std::string& whole :
       {std::string("P6 2 2 65535\n123456789012345678901234"), std::string("P3 1 2 5 1 2 3 5 0 4"),
        std::string("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\nab")})
    for (std::size_t length = 0; length < whole.size(); ++length)
      ASSERT_EQ(error_of_bytes_of(whole.substr(0, length)).kind(), IoError::Kind::malformed)
          << whole.substr(0, length);
}

TEST(ReadPnm, SurvivesAnyByteFlipped) {
  EXPECT_GT(test::refused_of_flipped("P6 2 2 255\n123456789012"), 15);
  EXPECT_GT(test::refused_of_flipped("P3 2 1 255 1 2 3 255 4 5"), 15);
}

TEST(ReadPnm, LeavesOtherTextAlone) {
  for (const char* text : {"P8 1 1", "P5x", "P", "P7 332\n"}) {
    const IoError error = error_of_bytes_of(text);
    EXPECT_TRUE(says(error, "seems to be text")) << error.what();
  }
}

}  // namespace
}  // namespace veldt::io
