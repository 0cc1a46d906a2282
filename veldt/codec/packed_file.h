// The file of a packed picture: what it is and how large, the body of its family, and a digest.
// docs/formats.md has the layout.
// Tests: tests/codec/packed_file_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "veldt/core/size.h"

namespace veldt::codec {

inline constexpr std::string_view kPackedMagic = "\x89VPK";

enum class Family : std::uint8_t {
  photograph,  // photograph.h
  drawing,     // coordinate_codec.h: exact
};

struct PackedHeader {
  Family family = Family::photograph;
  Size size;
  int channels = 0;            // 1 to 4, as of io::ImageInfo
  std::string_view body = {};  // as much of it as there is
  bool complete = false;       // all of it is there
};

// The name is for messages. Throws IoError malformed for other bytes, for another version, for a picture of
// more than max_pixels pixels, and where the digest is not that of the bytes. Of a file that ends too early,
// `complete` is false.
PackedHeader read_packed(std::string_view bytes, const std::string& name, std::int64_t max_pixels);
std::string write_packed(Family family, Size size, int channels, std::string_view body);

// Integers of 0 or more, seven bits a byte, the lowest first.
void put_integer(std::string& bytes, std::uint64_t value);
// Takes one from the front. Nothing if it does not end, or takes more than 63 bits.
bool take_integer(std::string_view& bytes, std::int64_t& value);

}  // namespace veldt::codec
