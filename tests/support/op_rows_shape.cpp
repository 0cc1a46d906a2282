// Rows of veldt/ops/shape.h: each result is told by where its elements come from.
#include <algorithm>
#include <limits>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Source = std::function<Shape(const Shape& index)>;

class ShapeRow {
 public:
  explicit ShapeRow(const char* name) { row_ = {.name = name, .inputs = {{}}, .cases = {}, .ulps = 0}; }

  // Element `index` of the result, of shape `to`, is x's element at source(index).
  ShapeRow& add(Shape x, Shape to, std::string label, std::function<Tensor(const Tensor&)> run,
                Source source) {
    row_.cases.push_back({str(x, " -> ", to, ' ', label),
                          {x},
                          [run](In in) { return run(in[0]); },
                          [to, source](const std::vector<Values>& in) {
                            return Expected{
                                build(to, [&](const Shape& index) { return in[0].at(source(index)); })};
                          }});
    return *this;
  }
  // The same elements in row-major order under another shape.
  ShapeRow& add_reshape(Shape x, Shape to, std::function<Tensor(const Tensor&)> run, std::string label = "") {
    return add(x, to, std::move(label), std::move(run),
               [x, to](const Shape& index) { return index_of(x, position_of(to, index)); });
  }
  operator OpRow() const { return row_; }  // NOLINT: the end of the chain

 private:
  OpRow row_;
};

OpRow reshape_row() {
  ShapeRow row("reshape");
  const auto add = [&](Shape x, Shape to, Shape given) {
    row.add_reshape(
        x, to, [given](const Tensor& t) { return reshape(t, given); }, str("as ", given));
  };
  add({6}, {2, 3}, {2, 3});
  add({2, 3}, {6}, {-1});
  add({2, 3, 4}, {4, 6}, {4, -1});
  add({2, 3, 4}, {2, 12}, {2, 12});
  add({2, 3, 4}, {2, 3, 2, 2}, {2, 3, 2, 2});
  add({2, 3}, {2, 3}, {2, 3});
  add({}, {1, 1}, {1, 1});
  add({1, 1}, {}, {});
  add({2, 1, 3}, {1, 2, 3, 1}, {1, 2, 3, 1});
  add({0, 3}, {3, 0, 2}, {3, 0, 2});
  return row;
}

OpRow flatten_row() {
  ShapeRow row("flatten");
  const auto add = [&](Shape x, Shape to, int from) {
    row.add_reshape(
        x, to, [from](const Tensor& t) { return flatten(t, from); }, str("from ", from));
  };
  add({}, {1}, 0);
  add({2, 3, 2}, {12}, 0);
  add({2, 3, 2}, {2, 6}, 1);
  add({2, 3, 2}, {2, 3, 2}, -1);
  add({2, 0, 3}, {2, 0}, 1);
  return row;
}

OpRow transpose_row() {
  ShapeRow row("transpose");
  const auto add = [&](Shape x, Shape to, int a, int b) {
    row.add(
        x, to, str(a, " with ", b), [=](const Tensor& t) { return transpose(t, a, b); },
        [=](Shape index) {
          std::swap(index[a < 0 ? a + x.rank() : a], index[b < 0 ? b + x.rank() : b]);
          return index;
        });
  };
  add({2, 3}, {3, 2}, -2, -1);
  add({2, 3, 4}, {4, 3, 2}, 0, 2);
  add({2, 3, 4}, {2, 4, 3}, 1, -1);
  add({2, 3}, {2, 3}, 1, 1);
  add({3, 0}, {0, 3}, 0, 1);
  return row;
}

OpRow permute_row() {
  ShapeRow row("permute");
  const auto add = [&](Shape x, Shape to, std::vector<int> order) {
    std::string label = "by";
    for (int d : order) label += str(' ', d);
    row.add(
        x, to, label, [order](const Tensor& t) { return permute(t, order); },
        [order](const Shape& index) {
          Shape from = index;
          for (int i = 0; i < index.rank(); ++i) {
            const int d = order[static_cast<std::size_t>(i)];
            from[d < 0 ? d + index.rank() : d] = index[i];
          }
          return from;
        });
  };
  add({}, {}, {});
  add({4}, {4}, {0});
  add({2, 3, 4}, {4, 2, 3}, {2, 0, 1});
  add({2, 3, 4}, {3, 4, 2}, {1, 2, 0});
  add({2, 3, 4}, {4, 3, 2}, {-1, -2, -3});
  add({2, 1, 3, 2}, {3, 2, 2, 1}, {2, 0, 3, 1});
  return row;
}

