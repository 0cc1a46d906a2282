// The bodies of packed drawings: any bytes are some picture of the size that was asked for.
#include <algorithm>

#include "tests/fuzz/target.h"
#include "veldt/codec/coordinate_codec.h"
#include "veldt/codec/coordinate_field.h"
#include "veldt/ops/create.h"

namespace veldt::fuzz {
namespace {

// Two sides of 1 to 32 and the channels, then the body.
void read_drawing(const std::string& bytes) {
  if (bytes.size() < 3) return;
  const auto below = [&](std::size_t at, int most) {
    return static_cast<unsigned char>(bytes[at]) % most + 1;
  };
  const Size size{below(0, 32), below(1, 32)};
  const std::int64_t channels = below(2, 4);
  const codec::CoordinatePicture picture = codec::read_coordinates(bytes.substr(3), size, channels);
  require(picture.pixels.shape() == Shape({size.height, size.width, channels}), "a drawing has its size");
  const std::string again = codec::pack_coordinates(picture.pixels, {.network = codec::WithNetwork::never});
  require(std::ssize(again) <= picture.pixels.numel() + 1 + 2 * channels + 8, "a drawing does not grow");
  require(same(codec::unpack_coordinates(again, size, channels), picture.pixels),
          "a drawing that is packed and unpacked again is the same");
  if (picture.network && picture.network->products() < 500) {
    const field::ImageField field = codec::field_of(picture);
    require(field.render({3, 2}).numel() == 6 * channels, "a drawing is drawn at any size");
  }
}

std::string with_size(const Tensor& picture, const codec::CoordinateOptions& options) {
  std::string bytes;
  for (const std::size_t side : {1u, 0u}) bytes += static_cast<char>(picture.shape()[side] - 1);
  bytes += static_cast<char>(picture.size(2) - 1);
  return bytes + codec::pack_coordinates(picture, options);
}

std::vector<std::string> drawing_seeds() {
  std::vector<std::string> seeds;
  for (const std::int64_t channels : {1, 3, 4})
    for (const int levels : {2, 5, 256}) {
      const Tensor picture = empty({20, 24, channels}, DType::u8);
      for (std::int64_t i = 0; i < picture.numel(); ++i)
        picture.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i / (7 * channels) % levels * 51);
      seeds.push_back(with_size(picture, {.network = codec::WithNetwork::never}));
      seeds.push_back(with_size(picture, {.network = codec::WithNetwork::always, .steps = 3}));
      seeds.push_back(with_size(picture, {.max_bytes = 200, .steps = 3}));
    }
  return seeds;
}

}  // namespace

std::vector<Target> drawing_targets() { return {{"drawing", read_drawing, drawing_seeds}}; }

}  // namespace veldt::fuzz
