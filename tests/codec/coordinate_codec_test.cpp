// Drawings as a few hundred bytes: they come back exactly, and what was promised about their size holds.
#include "veldt/codec/coordinate_codec.h"

#include <gtest/gtest.h>

#include <ostream>
#include <random>

#include "veldt/core/error.h"

namespace veldt::codec {
namespace {

struct Levels {
  std::vector<std::uint8_t> bytes;  // [height, width, channels]
  Size size;
  std::int64_t channels;
};

std::ostream& operator<<(std::ostream& out, const Levels& p) {
  return out << p.size.width << "x" << p.size.height << " of " << p.channels;
}

template <class Level>
Levels drawn(std::int64_t height, std::int64_t width, std::int64_t channels, const Level& level) {
  Levels out{{}, {width, height}, channels};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c)
        out.bytes.push_back(static_cast<std::uint8_t>(level(x, y, c)));
  return out;
}

Drawing drawing_in(const Levels& picture) {
  return drawing_of(picture.bytes, picture.size, picture.channels);
}

// FNV-1a.
std::uint32_t digest_of(std::string_view bytes) {
  std::uint32_t digest = 2166136261u;
  for (const char byte : bytes) digest = (digest ^ static_cast<unsigned char>(byte)) * 16777619u;
  return digest;
}

// Packs exactly, sees that it comes back, and returns the bytes.
std::size_t packed(const Levels& picture) {
  const std::string body = write_exactly(drawing_in(picture));
  const CoordinatePicture back = read_coordinates(body, picture.size, picture.channels);
  EXPECT_EQ(back.pixels, picture.bytes) << picture << " in " << body.size() << " bytes";
  return body.size();
}

TEST(CoordinateCodec, AnySizeComesBack) {
  std::mt19937 random(1);
  for (const Size size : {Size{1, 1}, {1, 9}, {17, 1}, {2, 2}, {7, 5}, {33, 3}})
    for (std::int64_t channels = 1; channels <= 4; ++channels)
      for (const unsigned levels : {2u, 5u, 256u}) {
        const Levels picture = drawn(size.height, size.width, channels, [&](auto, auto, auto) {
          return random() % levels * (255 / (levels - 1));
        });
        EXPECT_LE(packed(picture), picture.bytes.size() + 16) << picture;
      }
}

TEST(CoordinateCodec, OneColourTakesNextToNothing) {
  EXPECT_LE(packed(drawn(200, 200, 1, [](auto, auto, auto) { return 255; })), 8u);
  EXPECT_LE(packed(drawn(64, 64, 4, [](auto, auto, auto c) { return 40 * c; })), 16u);
}

TEST(CoordinateCodec, NoiseDoesNotGrow) {
  std::mt19937 random(2);
  for (const std::int64_t channels : {1, 3}) {
    const Levels noise = drawn(60, 50, channels, [&](auto, auto, auto) { return random() & 255; });
    EXPECT_EQ(packed(noise), noise.bytes.size() + 1);
  }
  // Of two tones: a bit each, and a few for what the contexts try in vain.
  EXPECT_LE(packed(drawn(100, 100, 1, [&](auto, auto, auto) { return random() % 2 * 255; })), 1320u);
}

TEST(CoordinateCodec, TwoTonesHaveTheirColours) {
  const auto chequers = [](auto x, auto y, auto c) { return (x / 8 + y / 8) % 2 == 0 ? 90 + c : 7 * c; };
  EXPECT_LE(packed(drawn(64, 64, 3, chequers)), 80u);
  const auto night = [](auto x, auto y, auto) { return x > 20 && x < 40 && y > 10 ? 255 : 0; };
  EXPECT_LE(packed(drawn(64, 64, 3, night)), 40u);
}

// An icon of a few colours: smaller than as levels by themselves.
TEST(CoordinateCodec, AnIconIsSmall) {
  const auto icon = [](auto x, auto y, auto c) {
    const auto u = x - 24, v = y - 24;
    if (u * u + v * v > 400) return c == 3 ? 0 : 255;
    const int colour[4] = {u > v ? 230 : 40, u + v > 0 ? 120 : 90, 60, 255};
    return colour[c];
  };
  EXPECT_LE(packed(drawn(48, 48, 4, icon)), 320u);
}

TEST(CoordinateCodec, TellsHowFarItIs) {
  std::vector<double> shares;
  write_exactly(drawing_in(drawn(4, 3, 1, [](auto x, auto y, auto) { return x * y * 20; })),
                [&](double share) { shares.push_back(share); });
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1}));
}

// Nothing but integers, from the pixels to the bytes: every machine, and any number of threads, has these.
TEST(CoordinateCodec, TheBytesAreTheSameEverywhere) {
  const auto rings = [](auto x, auto y, auto) { return ((x - 30) * (x - 30) + (y - 20) * y) / 97 % 3 == 0; };
  const Levels two_tones = drawn(64, 80, 1, [&](auto x, auto y, auto c) { return rings(x, y, c) ? 0 : 255; });
  EXPECT_EQ(digest_of(write_exactly(drawing_in(two_tones))), 3175053749u);
  const Levels levels = drawn(40, 50, 3, [&](auto x, auto y, auto c) {
    return rings(x, y, c) ? x * y % 251 : 3 * x + y * y / 16 + 20 * c;
  });
  EXPECT_EQ(digest_of(write_exactly(drawing_in(levels))), 3002362434u);
}

TEST(CoordinateCodec, BytesThatMeanNothingAreRefused) {
  for (const int head : {3, 4, 5, 6, 7, 8, 9 + 16 + 32, 12, 17, 255})
    EXPECT_THROW(read_coordinates(std::string(1, static_cast<char>(head)), {4, 4}, 1), IoError) << head;
  EXPECT_THROW(read_coordinates("", {4, 4}, 1), IoError);
  EXPECT_THROW(read_coordinates(std::string("\0abc", 4), {4, 4}, 1), IoError);
  EXPECT_THROW(read_coordinates("\1", {0, 4}, 1), ConfigError);
  EXPECT_THROW(read_coordinates("\1", {1 << 20, 1 << 20}, 1), ConfigError);
  EXPECT_THROW(read_coordinates("\1", {4, 4}, 5), ConfigError);
  EXPECT_THROW(drawing_of(std::vector<std::uint8_t>(80), {4, 4}, 5), ConfigError);
}

}  // namespace
}  // namespace veldt::codec
