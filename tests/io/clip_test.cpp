// Animated pictures in: frames over frames, durations, limits and damage, against pictures made by hand, and
// what Veldt itself writes.
#include "veldt/io/clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/make_gif.h"
#include "tests/io/make_png.h"
#include "tests/io/read_bytes.h"
#include "veldt/io/animation.h"

namespace veldt::io {
namespace {

using test::GifFrame;
using test::make_gif;
using test::says;
using ::testing::ElementsAre;

const std::string kFour("\x01\x01\x01\x0a\x0a\x0a\x64\x64\x64\xff\xff\xff", 12);  // greys

Clip clip_of(const std::string& bytes, const ReadOptions& options = {}) {
  const test::TempDir dir = test::TempDir::in_memory();
  test::put_bytes(dir / "a", bytes);
  return read_clip(dir / "a", options);
}

IoError refusal_of(const std::string& bytes, const ReadOptions& options = {}) {
  return test::thrown_by<IoError>([&] { clip_of(bytes, options); });
}

// The levels of one frame.
std::vector<int> frame(const Clip& clip, std::int64_t i) {
  const std::vector<int> all = test::bytes_in(clip.frames);
  const std::int64_t each = clip.frames.numel() / clip.frames.size(0);
  return {all.begin() + i * each, all.begin() + (i + 1) * each};
}

TEST(ReadClip, LaysTheFramesOfAGifOverEachOther) {
  const GifFrame ground{.width = 3, .numbers = {0, 1, 2}, .hundredths = 7};
  GifFrame over{.left = 1, .width = 2, .numbers = {3, 0}, .transparent = 0, .hundredths = 50};
  for (const auto& [disposal, third] : std::vector<std::pair<int, std::vector<int>>>{
           {1, {255, 255, 100}}, {2, {255, 0, 0}}, {3, {255, 10, 100}}}) {
    over.disposal = disposal;
    const Clip clip = clip_of(make_gif(3, 1, kFour, {ground, over, {.numbers = {3}}}));
    EXPECT_THAT(clip.seconds, ElementsAre(0.07, 0.5, 0.1));
    EXPECT_NEAR(clip.duration(), 0.67, 1e-12);
    ASSERT_EQ(clip.frames.shape(), (Shape{3, 1, 3, disposal == 2 ? 2 : 1}));
    if (disposal == 2) {  // what is cleared is transparent
      EXPECT_THAT(frame(clip, 2), ElementsAre(255, 255, 0, 0, 0, 0));
      continue;
    }
    EXPECT_THAT(frame(clip, 0), ElementsAre(1, 10, 100));
    EXPECT_THAT(frame(clip, 1), ElementsAre(1, 255, 100));
    EXPECT_EQ(frame(clip, 2), third);
  }
}

std::string control(std::uint32_t order, int width, int height, int left, int top, int dispose, int blend,
                    int part = 1, int of = 20) {
  std::string data = test::big_endian(order);
  for (const int number : {width, height, left, top})
    data += test::big_endian(static_cast<std::uint32_t>(number));
  for (const int number : {part, of}) data += test::big_endian(static_cast<std::uint32_t>(number)).substr(2);
  return test::chunk("fcTL", data + static_cast<char>(dispose) + static_cast<char>(blend));
}

// The data of the one IDAT of a PNG of rgba.
std::string picture_data(int width, int height, const std::vector<int>& samples) {
  const std::string png =
      test::make_png({.width = width, .height = height, .type = PNG_COLOR_TYPE_RGB_ALPHA}, samples);
  const std::size_t at = png.find("IDAT");
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(png[at - 4 + i])}; };
  return png.substr(at + 4, byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3));
}

const std::vector<int> kRed = {255, 0, 0, 255}, kHalf = {0, 255, 0, 128}, kNone = {0, 0, 0, 0};

std::vector<int> joined(const std::vector<std::vector<int>>& pixels) {
  std::vector<int> all;
  for (const std::vector<int>& pixel : pixels) all.insert(all.end(), pixel.begin(), pixel.end());
  return all;
}

// Two red pixels, then one at the right with what is given, then a transparent one at the left.
std::string three_frames(int dispose, int blend) {
  const std::string png =
      test::make_png({.width = 2, .type = PNG_COLOR_TYPE_RGB_ALPHA}, joined({kRed, kRed}));
  const std::size_t at = png.find("IDAT") - 4, end = png.find("IEND") - 4;
  return png.substr(0, at) + test::chunk("acTL", test::big_endian(3) + test::big_endian(0)) +
         control(0, 2, 1, 0, 0, 0, 0) + png.substr(at, end - at) +
         control(1, 1, 1, 1, 0, dispose, blend, 3, 0) +
         test::chunk("fdAT", test::big_endian(2) + picture_data(1, 1, kHalf)) +
         control(3, 1, 1, 0, 0, 0, 1, 0) +
         test::chunk("fdAT", test::big_endian(4) + picture_data(1, 1, kNone)) + png.substr(end);
}

