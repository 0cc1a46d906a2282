// Packed pictures: the file, and the bodies of both families. Any body is some picture of the size that was
// asked for, or is refused.
#include <algorithm>

#include "tests/fuzz/target.h"
#include "veldt/codec/alpha.h"
#include "veldt/codec/drawing_codec.h"
#include "veldt/codec/photograph.h"
#include "veldt/codec/base_networks.h"
#include "veldt/codec/unpack.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"
#include "veldt/pack/packed_field.h"

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
  const codec::DecodedDrawing picture = codec::decode_drawing(bytes.substr(3), size, channels);
  require(std::ssize(picture.pixels) == size.height * size.width * channels, "a drawing has its size");
  const std::string again = encode_drawing(codec::drawing_of(picture.pixels, size, channels));
  require(std::ssize(again) <= std::ssize(picture.pixels) + 1 + 2 * channels + 8, "a drawing does not grow");
  require(codec::decode_drawing(again, size, channels).pixels == picture.pixels,
          "a drawing that is packed and unpacked again is the same");
  if (picture.pixels.size() < 100) {
    const field::ImageField field = pack::field_of(picture);
    require(field.render({3, 2}).numel() == 6 * channels, "a drawing is drawn at any size");
  }
}

std::vector<std::string> drawing_seeds() {
  std::vector<std::string> seeds;
  const Size size{24, 20};
  for (const std::int64_t channels : {1, 3, 4})
    for (const int levels : {2, 5, 256}) {
      std::vector<std::uint8_t> picture;
      for (std::int64_t i = 0; i < size.width * size.height * channels; ++i)
        picture.push_back(static_cast<std::uint8_t>(i / (7 * channels) % levels * 51));
      const codec::Drawing drawing = codec::drawing_of(picture, size, channels);
      seeds.push_back(std::string{static_cast<char>(size.width - 1), static_cast<char>(size.height - 1),
                                  static_cast<char>(channels - 1)} +
                      encode_drawing(drawing));
    }
  return seeds;
}

// Two sides of 1 to 96, then the body, whole or as far as it goes; a part of it is that of the whole.
void read_photograph(const std::string& bytes) {
  if (bytes.size() < 2) return;
  const auto side = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]) % 96 + 1; };
  const Size size{side(0), side(1)};
  const codec::PhotographReader reader(std::string_view(bytes).substr(2), size, "a file", true);
  const std::vector<std::uint8_t> whole = reader.pixels({0, 0, size.width, size.height});
  const codec::Region part{size.width / 3, size.height / 2, size.width / 3 + 1, size.height};
  const std::vector<std::uint8_t> pixels = reader.pixels(part);
  for (std::int64_t y = part.y0; y < part.y1; ++y)
    require(std::equal(pixels.begin() + 3 * (y - part.y0), pixels.begin() + 3 * (y - part.y0 + 1),
                       whole.begin() + 3 * (y * size.width + part.x0)),
            "a part is that of the whole");
}

std::vector<std::string> photograph_seeds() {
  std::vector<std::string> seeds;
  for (const int tile_log2 : {4, 5, 9})
    for (const Size size : {Size{70, 50}, Size{1, 1}, Size{33, 96}}) {
      codec::Pyramid pyramid = codec::whole_pyramid(size);
      for (codec::Latents& level : pyramid)
        for (std::int64_t y = 0; y < level.level().height; ++y)
          for (std::int64_t x = 0; x < level.level().width; ++x)
            level.row(y)[x] = static_cast<std::int16_t>((x * 5 + y * 3) % 17 == 0 ? x - y : 0);
      codec::Networks<std::int32_t> networks = codec::base_networks(0);
      codec::Shifts shifts{};
      for (std::size_t i = 0; i < codec::kNumbers; i += 90) networks.numbers()[i] += 30;
      std::string bytes{static_cast<char>(size.width - 1), static_cast<char>(size.height - 1)};
      seeds.push_back(bytes + write_photograph(pyramid, networks, shifts,
                                               {.base = 0,
                                                .tile_log2 = tile_log2,
                                                .axes = {{{{50, -30, 20}, {30, 55, -9}, {-14, 19, 60}}},
                                                         {90, 120, 200}}}));
    }
  return seeds;
}

// The file around them.
void read_packed_picture(const std::string& bytes) {
  codec::unpack(bytes, "a file", {.max_pixels = 4096, .part = {}, .partial = true});
}

std::vector<std::string> packed_seeds() {
  std::vector<std::string> seeds;
  for (const std::string& seed : photograph_seeds()) {
    const Size size{seed[0] + 1, seed[1] + 1};
    seeds.push_back(write_packed(codec::Family::photograph, size, 3, seed.substr(2)));
    std::vector<std::uint8_t> alpha;
    for (std::int64_t i = 0; i < size.width * size.height; ++i)
      alpha.push_back(static_cast<std::uint8_t>(i % size.width * 9 / size.width * 31));
    const std::string both = codec::join_alpha(codec::write_alpha(alpha, size), seed.substr(2));
    seeds.push_back(write_packed(codec::Family::photograph, size, 4, both));
  }
  for (const std::string& seed : drawing_seeds())
    seeds.push_back(write_packed(codec::Family::drawing, {24, 20}, seed[2] + 1, seed.substr(3)));
  return seeds;
}

}  // namespace

std::vector<Target> packed_targets() {
  return {{"drawing", read_drawing, drawing_seeds},
          {"photograph", read_photograph, photograph_seeds},
          {"packed", read_packed_picture, packed_seeds}};
}

}  // namespace veldt::fuzz
