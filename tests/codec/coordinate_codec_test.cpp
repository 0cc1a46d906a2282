// Drawings as a few hundred bytes: they come back exactly, and what was promised about their size holds.
#include "veldt/codec/coordinate_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"

namespace veldt::codec {
namespace {

Size size_of(const Tensor& picture) { return {picture.size(1), picture.size(0)}; }

bool is_same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::equal(a.data<std::uint8_t>(), a.data<std::uint8_t>() + a.numel(), b.data<std::uint8_t>());
}

template <class Level>
Tensor drawn(std::int64_t height, std::int64_t width, std::int64_t channels, const Level& level) {
  const Tensor out = empty({height, width, channels}, DType::u8);
  std::uint8_t* put = out.data<std::uint8_t>();
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c) *put++ = static_cast<std::uint8_t>(level(x, y, c));
  return out;
}

// FNV-1a of the pixels.
std::uint32_t digest_of(const Tensor& picture) {
  std::uint32_t digest = 2166136261u;
  for (std::int64_t i = 0; i < picture.numel(); ++i)
    digest = (digest ^ picture.data<std::uint8_t>()[i]) * 16777619u;
  return digest;
}

const CoordinateOptions kPlain{.network = WithNetwork::never};

// Packs exactly, sees that it comes back, and returns the bytes.
std::size_t packed(const Tensor& picture, const CoordinateOptions& options = kPlain) {
  const std::string body = pack_coordinates(picture, options);
  const CoordinatePicture back = read_coordinates(body, size_of(picture), picture.size(2));
  EXPECT_TRUE(back.is_exact);
  EXPECT_TRUE(is_same(back.pixels, picture)) << picture.shape() << " in " << body.size() << " bytes";
  return body.size();
}

Tensor asset(const char* name) { return io::read_image(name, {.keep_bytes = true}); }

TEST(CoordinateCodec, TheCubIsExactInAFewHundredBytes) {
  EXPECT_LE(packed(asset("assets/cub.png"), {.steps = 200}), 515u);
}

TEST(CoordinateCodec, TheCubInGreysIsExact) { EXPECT_LE(packed(asset("assets/cub_grey.png")), 4600u); }

TEST(CoordinateCodec, AnySizeComesBack) {
  std::mt19937 random(1);
  for (const Size size : {Size{1, 1}, {1, 9}, {17, 1}, {2, 2}, {7, 5}, {33, 3}})
    for (std::int64_t channels = 1; channels <= 4; ++channels)
      for (const unsigned levels : {2u, 5u, 256u}) {
        const Tensor picture = drawn(size.height, size.width, channels, [&](auto, auto, auto) {
          return random() % levels * (255 / (levels - 1));
        });
        EXPECT_LE(packed(picture), static_cast<std::size_t>(picture.numel()) + 16) << picture.shape();
      }
}

TEST(CoordinateCodec, OneColourTakesNextToNothing) {
  EXPECT_LE(packed(drawn(200, 200, 1, [](auto, auto, auto) { return 255; })), 8u);
  EXPECT_LE(packed(drawn(64, 64, 4, [](auto, auto, auto c) { return 40 * c; })), 16u);
}

