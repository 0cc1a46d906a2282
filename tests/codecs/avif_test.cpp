// AVIF: files that libavif makes come back level by level, turned as they say, and damaged ones are refused.
#ifdef VELDT_AVIF_SONAME

#include <gmock/gmock.h>

#include "tests/codecs/make_avif.h"

namespace veldt::io {
namespace {

using test::AvifSpec;
using test::expect_read;
using test::Levels;
using test::make_avif;
using test::read_bytes_of;
using test::some_levels;
using ::testing::ElementsAre;

TEST(ReadAvif, BringsEveryLevelBack) {
  for (const int bits : {8, 10, 12})
    for (const int channels : {1, 2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << channels << " channels");
      const Levels levels = some_levels(19, 13, channels, bits);
      expect_read(make_avif({}, levels), levels);
    }
}

TEST(ReadAvif, TurnsMirrorsAndCrops) {
  constexpr int kTurned[] = {1, 8, 3, 6}, kMirrored[][2] = {{4, 2}, {5, 7}, {2, 4}, {7, 5}};
  const Levels levels{3, 2, 1, 8, {1, 2, 3, 4, 5, 6}};
  for (int quarters = 0; quarters < 4; ++quarters) {
    test::expect_seen(make_avif({.quarters = quarters}, levels), kTurned[quarters]);
    for (const int mirror : {0, 1})
      test::expect_seen(make_avif({.quarters = quarters, .mirror = mirror}, levels),
                        kMirrored[quarters][mirror]);
  }
  EXPECT_THAT(test::bytes_in(read_bytes_of(make_avif({.crop = {1, 0, 2, 1}}, levels)).image),
              ElementsAre(2, 3));
}

TEST(ReadAvif, DividesByAnAlphaThatWasMultipliedIn) {
  const Levels levels{2, 1, 4, 8, {50, 100, 0, 100, 7, 8, 9, 255}};
  EXPECT_THAT(test::bytes_in(read_bytes_of(make_avif({.multiplied = true}, levels)).image),
              ElementsAre(testing::AnyOf(127, 128), 255, 0, 100, 7, 8, 9, 255));
}

TEST(ReadAvif, TellsOfFramesAndOtherColours) {
  const Levels levels = some_levels(16, 16, 3, 8);
  const auto [image, info] = read_bytes_of(make_avif({.frames = 3}, levels));
  EXPECT_EQ(info.pictures, 3);
  EXPECT_EQ(test::bytes_in(image), levels.samples);
  EXPECT_FALSE(info.other_profile);
  EXPECT_TRUE(
      read_bytes_of(make_avif({.primaries = AVIF_COLOR_PRIMARIES_BT2020}, levels)).info.other_profile);
}

TEST(ReadAvif, RefusesOneCutAtAnyLength) {
  test::expect_refused_at_any_length(make_avif({}, some_levels(5, 4, 3, 8)));
}

TEST(ReadAvif, SurvivesAnyByteFlipped) {
  EXPECT_GT(test::refused_of_flipped(make_avif({}, some_levels(5, 4, 4, 10))), 100);
}

TEST(ReadAvif, HoldsToMaxPixels) {
  const std::string bytes = make_avif({}, some_levels(20, 20, 3, 8));
  const test::TempDir dir;
  test::put_bytes(dir / "a", bytes);
  const IoError error =
      test::thrown_by<IoError>([&] { read_image(dir / "a", {.max_pixels = 399, .keep_bytes = true}); });
  EXPECT_TRUE(test::says(error, "400 pixels and 399 are allowed")) << error.what();
}

}  // namespace
}  // namespace veldt::io

#endif
