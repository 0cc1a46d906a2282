// A packed drawing as a field, so that it is drawn at any size, exported, compared: all that a field can do.
// Tests: tests/codec/coordinate_field_test.cpp
#pragma once

#include "veldt/codec/coordinate_codec.h"
#include "veldt/field/image_field.h"

namespace veldt::codec {

// The network of the body as a SIREN in f32, and of an exact picture the closing that makes its pixels exact
// (field/closing.h). Without a network, and of exact pixels of two tones, it is the closing alone, which is
// cubic convolution between the pixels: a fit of the pixels draws smoother contours. Takes some ten samples
// of memory a pixel.
field::ImageField field_of(const CoordinatePicture& picture);

}  // namespace veldt::codec
