// Rows of veldt/ops/norm.h. The oracle takes mean and variance of each group of numbers, in double.
#include <algorithm>
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/norm.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

// Groups of `line` neighbours are normalised; element i then has weight and bias i / step % their number.
// rms: the mean is taken for 0.
Expected oracle(const std::vector<Values>& in, std::int64_t line, std::int64_t step, double eps, bool rms) {
  const Values& x = in[0];
  Expected out{Values{x.shape, x.v}};
  out.magnitude = x.v;
  for (std::size_t i = 0; i < x.v.size(); ++i) {
    const std::size_t length = static_cast<std::size_t>(line), first = i / length * length;
    double mean = 0, largest = 0, variance = 0;
    for (std::size_t k = first; k < first + length; ++k) {
      mean += rms ? 0 : x.v[k] / static_cast<double>(line);
      largest = std::max(largest, std::fabs(x.v[k]));
    }
    for (std::size_t k = first; k < first + length; ++k)
      variance += (x.v[k] - mean) * (x.v[k] - mean) / static_cast<double>(line);
    const double scale = 1 / std::sqrt(variance + eps);
    const auto of = [&](std::size_t input, double none) {
      if (in.size() <= input) return none;
      return in[input].v[i / static_cast<std::size_t>(step) % in[input].v.size()];
    };
    const double weight = of(1, 1), bias = of(2, 0);
    out.values.v[i] = (x.v[i] - mean) * scale * weight + bias;
    out.magnitude[i] = 2 * largest * scale * std::fabs(weight) + std::fabs(bias);
  }
  return out;
}

OpRow row_of(const char* name, std::size_t inputs) {
  return {
      .name = name, .inputs = std::vector<OpInput>(inputs, OpInput{}), .cases = {}, .order = 3, .ulps = 16};
}

// Over the last `rank` dimensions, with so many of weight and bias.
void add_layer(OpRow& row, const Shape& shape, int rank, double eps, bool rms) {
  Shape normalized;
  for (int d = shape.rank() - rank; d < shape.rank(); ++d) normalized.push_back(shape[d]);
  std::vector<Shape> shapes = {shape};
  while (shapes.size() < row.inputs.size()) shapes.push_back(normalized);
  row.cases.push_back(
      {str(shape, " over ", normalized, ", eps ", eps), shapes,
       [=](In in) {
         const Tensor weight = in.size() > 1 ? in[1] : Tensor();
         if (rms) return rms_norm(in[0], normalized, weight, eps);
         return layer_norm(in[0], normalized, weight, in.size() > 2 ? in[2] : Tensor(), eps);
       },
       [=](const std::vector<Values>& in) { return oracle(in, numel(normalized), 1, eps, rms); }});
}

OpRow layer_row(const char* name, std::size_t inputs, bool rms) {
  OpRow row = row_of(name, inputs);
  add_layer(row, {3}, 1, 0.1, rms);
  add_layer(row, {2, 3}, 1, 0.2, rms);
  add_layer(row, {2, 2, 2}, 2, 0.1, rms);
  add_layer(row, {1, 1}, 1, 0.5, rms);
  add_layer(row, {0, 3}, 1, 0.1, rms);
  add_layer(row, {20, 67}, 1, 1e-5, rms);
  add_layer(row, {3, 40, 30}, 2, 1e-5, rms);
  add_layer(row, {150, 3}, 1, 1e-5, rms);
  return row;
}

OpRow group_row() {
  OpRow row = row_of("group_norm", 3);
  const auto add = [&](const Shape& shape, std::int64_t groups, double eps) {
    std::int64_t behind = 1;
    for (int d = 2; d < shape.rank(); ++d) behind *= shape[d];
    row.cases.push_back({str(shape, " in ", groups, " groups, eps ", eps),
                         {shape, {shape[1]}, {shape[1]}},
                         [=](In in) { return group_norm(in[0], groups, in[1], in[2], eps); },
                         [=](const std::vector<Values>& in) {
                           return oracle(in, shape[1] / groups * behind, behind, eps, false);
                         }});
  };
  add({1, 4}, 2, 0.1);
  add({2, 2, 2}, 1, 0.2);
  add({1, 2, 1, 3}, 2, 0.1);
  add({0, 4, 3}, 2, 0.1);
  add({3, 6, 7, 5}, 3, 1e-5);
  return row;
}

}  // namespace

std::vector<OpRow> norm_rows() {
  return {layer_row("layer_norm", 3, false), layer_row("layer_norm_without_parameters", 1, false),
          group_row(), layer_row("rms_norm", 2, true)};
}

}  // namespace veldt::test
