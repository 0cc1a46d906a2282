// Pictures of a data set side by side, to inspect the input of a network.
// Tests: tests/data/picture_grid_test.cpp, tests/app/data_show_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::data {

// Pictures [channels, height, width] in 0..1, with 1 or 3 channels, as rows of `columns` columns: f32
// [height, width, channels], each in a cell of the largest one's size, on grey. Values are clamped to 0..1;
// grey pictures among coloured ones get three channels. Throws ShapeError for other tensors, ConfigError for
// no pictures and for columns < 1.
Tensor picture_grid(const std::vector<Tensor>& pictures, std::int64_t columns);

}  // namespace veldt::data
