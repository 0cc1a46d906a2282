// A packed picture as a field: exact at its own size, and drawn larger.
#include "veldt/pack/coordinate_field.h"

#include <gtest/gtest.h>

#include "tests/codec/some_networks.h"
#include "veldt/codec/base_networks.h"
#include "veldt/codec/photograph.h"
#include "veldt/codec/unpack.h"
#include "veldt/core/error.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"
#include "veldt/pack/pack_drawing.h"

namespace veldt::pack {
namespace {

// What the field draws at the picture's size, in bytes.
std::vector<std::uint8_t> bytes_drawn(const field::ImageField& field, const Tensor& like) {
  const Tensor drawn = field.render({like.size(1), like.size(0)});
  EXPECT_EQ(drawn.shape(), like.shape());
  std::vector<std::uint8_t> out;
  for (std::int64_t i = 0; i < drawn.numel(); ++i)
    out.push_back(static_cast<std::uint8_t>(drawn.data<float>()[i] * 255 + 0.5f));
  return out;
}

TEST(CoordinateField, DrawsTheExactPixels) {
  for (const char* const name : {VELDT_SOURCE "/assets/cub.png", VELDT_SOURCE "/assets/cub_grey.png"}) {
    const Tensor image = io::read_image(name, {.keep_bytes = true});
    const Size size{image.size(1), image.size(0)};
    const field::ImageField field =
        field_of(codec::read_coordinates(pack_drawing(image), size, image.size(2)));
    EXPECT_EQ(bytes_drawn(field, image), image.values<std::uint8_t>()) << name;
    // Larger, the ground is white, and the ink black.
    const Tensor larger = field.render({400, 400});
    EXPECT_EQ(larger.shape(), (Shape{400, 400, 1}));
    const float* const level = larger.data<float>();
    std::int64_t dark = 0, light = 0;
    for (std::int64_t k = 0; k < larger.numel(); ++k) dark += level[k]<0.05f, light += level[k]> 0.95f;
    EXPECT_GT(dark, larger.numel() / 80) << name;
    EXPECT_GT(light, larger.numel() * 4 / 5) << name;
  }
}

// Its pixels, and what lies between them.
TEST(CoordinateField, DrawsAPhotograph) {
  const Size size{30, 20};
  const std::string body = write_photograph(codec::some_latents(size, 3), codec::base_networks(0),
                                            codec::Shifts{}, codec::PhotographPlan{}),
                    file = write_packed(codec::Family::photograph, size, 3, body);
  const field::ImageField field = packed_field(file, "a.vp");
  EXPECT_EQ(bytes_drawn(field, zeros({20, 30, 3})), codec::unpack(file, "a.vp").pixels);
  EXPECT_EQ(field.render({75, 50}).shape(), (Shape{50, 75, 3}));
  const std::string large = write_packed(codec::Family::photograph, {1 << 13, 1 << 12}, 3, body);
  EXPECT_THROW(packed_field(large, "a.vp"), ConfigError);
}

}  // namespace
}  // namespace veldt::pack
