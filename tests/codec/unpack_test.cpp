// Packed pictures as pixels: whole, in part, cut, and files that are wrong inside.
#include "veldt/codec/unpack.h"

#include <gtest/gtest.h>

#include "tests/codec/some_networks.h"
#include "veldt/codec/base_networks.h"
#include "veldt/codec/coordinate_codec.h"
#include "veldt/codec/photograph.h"
#include "veldt/core/error.h"

namespace veldt::codec {
namespace {

std::string packed_photograph(Size size, int channels) {
  const std::string body =
      write_photograph(some_latents(size, 3), base_networks(0), Shifts{}, {.base = 0, .tile_log2 = 4});
  return write_packed(Family::photograph, size, channels, body);
}

TEST(Unpack, APhotographOfColoursAndOfGrey) {
  const Unpacked colours = unpack(packed_photograph({50, 30}, 3), "a.vp"),
                 grey = unpack(packed_photograph({50, 30}, 1), "a.vp");
  EXPECT_EQ(colours.channels, 3);
  EXPECT_EQ(grey.channels, 1);
  const std::vector<std::uint8_t>&rgb = colours.pixels, &one = grey.pixels;
  ASSERT_EQ(rgb.size(), 30u * 50 * 3);
  ASSERT_EQ(one.size(), 30u * 50);
  for (std::size_t i = 0; i < one.size(); ++i) ASSERT_EQ(one[i], rgb[3 * i]);
}

TEST(Unpack, APartIsThatOfTheWhole) {
  std::vector<std::uint8_t> drawing;
  for (int i = 0; i < 40 * 20; ++i) drawing.push_back(i / 40 * 7 % 11 > 5 && i % 40 > 9 ? 255 : 0);
  for (const std::string& bytes :
       {packed_photograph({40, 20}, 3),
        write_packed(Family::drawing, {40, 20}, 1, write_exactly(drawing_of(drawing, {40, 20}, 1)))}) {
    const Unpacked whole = unpack(bytes, "a.vp"),
                   part = unpack(bytes, "a.vp", {.part = Region{7, 3, 30, 19}});
    const auto channels = static_cast<std::size_t>(whole.channels);
    const std::vector<std::uint8_t>&all = whole.pixels, &some = part.pixels;
    ASSERT_EQ(some.size(), 16 * 23 * channels);
    EXPECT_EQ(part.part, (Region{7, 3, 30, 19}));
    EXPECT_EQ(whole.part, (Region{0, 0, 40, 20}));
    for (std::size_t y = 0; y < 16; ++y)
      for (std::size_t i = 0; i < 23 * channels; ++i)
        ASSERT_EQ(some[y * 23 * channels + i], all[((y + 3) * 40 + 7) * channels + i]);
    if (whole.family == Family::drawing) {
      EXPECT_EQ(all, drawing);
    }
  }
}

TEST(Unpack, ACutFileIsTakenOnlyIfAsked) {
  const std::string bytes = packed_photograph({100, 100}, 3), cut = bytes.substr(0, bytes.size() * 2 / 3);
  EXPECT_THROW(unpack(cut, "a.vp"), IoError);
  const Unpacked some = unpack(cut, "a.vp", {.partial = true});
  EXPECT_GT(some.share, 0.1);
  EXPECT_LT(some.share, 1);
  EXPECT_EQ(some.pixels.size(), 100u * 100 * 3);
}

TEST(Unpack, RefusesWhatMakesNoSense) {
  const std::string bytes = packed_photograph({20, 10}, 3);
  for (const Region part :
       {Region{0, 0, 0, 1}, Region{-1, 0, 2, 2}, Region{5, 5, 21, 6}, Region{5, 9, 6, 11}})
    EXPECT_THROW(unpack(bytes, "a.vp", {.part = part}), ConfigError);
  EXPECT_THROW(unpack(bytes, "a.vp", {.max_pixels = 199}), IoError);
  EXPECT_THROW(unpack(packed_photograph({20, 10}, 4), "a.vp"), IoError);  // a photograph has no alpha
  EXPECT_THROW(unpack(write_packed(Family::photograph, {20, 10}, 3, ""), "a.vp"), IoError);
}

}  // namespace
}  // namespace veldt::codec
