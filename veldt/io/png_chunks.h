// The chunks of a PNG as bytes, for animated ones, which libpng does not know. Only for the files of io.
// Tests: tests/io/animation_test.cpp, tests/io/clip_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace veldt::io {

// As all numbers of a PNG.
void put_big_endian(std::string& into, std::uint32_t value, int bytes = 4);
// Its length, name, data and checksum.
void put_png_chunk(std::string& into, std::string_view name, std::string_view data);
// Of a chunk's name and data together.
std::uint32_t png_checksum(std::string_view name_and_data);

}  // namespace veldt::io
