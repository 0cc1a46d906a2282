// The numbers of a field as plain lists, with what each means: what all writers of this layer begin with.
// Tests: tests/publish/header_test.cpp, tests/publish/page_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/core/grid.h"
#include "veldt/field/field.h"

namespace veldt::publish {

// weight [out, in] and bias [out], empty without.
struct Dense {
  std::int64_t in = 0, out = 0;
  std::vector<float> weight, bias;
};

// One encoding: `numbers` are the table of a grid, [entries, features], or Fourier's frequencies,
// [frequencies, inputs].
struct EncodingPart {
  field::EncodingOptions options;
  GridLayout grid{};
  std::vector<float> numbers;
};

struct Parts {
  field::FieldOptions options;
  // A place in a picture, u and v in 0..1, enters the network as x_scale u + x_shift, y_scale v + y_shift.
  double x_scale = 0, x_shift = 0, y_scale = 0, y_shift = 0;
  std::vector<EncodingPart> encodings;
  std::vector<Dense> layers;
  std::vector<float> closing;  // [options.closing, rows, columns, channels]

  std::int64_t numbers() const;
};

// Throws ConfigError for the field of an animated picture.
Parts parts_of(const field::Field& field);

// The field of such parts: parts_of() backwards. Its closing is f32.
field::Field field_of(const Parts& parts);

// Throws ConfigError for the field of a sound or of an animated picture: `what` draws pictures.
void must_be_picture(const field::Field& field, const char* what);

}  // namespace veldt::publish
