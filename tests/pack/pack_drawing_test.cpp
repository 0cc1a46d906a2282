// Drawings of files are exact and small, and a network alone fits the bytes that it is given.
#include "veldt/pack/pack_drawing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"

namespace veldt::pack {
namespace {

// Packs it exactly, sees that it comes back, and returns the bytes.
std::size_t packed_asset(const std::string& name) {
  const Tensor picture = io::read_image(VELDT_SOURCE "/assets/" + name, {.keep_bytes = true});
  const std::string body = pack_drawing(picture);
  const codec::CoordinatePicture back =
      codec::read_coordinates(body, {picture.size(1), picture.size(0)}, picture.size(2));
  EXPECT_TRUE(back.is_exact);
  EXPECT_EQ(back.pixels, picture.values<std::uint8_t>()) << name;
  return body.size();
}

TEST(PackDrawing, TheCubIsExactInAFewHundredBytes) { EXPECT_LE(packed_asset("cub.png"), 455u); }

TEST(PackDrawing, TheCubInGreysIsExact) { EXPECT_LE(packed_asset("cub_grey.png"), 4150u); }

TEST(PackDrawing, ANetworkAloneFitsTheBytesThatItIsGiven) {
  const Tensor slope = empty({40, 60, 3}, DType::u8);
  for (std::int64_t i = 0; i < slope.numel(); ++i) {
    const std::int64_t c = i % 3, x = i / 3 % 60, y = i / 180;
    slope.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(40 + 2 * x + y - 20 * c);
  }
  const std::string body = pack_drawing(slope, {.max_bytes = 250, .steps = 300});
  EXPECT_LE(body.size(), 250u);
  const codec::CoordinatePicture back = codec::read_coordinates(body, {60, 40}, 3);
  EXPECT_FALSE(back.is_exact);
  double squares = 0;
  for (std::size_t i = 0; i < back.pixels.size(); ++i) {
    const double off = slope.data<std::uint8_t>()[i] - back.pixels[i];
    squares += off * off;
  }
  EXPECT_LE(std::sqrt(squares / static_cast<double>(slope.numel())), 8) << "levels of 255";
  EXPECT_THROW(pack_drawing(slope, {.max_bytes = 3, .steps = 1}), ConfigError);
}

TEST(PackDrawing, RefusesOtherTensors) {
  EXPECT_THROW(pack_drawing(zeros({4, 4, 1})), ShapeError);
  EXPECT_THROW(pack_drawing(zeros({4, 4}, DType::u8)), ShapeError);
}

}  // namespace
}  // namespace veldt::pack
