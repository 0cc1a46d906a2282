// Pictures as tables, one line a pixel:
//   x,y,pixel_value   how much ink: 1 is black, 0 is paper (numbers between them are read as greys)
//   x,y,grey          0 is black, 255 is white
//   x,y,r,g,b         0..255 each
// x runs from the left and y from the top, both from 0. Every pixel occurs once, in any order.
// Tests: tests/io/pixel_csv_test.cpp, tests/fuzz/pictures.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

enum class PixelColumns { ink, grey, rgb };

struct ReadPixelCsvOptions {
  std::int64_t max_pixels = std::int64_t{1} << 28;
};

// The table as f32 [height, width, channels], 0..1; ink 1 is 0.0. Lines end in LF or CRLF; decimal points are
// points, whatever the locale. Throws IoError missing; malformed, with line and column, for a byte order
// mark, a missing header, a row with too few or too many fields, an invalid number or one out of range, a
// pixel given twice or not at all.
Tensor read_pixel_csv(const std::string& path, const ReadPixelCsvOptions& options = {});

struct WritePixelCsvOptions {
  // By default three channels are rgb; one channel is ink if it only has the values 0 and 1, else grey.
  std::optional<PixelColumns> columns = {};
  float threshold = 0.5f;  // ink columns: ink where the value is below it
};

// Writes [height, width, channels] or [height, width], from the top left, whole or not at all. One-bit and
// 8-bit pictures come back exactly. Colours written as ink or grey are weighted by Rec. 709 luma. Throws
// ShapeError for other shapes (alpha has no column), Error for a NaN, IoError unwritable.
void write_pixel_csv(const std::string& path, const Tensor& image, const WritePixelCsvOptions& options = {});

}  // namespace veldt::io
