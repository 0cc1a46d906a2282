// The row of veldt/ops/grid_encoding.h. The oracle is the paper's text in double, a vertex at a time.
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/grid_encoding.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

double weight_of(double t, bool smooth) { return smooth ? t * t * (3 - 2 * t) : t; }

// The entry of a vertex within its level.
std::int64_t entry_of(const std::vector<std::int64_t>& vertex, std::int64_t cells, std::int64_t entries) {
  std::int64_t all = 1, index = 0;
  for (const std::int64_t v : vertex) {
    index += v * all;
    all *= cells + 1;
  }
  if (all == entries) return index;
  const std::uint32_t factors[] = {1u, 2654435761u, 805459861u, 3674653429u};
  std::uint32_t hash = 0;
  for (std::size_t k = 0; k < vertex.size(); ++k) hash ^= static_cast<std::uint32_t>(vertex[k]) * factors[k];
  return hash % static_cast<std::uint32_t>(entries);
}

// Feature f of level l at point `row` of x.
double feature_at(const GridLayout& grid, const Values& x, const Values& table, std::int64_t row, int l,
                  int f) {
  const auto& level = grid.level[static_cast<std::size_t>(l)];
  double sum = 0;
  for (int corner = 0; corner < 1 << grid.dims; ++corner) {
    double weight = 1;
    std::vector<std::int64_t> vertex;
    for (int k = 0; k < grid.dims; ++k) {
      const double at = std::fmin(1, std::fmax(0, x.at({row, k}))) * level.cells;
      const double cell = std::fmin(std::floor(at), level.cells - 1);
      const double high = weight_of(at - cell, grid.smooth);
      const bool upper = (corner >> k & 1) != 0;
      weight *= upper ? high : 1 - high;
      vertex.push_back(static_cast<std::int64_t>(cell) + upper);
    }
    sum += weight * table.at({level.first + entry_of(vertex, level.cells, grid.entries_of(l)), f});
  }
  return sum;
}

OpCase grid_case(const std::string& label, std::int64_t points, const GridOptions& options) {
  const GridLayout grid = grid_layout(options);
  return {
      label,
      {{points, grid.dims}, {grid.entries(), grid.features}},
      [grid](In in) { return grid_encoding(in[0], in[1], grid); },
      [grid](const std::vector<Values>& in) {
        Expected out{build({in[0].shape[0], std::int64_t{grid.levels} * grid.features}, [&](const Shape& at) {
          const int column = static_cast<int>(at[1]);
          return feature_at(grid, in[0], in[1], at[0], column / grid.features, column % grid.features);
        })};
        // A position is known to an ulp, which the finest level makes as many of a cell as it has cells.
        out.magnitude.assign(out.values.v.size(), 4.0 + 8 * grid.level[grid.levels - 1].cells);
        return out;
      }};
}

}  // namespace

std::vector<OpRow> grid_rows() {
  // Away from the faces of cells of all resolutions below, where linear interpolation has kinks.
  const OpInput point{
      .low = -0.3, .high = 1.3, .avoid = {0, 0.25, 1.0 / 3, 0.5, 2.0 / 3, 0.75, 1}, .margin = 0.02};
  OpRow row{.name = "grid_encoding", .inputs = {point, {}}, .cases = {}, .order = 3};
  for (const bool smooth : {false, true}) {
    const char* kind = smooth ? "smooth" : "linear";
    const auto add = [&](const char* label, std::int64_t points, GridOptions options) {
      options.smooth = smooth;
      row.cases.push_back(grid_case(str(kind, ' ', label), points, options));
    };
    const auto grid = [](int dims, int levels, int features, int log2_entries, std::int64_t coarsest,
                         std::int64_t finest) {
      return GridOptions{dims, levels, features, log2_entries, coarsest, finest};
    };
    add("1 axis", 3, grid(1, 1, 1, 10, 2, 2));
    add("1 axis, 2 levels", 2, grid(1, 2, 1, 10, 1, 3));
    add("1 axis, hashed", 2, grid(1, 1, 2, 1, 4, 4));
    add("2 axes, one cell", 2, grid(2, 1, 1, 10, 1, 1));
    add("2 axes, hashed", 2, grid(2, 1, 1, 2, 3, 3));
    add("2 axes, dense and hashed", 3, grid(2, 2, 1, 3, 1, 2));
    add("2 axes, 2 features", 2, grid(2, 1, 2, 2, 4, 4));
    add("3 axes", 2, grid(3, 1, 1, 10, 1, 1));
    add("3 axes, hashed", 1, grid(3, 1, 3, 1, 3, 3));
    add("4 axes", 1, grid(4, 1, 1, 10, 1, 1));
    add("4 axes, hashed", 2, grid(4, 1, 1, 2, 2, 2));
    add("nothing", 0, grid(2, 2, 2, 4, 1, 2));
    add("many points of 2 axes", 37, grid(2, 3, 2, 4, 1, 4));
    add("many points of 3 axes", 67, grid(3, 3, 2, 5, 1, 4));
    add("many points of 3 features", 1050, grid(2, 2, 3, 4, 2, 4));
    add("8 features of 4 axes", 21, grid(4, 2, 8, 5, 1, 3));
  }
  return {row};
}

}  // namespace veldt::test
