// A packed drawing as a field: exact at its own size, the network's picture, and drawn larger.
#include "veldt/codec/coordinate_field.h"

#include <gtest/gtest.h>

#include "veldt/io/image.h"
#include "veldt/ops/create.h"

namespace veldt::codec {
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

std::vector<std::uint8_t> bytes_of(const Tensor& pixels) {
  const std::uint8_t* const from = pixels.data<std::uint8_t>();
  return {from, from + pixels.numel()};
}

TEST(CoordinateField, DrawsTheExactPixels) {
  for (const char* const name : {VELDT_SOURCE "/assets/cub.png", VELDT_SOURCE "/assets/cub_grey.png"})
    for (const WithNetwork network : {WithNetwork::never, WithNetwork::always}) {
      const Tensor image = io::read_image(name, {.keep_bytes = true});
      const std::string body = pack_coordinates(image, {.network = network, .steps = 30});
      const field::ImageField field =
          field_of(read_coordinates(body, {image.size(1), image.size(0)}, image.size(2)));
      EXPECT_EQ(bytes_drawn(field, image), bytes_of(image)) << name;
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

// The network in f32 is the one in integers but for a level here and there.
TEST(CoordinateField, DrawsWhatTheNetworkDraws) {
  const Tensor image = empty({30, 50, 3}, DType::u8);
  for (std::int64_t i = 0; i < image.numel(); ++i)
    image.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 150 + i / 450 + i % 3 * 20);
  const std::string body = pack_coordinates(image, {.max_bytes = 400, .steps = 60});
  const CoordinatePicture picture = read_coordinates(body, {50, 30}, 3);
  const std::vector<std::uint8_t> drawn = bytes_drawn(field_of(picture), image),
                                  pixels = bytes_of(picture.pixels);
  for (std::size_t i = 0; i < drawn.size(); ++i) ASSERT_NEAR(drawn[i], pixels[i], 3) << i;
}

}  // namespace
}  // namespace veldt::codec
