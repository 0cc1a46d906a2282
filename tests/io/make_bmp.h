// Makes BMPs by hand, for the tests of reading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veldt::test {

struct BmpSpec {
  int width = 1, height = 1, bits = 24;
  int header = 40;  // 12: of two bytes a side
  int packing = 0;
  std::vector<std::uint32_t> masks = {};
  std::vector<std::uint32_t> palette = {};  // 0xrrggbb
};

inline std::string little(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

// `pixels` as they are in the file.
inline std::string make_bmp(const BmpSpec& spec, const std::string& pixels) {
  const bool is_core = spec.header == 12;
  const int side = is_core ? 2 : 4;
  std::string head = little(static_cast<std::uint32_t>(spec.header), 4) +
                     little(static_cast<std::uint32_t>(spec.width), side) +
                     little(static_cast<std::uint32_t>(spec.height), side) + little(1, 2) +
                     little(static_cast<std::uint32_t>(spec.bits), 2);
  if (!is_core)
    head += little(static_cast<std::uint32_t>(spec.packing), 4) + std::string(12, '\0') +
            little(static_cast<std::uint32_t>(spec.palette.size()), 4) + little(0, 4);
  for (const std::uint32_t mask : spec.masks) head += little(mask, 4);
  if (head.size() < static_cast<std::size_t>(spec.header)) head.resize(static_cast<std::size_t>(spec.header));
  for (const std::uint32_t colour : spec.palette) head += little(colour, is_core ? 3 : 4);
  return "BM" + std::string(8, '\0') + little(static_cast<std::uint32_t>(14 + head.size()), 4) + head +
         pixels;
}

}  // namespace veldt::test
