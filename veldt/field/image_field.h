// A picture as a function of position: drawn at any size.
// Tests: tests/field/image_field_test.cpp, tests/field/render_test.cpp, tests/field/golden_fields_test.cpp
#pragma once

#include <string>

#include "veldt/field/field.h"

namespace veldt::field {

class ImageField : public Field {
 public:
  using Field::Field;
  // The same field; both share its weights. Throws ConfigError if it is of a sound.
  explicit ImageField(const Field& field);
  // Throws as Field::load(), and IoError malformed for the field of a sound.
  static ImageField load(const std::string& path);

  // [height, width, channels] in 0..1, f32. render_bands() does the same in little memory.
  Tensor render(Size size, const RenderOptions& how = {}) const;
};

}  // namespace veldt::field
