// Rows of veldt/ops/matmul.h.
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/matmul.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

// Sums over k in double, and the sum of the terms' sizes, which bounds what rounding can do.
Expected product(const Values& a, const Values& b) {
  const int ra = a.shape.rank(), rb = b.shape.rank();
  Shape left, right;
  for (int d = 0; d + 2 < ra; ++d) left.push_back(a.shape[d]);
  for (int d = 0; d + 2 < rb; ++d) right.push_back(b.shape[d]);
  Shape shape = broadcast(left, right, "the oracle");
  shape.push_back(a.shape[ra - 2]);
  shape.push_back(b.shape[rb - 1]);
  Expected out;
  out.values = build(shape, [&](const Shape& at) {
    Shape i = at, j = at;
    double total = 0, size = 0;
    for (std::int64_t k = 0; k < a.shape[ra - 1]; ++k) {
      i[at.rank() - 1] = k;
      j[at.rank() - 2] = k;
      // Broadcasting by Values::at would repeat sizes of 1 that stand for themselves: the same thing.
      const double term = a.at(i) * b.at(j);
      total += term;
      size += std::fabs(term);
    }
    out.magnitude.push_back(size);
    return total;
  });
  return out;
}

// Lists are a row on the left and a column on the right.
Expected any_product(Values a, Values b) {
  const bool row = a.shape.rank() == 1, column = b.shape.rank() == 1;
  if (row) a.shape = {1, a.shape[0]};
  if (column) b.shape = {b.shape[0], 1};
  Expected out = product(a, b);
  Shape& shape = out.values.shape;
  if (column) shape = shape.without(shape.rank() - 1);
  if (row) shape = shape.without(shape.rank() - (column ? 1 : 2));
  return out;
}

OpRow list_row(const char* name, Tensor (*op)(const Tensor&, const Tensor&),
               std::vector<std::pair<Shape, Shape>> shapes) {
  OpRow row{.name = name, .inputs = {{}, {}}, .cases = {}, .order = 3, .ulps = 64};
  for (const auto& [a, b] : shapes)
    row.cases.push_back({str(a, " x ", b),
                         {a, b},
                         [op](In in) { return op(in[0], in[1]); },
                         [dots = std::string(name) == "dot"](const std::vector<Values>& in) {
                           if (dots) return any_product(in[0], in[1]);
                           Values a = in[0], b = in[1];
                           a.shape = {a.shape[0], 1};
                           b.shape = {1, b.shape[0]};
                           return product(a, b);
                         }});
  return row;
}

OpRow matmul_row() {
  OpRow row{.name = "matmul", .inputs = {{}, {}}, .cases = {}, .order = 3, .ulps = 8};
  const auto add = [&](Shape a, Shape b) {
    row.cases.push_back({str(a, " x ", b),
                         {a, b},
                         [](In in) { return matmul(in[0], in[1]); },
                         [](const std::vector<Values>& in) { return any_product(in[0], in[1]); }});
  };
  add({3}, {3});
  add({3}, {3, 2});
  add({2, 3}, {3});
  add({3}, {2, 3, 2});
  add({2, 2, 3}, {3});
  add({1, 1}, {1, 1});
  add({2, 3}, {3, 2});
  add({3, 1}, {1, 4});
  add({1, 5}, {5, 1});
  add({2, 2, 3}, {2, 3, 2});
  add({2, 1, 2}, {2, 3});
  add({2, 2}, {2, 2, 1});
  add({2, 1, 1, 2}, {3, 2, 1});
  add({0, 3}, {3, 2});
  add({2, 0}, {0, 3});
  add({2, 3}, {3, 0});
  add({0, 2, 2}, {2, 2});
  add({17, 33}, {33, 19});
  add({24, 129}, {129, 16});
  add({35, 5}, {5, 67});
  add({3, 17, 9}, {3, 9, 31});
  return row;
}

OpRow linear_row(bool biased) {
  OpRow row{.name = biased ? "linear" : "linear_without_bias",
            .inputs = {{}, {}},
            .cases = {},
            .order = 3,
            .ulps = 8};
  if (biased) row.inputs.push_back({});
  const auto add = [&](Shape x, std::int64_t out) {
    std::vector<Shape> shapes = {x, {out, x.back()}};
    if (biased) shapes.push_back({out});
    row.cases.push_back({str(x, " to ", out), shapes,
                         [biased](In in) { return linear(in[0], in[1], biased ? in[2] : Tensor()); },
                         [biased](const std::vector<Values>& in) {
                           const Values& w = in[1];
                           const Values turned = build({w.shape[1], w.shape[0]}, [&](const Shape& at) {
                             return w.at({at[1], at[0]});
                           });
                           Values rows = in[0];
                           if (rows.shape.rank() == 1) rows.shape = {1, rows.shape[0]};
                           Expected y = product(rows, turned);
                           Shape shape = in[0].shape;
                           shape[shape.rank() - 1] = w.shape[0];
                           y.values.shape = shape;
                           for (std::size_t i = 0; biased && i < y.values.v.size(); ++i) {
                             const double b = in[2].v[i % in[2].v.size()];
                             y.values.v[i] += b;
                             y.magnitude[i] += std::fabs(b);
                           }
                           return y;
                         }});
  };
  add({3}, 2);
  add({2, 3}, 2);
  add({2, 2, 2}, 3);
  add({1, 1}, 1);
  add({0, 3}, 2);
  add({2, 0}, 3);
  add({2, 3}, 0);
  add({33, 17}, 65);
  add({5, 13, 7}, 31);
  add({70, 3}, 64);
  return row;
}

}  // namespace

std::vector<OpRow> matmul_rows() {
  return {matmul_row(), linear_row(true), linear_row(false),
          list_row("dot", dot, {{{4}, {4}}, {{1}, {1}}, {{0}, {0}}, {{700}, {700}}}),
          list_row("outer", outer, {{{3}, {4}}, {{1}, {2}}, {{0}, {2}}})};
}

}  // namespace veldt::test
