// HEIF: files that libheif makes come back level by level, and a decoder that is missing is named.
#ifdef VELDT_HEIF_SONAME

#include <gmock/gmock.h>

#include "tests/codecs/make_heif.h"
#include "tests/support/error_of.h"

// An encoder of x265 3.5 leaks its statistics, and libheif 1.15 a picture whose data do not fit it.
#ifdef __SANITIZE_ADDRESS__
extern "C" const char* __lsan_default_suppressions() {
  return "leak:x265_malloc\nleak:heif_image_create\n";
}  // NOLINT: its name
#endif

namespace veldt::io {
namespace {

using test::expect_read;
using test::Levels;
using test::make_heif;
using test::put_bytes;
using test::read_bytes_of;
using test::some_levels;
using test::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;

class ReadHeif : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::heif_is_whole()) GTEST_SKIP() << "this libheif does not write or read HEVC";
  }
};

TEST_F(ReadHeif, BringsEveryLevelBack) {
  for (const int bits : {8, 10, 12})
    for (const int channels : {3, 4}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << channels << " channels");
      const Levels levels = some_levels(64, 64, channels, bits);
      expect_read(make_heif({}, levels), levels);
    }
}

TEST_F(ReadHeif, TurnsThePicture) {
  // Blocks of 32 pixels for each of the numbers: a smaller picture is filled up.
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Levels levels{96, 64, 3, 8, {}};
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 96; ++x)
        for (int c = 0; c < 3; ++c) levels.samples.push_back(1 + x / 32 + 3 * (y / 32));
    const Tensor image = read_bytes_of(make_heif({.orientation = orientation}, levels)).image;
    const std::vector<int> bytes = test::bytes_in(image);
    std::vector<int> seen;
    for (std::int64_t y = 16; y < image.size(0); y += 32)
      for (std::int64_t x = 16; x < image.size(1); x += 32)
        seen.push_back(bytes[static_cast<std::size_t>((y * image.size(1) + x) * 3)]);
    EXPECT_EQ(seen, test::kSeen[static_cast<std::size_t>(orientation - 1)]) << orientation;
  }
}

TEST_F(ReadHeif, DividesByAnAlphaThatWasMultipliedIn) {
  Levels levels{64, 64, 4, 8, {}};
  for (int i = 0; i < 64 * 64; ++i) levels.samples.insert(levels.samples.end(), {50, 100, 0, 100});
  std::vector<int> first = test::bytes_in(read_bytes_of(make_heif({.multiplied = true}, levels)).image);
  first.resize(4);
  EXPECT_THAT(first, testing::ElementsAre(128, 255, 0, 100));
}

// One that calls its picture's codec VVC.
TEST_F(ReadHeif, SaysThatADecoderIsMissing) {
  if (heif_get_version_number() >= 0x01100000) GTEST_SKIP() << "this libheif knows VVC";
  std::string bytes = make_heif({}, some_levels(64, 64, 3, 8));
  bytes.replace(bytes.find("hvc1"), 4, "vvc1");
  const TempDir dir;
  put_bytes(dir / "a", bytes);
  const std::string error = test::error_of<Error>([&] { read_image(dir / "a"); });
  EXPECT_THAT(error, HasSubstr("this machine's libheif has no decoder for it"));
  EXPECT_THAT(error, HasSubstr("convert it to PNG, JPEG or WebP"));
  EXPECT_THAT(error, Not(HasSubstr("apt-get")));
}

TEST_F(ReadHeif, SaysThatItMayBeOfAnotherKind) {
  std::string bytes = make_heif({}, some_levels(64, 64, 3, 8));
  bytes.replace(bytes.find("hvc1"), 4, "xxxx");
  const IoError error = test::error_of_bytes_of(bytes);
  EXPECT_EQ(error.kind(), IoError::Kind::malformed);
  EXPECT_TRUE(test::says(error, "or of a kind that this libheif does not know")) << error.what();
}

TEST_F(ReadHeif, TellsOfMorePicturesAndOtherColours) {
  const Levels levels = some_levels(64, 64, 3, 8);
  EXPECT_EQ(read_bytes_of(make_heif({.pictures = 2}, levels)).info.pictures, 2);
  EXPECT_FALSE(read_bytes_of(make_heif({}, levels)).info.other_profile);
  EXPECT_TRUE(read_bytes_of(make_heif({.primaries = 12}, levels)).info.other_profile);
  std::string unknown = make_heif({}, levels);
  unknown.at(unknown.find("nclx") + 5) = '\xc8';
  EXPECT_TRUE(read_bytes_of(unknown).info.other_profile);
}

TEST_F(ReadHeif, RefusesOneCutAtAnyLength) {
  const std::string whole = make_heif({}, {64, 64, 3, 8, std::vector<int>(64 * 64 * 3, 99)});
  test::expect_refused_at_any_length(whole);
}

TEST_F(ReadHeif, SurvivesAnyByteFlipped) {
  EXPECT_GT(test::refused_of_flipped(make_heif({}, {64, 64, 3, 8, std::vector<int>(64 * 64 * 3, 99)})), 100);
}

}  // namespace
}  // namespace veldt::io

#endif
