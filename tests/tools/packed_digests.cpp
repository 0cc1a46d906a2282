// Prints a digest of the pixels of each packed picture that it is given, and of drawings that it writes
// itself: codec_digests_test.sh compares machines by them.
//   packed_digests FILE.vp ..
//   packed_digests --write FILE.vp    a photograph whose networks and axes are far from those of any picture
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/codec/some_networks.h"
#include "veldt/codec/base_networks.h"
#include "veldt/codec/drawing_codec.h"
#include "veldt/codec/packed_file.h"
#include "veldt/codec/photograph.h"
#include "veldt/codec/unpack.h"

namespace {

using namespace veldt;

// FNV-1a.
std::uint32_t digest_of(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t digest = 2166136261u;
  for (const std::uint8_t byte : bytes) digest = (digest ^ byte) * 16777619u;
  return digest;
}

// Of two tones and of levels.
void print_drawings() {
  for (const bool two_tones : {true, false}) {
    std::vector<std::uint8_t> levels;
    for (int i = 0; i < 60 * 50; ++i)
      levels.push_back(
          static_cast<std::uint8_t>(two_tones ? (i / 60 * (i % 60) / 97 % 2) * 255 : i * i / 700));
    const std::string body = encode_drawing(codec::drawing_of(levels, {60, 50}, 1));
    std::printf("%08x %08x %zu\n", digest_of({body.begin(), body.end()}),
                digest_of(codec::decode_drawing(body, {60, 50}, 1).pixels), body.size());
  }
}

std::string odd_photograph() {
  const Size size{90, 70};
  codec::Networks<std::int32_t> networks = codec::to_integers(codec::some_networks(7));
  networks = codec::rounded(codec::base_networks(2), networks, codec::Shifts{});
  codec::PhotographPlan plan{.base = 2, .tile_log2 = 5, .axes = codec::kSomeAxes};
  plan.axes.matrix[1] = {-128, 127, -70};
  const std::string body = write_photograph(codec::some_latents(size, 8), networks, codec::Shifts{}, plan);
  return write_packed(codec::Family::photograph, size, 3, body);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--write") {
    std::ofstream(argv[2], std::ios::binary) << odd_photograph();
    return 0;
  }
  print_drawings();
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const codec::Unpacked whole = codec::unpack(bytes, argv[i]);
    const auto [width, height] = whole.size;
    const codec::Region part{width / 3, height / 2, width, height};
    std::printf("%08x %08x %s\n", digest_of(whole.pixels),
                digest_of(codec::unpack(bytes, argv[i], {.part = part}).pixels), argv[i]);
  }
}