OpRow expand_row() {
  ShapeRow row("expand");
  const auto add = [&](Shape x, Shape to) {
    // Values::at repeats by itself.
    row.add(
        x, to, "", [to](const Tensor& t) { return expand(t, to); }, [](const Shape& index) { return index; });
  };
  add({}, {3});
  add({3}, {2, 3});
  add({2, 1}, {2, 4});
  add({1, 3, 1}, {2, 2, 3, 2});
  add({2, 3}, {2, 3});
  add({1}, {0});
  add({1}, {1, 1});
  return row;
}

OpRow slice_row() {
  ShapeRow row("slice");
  const auto add = [&](Shape x, int dim, std::int64_t begin, std::int64_t end, std::int64_t step,
                       std::vector<std::int64_t> taken) {
    const int d = dim < 0 ? dim + x.rank() : dim;
    Shape to = x;
    to[d] = static_cast<std::int64_t>(taken.size());
    row.add(
        x, to, str("dim ", dim, " from ", begin, " to ", end, " by ", step),
        [=](const Tensor& t) { return slice(t, dim, begin, end, step); },
        [=](Shape index) {
          index[d] = taken[static_cast<std::size_t>(index[d])];
          return index;
        });
  };
  add({6}, 0, 1, 5, 1, {1, 2, 3, 4});
  add({6}, 0, 0, 6, 1, {0, 1, 2, 3, 4, 5});
  add({7}, 0, 1, 6, 2, {1, 3, 5});
  add({7}, 0, 0, 7, 3, {0, 3, 6});
  add({7}, 0, -3, 7, 1, {4, 5, 6});
  add({7}, 0, 0, -2, 2, {0, 2, 4});
  add({7}, 0, -100, 100, 6, {0, 6});
  add({7}, 0, 2, 5, 100, {2});
  add({7}, 0, 2, 6, std::numeric_limits<std::int64_t>::max(), {2});
  add({7}, 0, 2, 2, 5, {});
  add({7}, 0, 4, 2, 1, {});
  add({7}, 0, 7, 9, 1, {});
  add({3, 5}, 1, 1, 4, 2, {1, 3});
  add({3, 5}, -2, 1, 3, 1, {1, 2});
  add({2, 4, 3}, 1, 0, 4, 2, {0, 2});
  add({0, 3}, 0, 0, 1, 1, {});
  add({7}, 0, 7, -8, -1, {6, 5, 4, 3, 2, 1, 0});
  add({7}, 0, 5, 0, -2, {5, 3, 1});
  add({7}, 0, 100, -100, -3, {6, 3, 0});
  add({7}, 0, -1, 1, std::numeric_limits<std::int64_t>::min(), {6});
  add({7}, 0, 1, 4, -1, {});
  add({3, 5}, 1, 3, 0, -2, {3, 1});
  add({0, 3}, 0, 5, -5, -1, {});
  return row;
}

OpRow select_row() {
  ShapeRow row("select");
  const auto add = [&](Shape x, int dim, std::int64_t i) {
    const int d = dim < 0 ? dim + x.rank() : dim;
    const std::int64_t at = i < 0 ? i + x[d] : i;
    row.add(
        x, x.without(d), str("dim ", dim, " at ", i), [=](const Tensor& t) { return select(t, dim, i); },
        [=](const Shape& index) { return index.with_inserted(d, at); });
  };
  add({4}, 0, 2);
  add({3, 4}, 0, 1);
  add({3, 4}, 1, -1);
  add({2, 3, 4}, -2, 2);
  add({1, 3}, 0, 0);
  return row;
}

OpRow unsqueeze_row() {
  ShapeRow row("unsqueeze");
  const auto add = [&](Shape x, Shape to, int dim) {
    row.add_reshape(
        x, to, [dim](const Tensor& t) { return unsqueeze(t, dim); }, str("at ", dim));
  };
  add({}, {1}, 0);
  add({3}, {1, 3}, 0);
  add({3}, {3, 1}, -1);
  add({2, 3}, {2, 1, 3}, 1);
  add({0}, {0, 1}, 1);
  return row;
}

