// A packed picture as a field, so that it is drawn at any size, exported, morphed: all that a field can do.
// Tests: tests/pack/coordinate_field_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "veldt/codec/coordinate_codec.h"
#include "veldt/field/image_field.h"

namespace veldt::pack {

// The closing that makes its pixels exact (field/closing.h), on a network that says nothing: cubic
// convolution between the pixels. A fit of the pixels draws smoother contours. Takes some ten samples of
// memory a pixel.
field::ImageField field_of(const codec::CoordinatePicture& picture);

// Of a packed picture, by the bytes of its file; the name is for messages. A photograph is the closing alone:
// cubic convolution between its pixels. Throws as codec::unpack(), and
// ConfigError for a photograph of more than kMostFieldPixels.
field::ImageField packed_field(std::string_view bytes, const std::string& name);
inline constexpr std::int64_t kMostFieldPixels = std::int64_t{1} << 24;

}  // namespace veldt::pack
