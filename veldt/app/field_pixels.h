// A field as a small picture of RGB bytes, as it is at a moment of its fit: for terminals and films.
// Tests: tests/app/terminal_picture_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/core/size.h"
#include "veldt/field/field.h"

namespace veldt::app {

// width * height * 3 bytes of u8, row by row. Grey is repeated, and alpha laid over black. `how` may ask for
// fewer samples than a good drawing has. Throws ConfigError as Field::render_bands().
std::vector<std::uint8_t> rgb_pixels(const field::Field& field, Size size,
                                     const field::RenderOptions& how = {});

// The size of a picture of these sides scaled to fit into a box, at least 1 pixel each.
Size fitted_into(Size box, std::int64_t width, std::int64_t height);

}  // namespace veldt::app
