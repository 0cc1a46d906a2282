// A packed picture as bytes, of either family. As a tensor: io::read_image().
// Tests: tests/codec/unpack_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/codec/packed_file.h"
#include "veldt/codec/pyramid.h"

namespace veldt::codec {

struct UnpackOptions {
  std::int64_t max_pixels = std::int64_t{1} << 28;  // larger pictures are refused before memory is allocated
  std::optional<Region> part = {};                  // of a photograph its tiles alone are decoded
  // Take a file that ends too early: a photograph is blurred below what is there, and its colours may be far
  // off. A drawing needs all of it.
  bool partial = false;
};

struct DecodedDrawing;
// The pixels of a complete drawing. Throws IoError malformed with `name`.
DecodedDrawing read_drawing(const PackedHeader& header, const std::string& name);

struct Unpacked {
  std::vector<std::uint8_t> pixels;  // [height, width, channels] of the part; the same on every machine
  Region part;                       // all of the picture, if none was asked for
  int channels = 0;
  Family family = Family::photograph;
  Size size;         // of the whole picture
  double share = 1;  // of the bytes of its latents that are there
};

// The name is for messages. Throws IoError malformed for bytes that are no packed picture, or end too early
// without `partial`; ConfigError for a part that does not lie in the picture.
Unpacked unpack(std::string_view bytes, const std::string& name, const UnpackOptions& options = {});

}  // namespace veldt::codec
