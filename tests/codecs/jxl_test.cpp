// JPEG XL: files that libjxl makes come back, whole or with their loss, and damaged ones are refused.
#ifdef VELDT_JXL_SONAME

#include <gmock/gmock.h>

#include "tests/codecs/make_jxl.h"

namespace veldt::io {
namespace {

using test::expect_read;
using test::Levels;
using test::make_jxl;
using test::read_bytes_of;
using test::some_levels;
using ::testing::FloatNear;
using ::testing::Pointwise;

TEST(ReadJxl, BringsEveryLevelBack) {
  for (const int bits : {8, 10, 12, 16})
    for (const int channels : {1, 2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << channels << " channels");
      const Levels levels = some_levels(19, 13, channels, bits);
      expect_read(make_jxl({}, levels), levels);
    }
}

// As the nearest of the levels of sixteen bits.
TEST(ReadJxl, ReadsFloatingPoint) {
  for (const int channels : {1, 4}) {
    const Levels levels = some_levels(19, 13, channels, 16);
    expect_read(make_jxl({.floats = true}, levels), levels);
  }
}

// libjxl 0.7 writes none, so one bit is set. It follows 16 bits of the signature, 15 of a size with sides of
// 2 to 1, 8 of the picture's form, and 10 of the form of an alpha of 10 bits (ISO/IEC 18181-1, headers).
TEST(ReadJxl, DividesByAnAlphaThatWasMultipliedIn) {
  std::string bytes = make_jxl({}, {2, 1, 4, 10, {50, 100, 0, 100, 7, 8, 9, 1023}});
  char& byte = bytes.at(bytes.find("\xff\x0a") + 49 / 8);
  ASSERT_EQ(byte & (1 << 49 % 8), 0);
  byte = static_cast<char>(byte | 1 << 49 % 8);
  EXPECT_THAT(read_bytes_of(bytes).image.values<float>(),
              Pointwise(FloatNear(1e-4f), {0.5f, 1.0f, 0.0f, 100 / 1023.0f,  //
                                           7 / 1023.0f, 8 / 1023.0f, 9 / 1023.0f, 1.0f}));
}

TEST(ReadJxl, TellsOfChannelsThatAreLeftOut) {
  for (const int channels : {3, 4}) {
    const Levels levels = some_levels(7, 5, channels, 8);
    const auto [image, info] = read_bytes_of(make_jxl({.depth = true}, levels));
    EXPECT_EQ(test::bytes_in(image), levels.samples);
    EXPECT_EQ(left_out(info), "has 1 extra channel, which is left out");
    EXPECT_EQ(left_out(read_bytes_of(make_jxl({}, levels)).info), "");
  }
}

// Its colours are sRGB's again, whatever it keeps them in.
TEST(ReadJxl, ComesCloseToWhatWasMadeWithLoss) {
  Levels levels{32, 32, 3, 8, {}};
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 32; ++x)
      for (const int value : {x * 7, y * 7, 255 - x * 3 - y * 3}) levels.samples.push_back(value);
  const auto [image, info] = read_bytes_of(make_jxl({.lossless = false}, levels));
  const std::vector<int> bytes = test::bytes_in(image);
  double sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += std::abs(bytes[i] - levels.samples[i]);
  EXPECT_LT(sum / static_cast<double>(bytes.size()), 4);
  EXPECT_FALSE(info.other_profile);
}

TEST(ReadJxl, TurnsThePicture) {
  for (int orientation = 1; orientation <= 8; ++orientation)
    test::expect_seen(make_jxl({.orientation = orientation}, {3, 2, 1, 8, {1, 2, 3, 4, 5, 6}}), orientation);
}

TEST(ReadJxl, TellsOfFramesAndOtherColours) {
  const Levels levels = some_levels(8, 8, 3, 8);
  EXPECT_EQ(read_bytes_of(make_jxl({.frames = 3}, levels)).info.pictures, 3);
  EXPECT_FALSE(read_bytes_of(make_jxl({}, levels)).info.other_profile);
  EXPECT_TRUE(read_bytes_of(make_jxl({.primaries = JXL_PRIMARIES_2100}, levels)).info.other_profile);
}

TEST(ReadJxl, RefusesOneCutAtAnyLength) {
  test::expect_refused_at_any_length(make_jxl({}, some_levels(7, 5, 3, 8)));
}

TEST(ReadJxl, SurvivesAnyByteFlipped) {
  EXPECT_GT(test::refused_of_flipped(make_jxl({}, some_levels(7, 5, 4, 8))), 50);
}

// 70 bytes that claim 2^30 x 2^30 pixels: their first bits are no small size; twice "30 bits follow", which
// are all ones; and a header that is all default.
TEST(ReadJxl, RefusesASizeThatItCannotHold) {
  std::string bytes = "\xff\x0a";
  std::vector<int> bits{0, 1, 1};
  bits.insert(bits.end(), 30, 1);
  bits.insert(bits.end(), {0, 0, 0, 1, 1});
  bits.insert(bits.end(), 31, 1);
  for (std::size_t i = 0; i < bits.size(); i += 8) {
    int byte = 0;
    for (std::size_t j = 0; j < 8 && i + j < bits.size(); ++j) byte |= bits[i + j] << j;
    bytes += static_cast<char>(byte);
  }
  const IoError error = test::error_of_bytes_of(bytes + std::string(60, '\0'));
  EXPECT_TRUE(test::says(error, "too large: 1073741824 x 1073741824")) << error.what();
}

}  // namespace
}  // namespace veldt::io

#endif
