// The size of a picture: one type, so that width and height cannot be swapped.
// Tests: tests/field/render_test.cpp, tests/data/resample_test.cpp
#pragma once

#include <cstdint>

namespace veldt {

// In pixels; width first, as people say it. Tensors of pictures are [height, width, channels].
struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

}  // namespace veldt
