// Drawings of files are exact and small.
#include "veldt/pack/pack_drawing.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(back.pixels, picture.values<std::uint8_t>()) << name;
  return body.size();
}

TEST(PackDrawing, TheCubIsExactInAFewHundredBytes) { EXPECT_LE(packed_asset("cub.png"), 455u); }

TEST(PackDrawing, TheCubInGreysIsExact) { EXPECT_LE(packed_asset("cub_grey.png"), 4150u); }

TEST(PackDrawing, RefusesOtherTensors) {
  EXPECT_THROW(pack_drawing(zeros({4, 4, 1})), ShapeError);
  EXPECT_THROW(pack_drawing(zeros({4, 4}, DType::u8)), ShapeError);
}

}  // namespace
}  // namespace veldt::pack
