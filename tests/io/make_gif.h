// Makes GIFs by hand, for the tests of reading.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace veldt::test {

struct GifFrame {
  int left = 0, top = 0, width = 1, height = 1;
  std::vector<int> numbers = {};  // of the palette
  int bits = 2;                   // of a number
  std::string palette = {};       // of its own
  bool interlaced = false;
  int transparent = -1;
  bool clears = true;  // where the table of codes is full
  int disposal = 0, hundredths = 0;
};

inline std::string two_bytes(int value) {
  return {static_cast<char>(value & 255), static_cast<char>(value >> 8)};
}

// LZW as the format has it: what stands in the table is as long as possible.
inline std::string gif_data(const GifFrame& frame) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0, code_bits = frame.bits + 1;
  const auto put = [&](int code) {
    bits |= static_cast<std::uint32_t>(code) << count;
    for (count += code_bits; count >= 8; count -= 8, bits >>= 8) bytes += static_cast<char>(bits & 255);
  };
  const int clear = 1 << frame.bits;
  std::map<std::pair<int, int>, int> table;
  put(clear);
  int text = -1;
  for (const int number : frame.numbers) {
    if (text < 0) {
      text = number;
    } else if (const auto found = table.find({text, number}); found != table.end()) {
      text = found->second;
    } else {
      put(text);
      const int free = clear + 2 + static_cast<int>(table.size());
      if (free < 4096) {
        table[{text, number}] = free;
        if (free == 1 << code_bits) ++code_bits;
      } else if (frame.clears) {
        put(clear);
        table.clear();
        code_bits = frame.bits + 1;
      }
      text = number;
    }
  }
  if (text >= 0) put(text);
  put(clear + 1);
  if (count > 0) bytes += static_cast<char>(bits & 255);
  std::string blocks;
  for (std::size_t at = 0; at < bytes.size(); at += 255) {
    const std::string block = bytes.substr(at, 255);
    blocks += static_cast<char>(block.size()) + block;
  }
  return blocks + '\0';
}

// The numbers of the format's sizes of palettes: 2, 4, 8 ... colours.
inline int palette_flags(const std::string& palette) {
  if (palette.empty()) return 0;
  int bits = 1;
  while (std::size_t{3} << bits < palette.size()) ++bits;
  return 0x80 | (bits - 1);
}

inline std::string padded_palette(std::string palette) {
  if (!palette.empty()) palette.resize(std::size_t{3} << ((palette_flags(palette) & 7) + 1));
  return palette;
}

inline std::string make_gif(int width, int height, const std::string& palette,
                            const std::vector<GifFrame>& frames) {
  std::string gif = "GIF89a" + two_bytes(width) + two_bytes(height);
  gif += static_cast<char>(palette_flags(palette));
  gif += std::string(2, '\0') + padded_palette(palette);
  for (const GifFrame& frame : frames) {
    gif += std::string("\x21\xfe\x05hello\0", 9);  // a comment
    if (frame.transparent >= 0 || frame.disposal > 0 || frame.hundredths > 0)
      gif += std::string("\x21\xf9\x04", 3) +
             static_cast<char>(frame.disposal << 2 | (frame.transparent >= 0 ? 1 : 0)) +
             two_bytes(frame.hundredths) + static_cast<char>(std::max(frame.transparent, 0)) + '\0';
    gif += '\x2c' + two_bytes(frame.left) + two_bytes(frame.top) + two_bytes(frame.width) +
           two_bytes(frame.height);
    gif += static_cast<char>(palette_flags(frame.palette) | (frame.interlaced ? 0x40 : 0));
    gif += padded_palette(frame.palette) + static_cast<char>(frame.bits) + gif_data(frame);
  }
  return gif + '\x3b';
}

}  // namespace veldt::test
