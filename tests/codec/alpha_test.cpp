// The alpha of photographs comes back exactly, whole and in part, and other bytes are refused.
#include "veldt/codec/alpha.h"

#include <gtest/gtest.h>

#include "tests/codec/some_networks.h"
#include "veldt/codec/base_networks.h"
#include "veldt/codec/photograph.h"
#include "veldt/codec/unpack.h"
#include "veldt/core/error.h"

namespace veldt::codec {
namespace {

// A disc with a soft edge.
std::vector<std::uint8_t> disc(Size size) {
  std::vector<std::uint8_t> alpha;
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x) {
      const std::int64_t u = 2 * x - size.width, v = 2 * y - size.height;
      alpha.push_back(static_cast<std::uint8_t>(std::clamp<std::int64_t>(1200 - u * u - v * v, 0, 255)));
    }
  return alpha;
}

TEST(Alpha, ComesBackWholeAndInPart) {
  const Size size{1100, 1060};  // four squares, none like another
  std::vector<std::uint8_t> alpha;
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x)
      alpha.push_back(static_cast<std::uint8_t>((x / 64 + y / 64 * 5) & 255));
  const std::string section = write_alpha(alpha, size);
  EXPECT_EQ(read_alpha(section, size, {0, 0, 1100, 1060}, "a.vp"), alpha);
  const Region part{1000, 1010, 1050, 1040};
  const std::vector<std::uint8_t> some = read_alpha(section, size, part, "a.vp");
  for (std::int64_t y = part.y0; y < part.y1; ++y)
    for (std::int64_t x = part.x0; x < part.x1; ++x)
      ASSERT_EQ(some[static_cast<std::size_t>((y - part.y0) * part.width() + x - part.x0)],
                alpha[static_cast<std::size_t>(y * size.width + x)]);
}

TEST(Alpha, OpaqueSquaresTakeAByte) {
  EXPECT_EQ(write_alpha(std::vector<std::uint8_t>(1100 * 60, 255), {1100, 60}), std::string(2, '\0'));
  EXPECT_EQ(read_alpha(std::string(2, '\0'), {1100, 1}, {1000, 0, 1100, 1}, "a.vp"),
            std::vector<std::uint8_t>(100, 255));
}

TEST(Alpha, IsTheLastChannelOfAPhotograph) {
  const Size size{40, 30};
  const std::vector<std::uint8_t> alpha = disc(size);
  const std::string photograph = write_photograph(some_latents(size, 3), base_networks(0), Shifts{}, {});
  const std::string body = join_alpha(write_alpha(alpha, size), photograph);
  const std::vector<std::uint8_t> rgb =
      unpack(write_packed(Family::photograph, size, 3, photograph), "a.vp").pixels;
  for (const int channels : {2, 4}) {
    const Unpacked picture = unpack(write_packed(Family::photograph, size, channels, body), "a.vp");
    ASSERT_EQ(picture.pixels.size(), alpha.size() * static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      const std::uint8_t* const pixel = picture.pixels.data() + i * static_cast<std::size_t>(channels);
      ASSERT_EQ(pixel[channels - 1], alpha[i]);
      ASSERT_EQ(pixel[0], rgb[3 * i]);
    }
  }
}

TEST(Alpha, RefusesOtherBytes) {
  const Size size{40, 30};
  const Region whole{0, 0, 40, 30};
  const std::string section = write_alpha(disc(size), size);
  EXPECT_THROW(read_alpha("", size, whole, "a.vp"), IoError);
  EXPECT_THROW(read_alpha(section.substr(0, section.size() - 1), size, whole, "a.vp"), IoError);
  EXPECT_THROW(read_alpha(section + "a", size, whole, "a.vp"), IoError);
  EXPECT_THROW(read_alpha("\xff", size, whole, "a.vp"), IoError);
  EXPECT_THROW(read_alpha("\x02\x04z", size, whole, "a.vp"), IoError) << "a network";
  EXPECT_THROW(read_alpha("\x01\x0f", size, whole, "a.vp"), IoError) << "no body";
  EXPECT_THROW(split_alpha("\x05zz", "a.vp"), IoError);
  EXPECT_THROW(read_alpha("a", {1 << 24, 1 << 24}, {0, 0, 1, 1}, "a.vp"), IoError);
}

}  // namespace
}  // namespace veldt::codec
