// Makes PNGs of every kind, with libpng itself and by hand, for the tests of reading.
#pragma once

#include <png.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace veldt::test {

struct PngSpec {
  int width = 1, height = 1;
  int depth = 8;
  int type = PNG_COLOR_TYPE_GRAY;
  bool interlaced = false;
  std::vector<png_color> palette = {};
  std::vector<unsigned char> palette_alpha = {};
  std::vector<int> transparent = {};  // the colour key: grey, or red, green and blue
  double gamma = 0;
};

inline void append_bytes(png_structp png, png_bytep data, std::size_t bytes) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(data), bytes);
}

inline int channels_of(int type) {
  return type == PNG_COLOR_TYPE_RGB          ? 3
         : type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
         : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                             : 1;
}

// One number a sample, in row-major order.
inline std::string make_png(const PngSpec& spec, const std::vector<int>& samples) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, append_bytes, nullptr);
  png_set_check_for_invalid_index(png, 0);
  png_set_IHDR(png, info, static_cast<png_uint_32>(spec.width), static_cast<png_uint_32>(spec.height),
               spec.depth, spec.type, spec.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!spec.palette.empty())
    png_set_PLTE(png, info, spec.palette.data(), static_cast<int>(spec.palette.size()));
  if (!spec.palette_alpha.empty())
    png_set_tRNS(png, info, spec.palette_alpha.data(), static_cast<int>(spec.palette_alpha.size()), nullptr);
  if (!spec.transparent.empty()) {
    png_color_16 key{};
    key.gray = key.red = static_cast<png_uint_16>(spec.transparent[0]);
    if (spec.transparent.size() == 3) {
      key.green = static_cast<png_uint_16>(spec.transparent[1]);
      key.blue = static_cast<png_uint_16>(spec.transparent[2]);
    }
    png_set_tRNS(png, info, nullptr, 0, &key);
  }
  if (spec.gamma > 0) png_set_gAMA(png, info, spec.gamma);
  png_write_info(png, info);
  const int per_row = spec.width * channels_of(spec.type);
  std::vector<std::vector<unsigned char>> rows;
  for (int y = 0; y < spec.height; ++y) {
    std::vector<unsigned char> row(static_cast<std::size_t>((per_row * spec.depth + 7) / 8));
    for (int i = 0; i < per_row; ++i) {
      const auto value = static_cast<unsigned>(samples.at(static_cast<std::size_t>(y * per_row + i)));
      for (int bit = 0; bit < spec.depth; ++bit) {
        const auto at = static_cast<std::size_t>(i * spec.depth + bit);
        if ((value >> (spec.depth - 1 - bit)) & 1u)
          row[at / 8] |= static_cast<unsigned char>(128u >> (at % 8));
      }
    }
    rows.push_back(std::move(row));
  }
  std::vector<png_bytep> pointers;
  for (auto& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

// Annex D of the PNG specification.
inline std::uint32_t crc_of(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = (crc & 1u) ? 0xedb88320u ^ (crc >> 1) : crc >> 1;
  }
  return ~crc;
}

inline std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

inline std::string chunk(const std::string& type, const std::string& data) {
  return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(crc_of(type + data));
}

// A PNG that claims a size and holds next to nothing.
inline std::string claim_size(std::uint32_t width, std::uint32_t height, int depth = 8, int type = 0) {
  std::string rest = {static_cast<char>(depth), static_cast<char>(type), 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", big_endian(width) + big_endian(height) + rest) +
         chunk("IDAT", std::string("\x78\x9c\x63\x00\x00\x00\x01\x00\x01", 9)) + chunk("IEND", "");
}

}  // namespace veldt::test