OpRow squeeze_row() {
  ShapeRow row("squeeze");
  const auto add = [&](Shape x, Shape to, int dim) {
    row.add_reshape(
        x, to, [dim](const Tensor& t) { return squeeze(t, dim); }, str("at ", dim));
  };
  add({1}, {}, 0);
  add({1, 3}, {3}, 0);
  add({2, 1, 3}, {2, 3}, -2);
  add({2, 3, 1}, {2, 3}, 2);
  return row;
}

OpRow contiguous_row() {
  ShapeRow row("contiguous");
  for (const Shape& x : {Shape{}, Shape{5}, Shape{3, 4}, Shape{2, 3, 4}, Shape{0, 2}, Shape{70, 300}})
    row.add_reshape(x, x, [](const Tensor& t) { return contiguous(t); });
  return row;
}

OpRow clone_row() {
  ShapeRow row("clone");
  for (const Shape& x : {Shape{}, Shape{5}, Shape{3, 4}, Shape{0, 2}, Shape{70, 300}})
    row.add_reshape(x, x, [](const Tensor& t) { return clone(t); });
  return row;
}

OpRow to_row() {
  ShapeRow row("to");
  for (const Shape& x : {Shape{}, Shape{5}, Shape{3, 4}, Shape{0}, Shape{70, 300}}) {
    row.add_reshape(
        x, x, [](const Tensor& t) { return to(to(t, DType::f64), t.dtype()); }, "f64 and back");
    row.add_reshape(
        x, x, [](const Tensor& t) { return to(t, Device{}); }, "the same device");
  }
  return row;
}

// Joins along `dim` the parts that `raise` has made of the inputs.
OpRow joining(const char* name, bool adds_dim) {
  OpRow row{.name = name, .inputs = {{}, {}, {}}, .cases = {}, .ulps = 0};
  const auto add = [&](std::vector<Shape> shapes, int dim) {
    const int rank = shapes[0].rank() + (adds_dim ? 1 : 0), d = dim < 0 ? dim + rank : dim;
    row.cases.push_back({str(shapes[0], ' ', shapes.size(), " parts along ", dim), shapes,
                         [=](In in) { return adds_dim ? stack(in, dim) : cat(in, dim); },
                         [=](const std::vector<Values>& in) {
                           std::vector<Values> parts = in;
                           for (Values& p : parts)
                             if (adds_dim) p.shape = p.shape.with_inserted(d, 1);
                           Shape shape = parts[0].shape;
                           shape[d] = 0;
                           for (const Values& p : parts) shape[d] += p.shape[d];
                           return Expected{build(shape, [&](Shape index) {
                             std::size_t k = 0;
                             while (index[d] >= parts[k].shape[d]) index[d] -= parts[k++].shape[d];
                             return parts[k].v[static_cast<std::size_t>(position_of(parts[k].shape, index))];
                           })};
                         }});
  };
  add({{3}}, 0);
  add({{2, 3}, {2, 3}, {2, 3}}, 0);
  add({{2, 3}, {2, 3}}, 1);
  add({{2, 3}, {2, 3}}, -1);
  add({{2, 1, 2}, {2, 1, 2}, {2, 1, 2}}, 1);
  add({{0}, {0}}, 0);
  if (adds_dim) {
    add({{}, {}, {}}, 0);
    add({{2, 3}, {2, 3}}, 2);
  } else {
    add({{2, 3}, {4, 3}, {1, 3}}, 0);
    add({{2, 3}, {2, 0}, {2, 2}}, 1);
    add({{70, 90}, {70, 200}}, -1);
  }
  return row;
}

}  // namespace

std::vector<OpRow> shape_rows() {
  return {reshape_row(),    flatten_row(), transpose_row(),       permute_row(),         expand_row(),
          clone_row(),      slice_row(),   select_row(),          unsqueeze_row(),       squeeze_row(),
          contiguous_row(), to_row(),      joining("cat", false), joining("stack", true)};
}

}  // namespace veldt::test
