// Features of points, interpolated in grids of several resolutions whose vertices share one table
// (Mueller et al. 2022, "Instant neural graphics primitives", arXiv:2201.05989).
// Tests: tests/support/op_rows_grid.cpp, tests/ops/grid_encoding_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/grid.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

struct GridOptions {
  int dims = 2;                // of a point, 1 to 4
  int levels = 16;             // 1 to 32
  int features = 2;            // of a vertex, 1 to 8
  int log2_entries = 19;       // a level has at most 2^log2_entries entries, 0 to 30
  std::int64_t coarsest = 16;  // cells along each side of the first level ..
  std::int64_t finest = 2048;  // .. and of the last, at most 2^24; with one level the coarsest counts
  bool smooth = false;         // interpolate by 3 t^2 - 2 t^3, which has a slope everywhere; else linearly

  friend bool operator==(const GridOptions&, const GridOptions&) = default;
};

// Level l has N = floor(coarsest (finest / coarsest)^(l / (levels - 1))) cells along each side. One whose
// (N + 1)^dims vertices fit has an entry for each, the first axis fastest; in the others vertex (a, b, ..)
// takes entry (a xor 2654435761 b xor 805459861 c xor 3674653429 d) mod 2^log2_entries. Throws ConfigError
// for numbers outside the bounds above.
GridLayout grid_layout(const GridOptions& options);

// x [n, dims], within 0..1; table [entries, features] -> [n, levels * features], level by level. Beyond 0..1
// features are those of the border, and slopes are 0. f32 and f64; halves are computed as f32. Differentiable
// to any order by both, the table's gradient summed in a fixed order. Throws ShapeError.
Tensor grid_encoding(const Tensor& x, const Tensor& table, const GridLayout& grid);

}  // namespace veldt
