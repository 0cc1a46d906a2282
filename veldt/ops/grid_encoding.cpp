// The encoding is linear in the table and a product over the axes of functions of x, so all its derivatives
// are of two kinds: E, which interpolates with a derivative of the weights, and S, its transpose, which adds
// into the table. With respect to the table E's gradient is S and S's is E; with respect to x both give E of
// one order higher.
#include "veldt/ops/grid_encoding.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

void check_bounds(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw ConfigError(str("a grid cannot have ", what, " of ", value),
                      str("it must be from ", low, " to ", high), "choose a value within these bounds");
}

// (cells + 1)^dims, or the limit if there are more.
std::int64_t vertices(std::int64_t cells, int dims, std::int64_t limit) {
  std::int64_t n = 1;
  for (int k = 0; k < dims; ++k) {
    if (n > limit / (cells + 1)) return limit + 1;
    n *= cells + 1;
  }
  return n;
}

Tensor interpolated(const Tensor& x, const Tensor& table, const GridLayout& grid,
                    const GridDerivative& derivative);

// d/dx of sum(g * interpolated(x, table)): [n, dims]
Tensor position_gradient(const Tensor& x, const Tensor& table, const Tensor& g, const GridLayout& grid,
                         const GridDerivative& derivative) {
  std::vector<Tensor> along;
  for (std::size_t k = 0; k < static_cast<std::size_t>(grid.dims); ++k) {
    GridDerivative next = derivative;
    if (next.order[k] < 5) ++next.order[k];  // from the fourth on it is 0
    along.push_back(sum(g * interpolated(x, table, grid, next), {1}, true));
  }
  return cat(along, 1);
}

// The transpose of interpolated() by the table: g [n, levels * features] -> [entries, features]
Tensor scattered(const Tensor& x, const Tensor& g, const GridLayout& grid, const GridDerivative& derivative) {
  const Tensor points = contiguous(x), rows = contiguous(g);
  const Tensor out = empty({grid.entries(), grid.features}, g);
  kernels(g).grid_scatter(grid, derivative, points.view(), rows.view(), out.view());
  return record("grid_scatter", out, {points, rows}, [=](const Tensor& gg) -> Grads {
    return {needs_grad(points) ? position_gradient(points, gg, rows, grid, derivative) : Tensor(),
            needs_grad(rows) ? interpolated(points, gg, grid, derivative) : Tensor()};
  });
}

Tensor interpolated(const Tensor& x, const Tensor& table, const GridLayout& grid,
                    const GridDerivative& derivative) {
  const Tensor points = contiguous(x), features = contiguous(table);
  const Tensor out = empty({x.size(0), static_cast<std::int64_t>(grid.levels) * grid.features}, table);
  kernels(x).grid_encode(grid, derivative, points.view(), features.view(), out.view());
  return record("grid_encoding", out, {points, features}, [=](const Tensor& g) -> Grads {
    return {needs_grad(points) ? position_gradient(points, features, g, grid, derivative) : Tensor(),
            needs_grad(features) ? scattered(points, g, grid, derivative) : Tensor()};
  });
}

}  // namespace

GridLayout grid_layout(const GridOptions& o) {
  check_bounds("a dimension", o.dims, 1, GridLayout::kMaxDims);
  check_bounds("a number of levels", o.levels, 1, GridLayout::kMaxLevels);
  check_bounds("a number of features", o.features, 1, GridLayout::kMaxFeatures);
  check_bounds("a log2_entries", o.log2_entries, 0, 30);
  check_bounds("a finest resolution", o.finest, 1, 1 << 24);  // beyond, f32 cannot tell the cells apart
  check_bounds("a coarsest resolution", o.coarsest, 1, o.finest);
  GridLayout grid{.dims = o.dims, .features = o.features, .levels = o.levels, .smooth = o.smooth};
  const double range = static_cast<double>(o.finest) / static_cast<double>(o.coarsest);
  const std::int64_t limit = std::int64_t{1} << o.log2_entries;
  std::int64_t first = 0;
  for (int l = 0; l < o.levels; ++l) {
    const double share = o.levels > 1 ? static_cast<double>(l) / (o.levels - 1) : 0;
    // Slightly more, so that an integer survives the rounding of pow().
    const double cells = static_cast<double>(o.coarsest) * std::pow(range, share) * (1 + 1e-9);
    GridLayout::Level& level = grid.level[static_cast<std::size_t>(l)];
    level.cells = static_cast<std::int32_t>(cells);
    level.first = first;
    const std::int64_t own = vertices(level.cells, o.dims, limit);
    level.hashed = own > limit;
    first += std::min(own, limit);
  }
  grid.level[static_cast<std::size_t>(o.levels)].first = first;
  return grid;
}

Tensor grid_encoding(const Tensor& x, const Tensor& table, const GridLayout& grid) {
  if (x.rank() != 2 || x.size(1) != grid.dims || !is_float(x.dtype()))
    throw ShapeError(str("grid_encoding cannot place points of ", x.dtype(), ' ', x.shape()),
                     str("the grid has ", grid.dims, " dimensions, so points are [n, ", grid.dims, "]"),
                     "give one point a row, in floats");
  if (table.shape() != Shape({grid.entries(), grid.features}) || table.dtype() != x.dtype())
    throw ShapeError(str("grid_encoding cannot read a table of ", table.dtype(), ' ', table.shape()),
                     str("this grid's is ", x.dtype(), " [", grid.entries(), ", ", grid.features, "]"),
                     "make the table from grid_layout()'s entries, in the dtype of the points");
  check_same_device("grid_encoding", x, table);
  if (is_half(x.dtype()))
    return to(interpolated(to(x, DType::f32), to(table, DType::f32), grid, {}), x.dtype());
  return interpolated(x, table, grid, {});
}

}  // namespace veldt
