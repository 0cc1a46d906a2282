// The alpha of a packed photograph, exact: squares of 1024 pixels, each of which is a drawing of one channel
// by itself, so that a part is decoded without the rest.
// Tests: tests/codec/alpha_test.cpp, tests/fuzz/packed.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/codec/pyramid.h"
#include "veldt/core/size.h"

namespace veldt::codec {

// Of levels [height, width], 255 for opaque: the lengths of the squares, row by row, then their bodies. One
// that is opaque everywhere has none.
std::string write_alpha(std::span<const std::uint8_t> alpha, Size picture);

// The levels of a part of the picture, [height, width]. The name is for messages. Throws IoError malformed
// for bytes that are no such section.
std::vector<std::uint8_t> read_alpha(std::string_view section, Size picture, const Region& part,
                                     const std::string& name);

// The body of a photograph with alpha: the section's length, the section, the body of the photograph.
std::string join_alpha(std::string_view section, std::string_view photograph);
struct BodyWithAlpha {
  std::string_view alpha, photograph;
};
// Throws IoError malformed for a body that ends before its photograph begins.
BodyWithAlpha split_alpha(std::string_view body, const std::string& name);

}  // namespace veldt::codec
