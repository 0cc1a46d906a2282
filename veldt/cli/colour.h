// Colours that people name.
// Tests: tests/app/pictures_test.cpp
#pragma once

#include <string>

#include "veldt/io/text_values.h"

namespace veldt::cli {

struct Colour {
  float red = 0, green = 0, blue = 0;  // 0..1

  bool is_grey() const { return red == green && green == blue; }
};

// One of CSS's sixteen basic names, in any case, #rrggbb or #rgb. Throws bad_value().
Colour colour_from(const io::Source& source, const std::string& text);

}  // namespace veldt::cli