TEST(ReadClip, LaysTheFramesOfAnApngOverEachOther) {
  const std::vector<int> mixed = {127, 128, 0, 255};
  const Clip replaced = clip_of(three_frames(0, 0)), over = clip_of(three_frames(0, 1));
  EXPECT_THAT(replaced.seconds, ElementsAre(0.05, 0.03, 0.1));
  EXPECT_EQ(frame(replaced, 1), joined({kRed, kHalf}));
  EXPECT_EQ(frame(replaced, 2), joined({kRed, kHalf}));
  // Opaque: without alpha.
  EXPECT_EQ(over.frames.shape(), (Shape{3, 1, 2, 3}));
  EXPECT_THAT(frame(over, 1), ElementsAre(255, 0, 0, mixed[0], mixed[1], mixed[2]));
  EXPECT_EQ(frame(clip_of(three_frames(1, 1)), 2), joined({kRed, kNone}));
  EXPECT_THAT(frame(clip_of(three_frames(2, 1)), 2), ElementsAre(255, 0, 0, 255, 0, 0));
}

TEST(ReadClip, GivesBackWhatVeldtWrites) {
  const test::TempDir dir = test::TempDir::in_memory();
  for (const int channels : {1, 2, 3, 4}) {
    Animation film({5, 4}, channels);
    std::vector<int> all;
    for (int f = 0; f < 3; ++f) {
      std::vector<std::uint8_t> pixels;
      for (int i = 0; i < 20 * channels; ++i)
        pixels.push_back(static_cast<std::uint8_t>(i % 7 == 0 ? 40 * f + i : 200 - i));
      all.insert(all.end(), pixels.begin(), pixels.end());
      film.add(pixels, 0.25);
    }
    film.write(dir / "a.apng");
    EXPECT_TRUE(is_clip(dir / "a.apng"));
    const Clip clip = read_clip(dir / "a.apng");
    EXPECT_EQ(clip.frames.shape(), (Shape{3, 4, 5, channels}));
    EXPECT_EQ(test::bytes_in(clip.frames), all) << channels;
    EXPECT_THAT(clip.seconds, ElementsAre(0.25, 0.25, 0.25));
    EXPECT_EQ(read_picture(dir / "a.apng").info.pictures, 3);
    EXPECT_NEAR(static_cast<double>(film.bytes()),
                static_cast<double>(std::filesystem::file_size(dir / "a.apng")), 200);
  }
}

TEST(ReadClip, RefusesSizesBeforeItDecodes) {
  const std::vector<GifFrame> many(100, {.numbers = {0}});
  EXPECT_TRUE(says(refusal_of(make_gif(2000, 2000, kFour, many)), "100 frames of 2000 x 2000"));
  const IoError empty = refusal_of(make_gif(2000, 2000, kFour, {many.begin(), many.begin() + 50}));
  EXPECT_TRUE(says(empty, "is more than its")) << empty.what();
  EXPECT_TRUE(says(refusal_of(make_gif(1, 1, kFour, {{.width = 900, .height = 900, .numbers = {0}}})),
                   "ends too early"));
  EXPECT_TRUE(says(refusal_of(three_frames(0, 0), {.max_pixels = 5}), "3 frames of 2 x 1"));
  EXPECT_TRUE(says(refusal_of(test::make_png({}, {7})), "not animated"));
  EXPECT_TRUE(says(refusal_of("P5 1 1 255\na"), "it is a PNM"));
  EXPECT_TRUE(says(refusal_of("text"), "it seems to be"));
}

// Every cut, and every byte flipped: refused as malformed, or a clip of the same size. Of an APNG each chunk
// has a checksum, so that only what is between them may change.
TEST(ReadClip, SurvivesDamage) {
  GifFrame moving{.left = 1, .width = 2, .numbers = {3, 0}, .transparent = 0, .disposal = 3};
  for (const std::string& whole :
       {make_gif(3, 1, kFour, {{.width = 3, .numbers = {0, 1, 2}}, moving}), three_frames(2, 1)}) {
    for (std::size_t length = 0; length + 1 < whole.size(); ++length)
      ASSERT_EQ(refusal_of(whole.substr(0, length)).kind(), IoError::Kind::malformed) << length;
    int refused = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
      try {
        EXPECT_LE(clip_of(bytes, {.max_pixels = 1 << 16}).frames.numel(), 4 << 16);
      } catch (const IoError& error) {
        EXPECT_EQ(error.kind(), IoError::Kind::malformed) << error.what();
        ++refused;
      }
    }
    EXPECT_GT(refused, whole[0] == 'G' ? 20 : static_cast<int>(whole.size()) - 30);
  }
}

}  // namespace
}  // namespace veldt::io