TEST(CoordinateCodec, NoiseDoesNotGrow) {
  std::mt19937 random(2);
  for (const std::int64_t channels : {1, 3}) {
    const Tensor noise = drawn(60, 50, channels, [&](auto, auto, auto) { return random() & 255; });
    EXPECT_EQ(packed(noise), static_cast<std::size_t>(noise.numel()) + 1);
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

TEST(CoordinateCodec, ANetworkCanStayInTheBody) {
  const Tensor cub = asset("assets/cub.png");
  const std::string body = pack_coordinates(cub, {.network = WithNetwork::always, .steps = 30});
  const CoordinatePicture back = read_coordinates(body, size_of(cub), 1);
  EXPECT_TRUE(is_same(back.pixels, cub));
  ASSERT_TRUE(back.network);
  EXPECT_EQ(back.tones, (std::vector<std::vector<std::uint8_t>>{{255}, {0}}));
}

TEST(CoordinateCodec, ANetworkAloneFitsTheBytesThatItIsGiven) {
  const Tensor slope = drawn(40, 60, 3, [](auto x, auto y, auto c) { return 40 + 2 * x + y - 20 * c; });
  const std::string body = pack_coordinates(slope, {.max_bytes = 250, .steps = 300});
  EXPECT_LE(body.size(), 250u);
  const CoordinatePicture back = read_coordinates(body, size_of(slope), 3);
  EXPECT_FALSE(back.is_exact);
  double squares = 0;
  for (std::int64_t i = 0; i < slope.numel(); ++i) {
    const double off = slope.data<std::uint8_t>()[i] - back.pixels.data<std::uint8_t>()[i];
    squares += off * off;
  }
  EXPECT_LE(std::sqrt(squares / static_cast<double>(slope.numel())), 8) << "levels of 255";
  EXPECT_THROW(pack_coordinates(slope, {.max_bytes = 3, .steps = 1}), ConfigError);
}

// A body that was written once, by any machine: a network of 2 x 5 units, and the pixels it is mixed into.
TEST(CoordinateCodec, ABodyIsTheSamePixelsEverywhere) {
  std::string body = {static_cast<char>(0x0b)};
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) body += static_cast<char>(random() >> 24);
  const CoordinatePicture two_tones = read_coordinates(body, {61, 47}, 1);
  body[0] = 4;
  const CoordinatePicture levels = read_coordinates(body, {31, 27}, 3);
  body[0] = 6;
  const Tensor lossy = unpack_coordinates(body, {61, 47}, 2);
  {
    const SerialScope alone;
    EXPECT_TRUE(is_same(unpack_coordinates(body, {61, 47}, 2), lossy));
  }
  EXPECT_EQ(digest_of(two_tones.pixels), 2896189536u);
  EXPECT_EQ(digest_of(levels.pixels), 2586006371u);
  EXPECT_EQ(digest_of(lossy), 485104271u);
}

TEST(CoordinateCodec, BytesThatMeanNothingAreRefused) {
  for (const int head : {7, 8, 9 + 16 + 32, 12, 17, 255})
    EXPECT_THROW(unpack_coordinates(std::string(1, static_cast<char>(head)), {4, 4}, 1), IoError) << head;
  EXPECT_THROW(unpack_coordinates("", {4, 4}, 1), IoError);
  EXPECT_THROW(unpack_coordinates(std::string("\0abc", 4), {4, 4}, 1), IoError);
  EXPECT_THROW(unpack_coordinates("\1", {0, 4}, 1), ConfigError);
  EXPECT_THROW(unpack_coordinates("\1", {1 << 20, 1 << 20}, 1), ConfigError);
  EXPECT_THROW(unpack_coordinates("\1", {4, 4}, 5), ConfigError);
  EXPECT_THROW(pack_coordinates(zeros({4, 4, 1})), ShapeError);
  EXPECT_THROW(pack_coordinates(zeros({4, 4}, DType::u8)), ShapeError);
}

TEST(CoordinateCodec, WorkThatNobodyMeantIsRefused) {
  CoordinateNetwork large;
  for (const std::int64_t in : {2, 64, 64, 64, 64}) {
    large.layers.push_back({in, 64, 40, {}});
    large.layers.back().weights.resize(static_cast<std::size_t>((in + 1) * 64));
  }
  large.layers.push_back({64, 1, 40, std::vector<std::int32_t>(65)});
  large.layers.erase(large.layers.begin() + 1);
  RangeEncoder out;
  encode(out, large);
  const std::string body = '\6' + out.finish();
  EXPECT_EQ(unpack_coordinates(body, {3, 2}, 1).numel(), 6);
  EXPECT_THROW(unpack_coordinates(body, {4096, 4096}, 1), IoError);
}

}  // namespace
}  // namespace veldt::codec
