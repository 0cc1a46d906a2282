// Prints a digest of the pixels of each packed picture that it is given, and of drawings that it writes
// itself: codec_digests_test.sh compares machines by them.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "veldt/codec/coordinate_codec.h"
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
    const std::string body = write_exactly(codec::drawing_of(levels, {60, 50}, 1));
    std::printf("%08x %08x %zu\n", digest_of({body.begin(), body.end()}),
                digest_of(codec::read_coordinates(body, {60, 50}, 1).pixels), body.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
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
