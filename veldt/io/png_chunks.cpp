// Writes the chunks of a PNG.
#include "veldt/io/png_chunks.h"

#include <zlib.h>

namespace veldt::io {

void put_big_endian(std::string& into, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) into += static_cast<char>(value >> shift & 0xff);
}

void put_png_chunk(std::string& into, std::string_view name, std::string_view data) {
  put_big_endian(into, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = into.size();
  into += name;
  into += data;
  put_big_endian(into, png_checksum(std::string_view(into).substr(begin)));
}

std::uint32_t png_checksum(std::string_view name_and_data) {
  return static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(name_and_data.data()),
                                            static_cast<uInt>(name_and_data.size())));
}

}  // namespace veldt::io
