// Stacks of layers and multiresolution grids.
#include <string>
#include <vector>

#include "veldt/core/grid.h"
#include "veldt/core/mlp.h"
#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

int activated(TraceNodes& n, int z, const MlpLayer& layer) {
  const auto bell = [&](double scale) {
    const int scaled = n.by("Mul", z, scale);
    return n.unary("Exp", n.unary("Neg", n.binary("Mul", scaled, scaled)));
  };
  switch (layer.activation) {
    case MlpActivation::identity: return z;
    case MlpActivation::relu: return n.unary("Relu", z);
    case MlpActivation::tanh: return n.unary("Tanh", z);
    case MlpActivation::sigmoid: return n.unary("Sigmoid", z);
    case MlpActivation::sine: return n.unary("Sin", n.by("Mul", z, layer.omega));
    case MlpActivation::finer:
      return n.unary("Sin", n.by("Mul", n.binary("Mul", n.by("Add", n.unary("Abs", z), 1), z), layer.omega));
    case MlpActivation::gauss: return bell(layer.omega);
    case MlpActivation::wire:
      return n.binary("Mul", n.unary("Cos", n.by("Mul", z, layer.omega)), bell(layer.scale));
  }
  return z;
}

void mlp_entry(const MlpStep& step, const View* arrays, int /*count*/) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  if (step.pass != MlpPass::forward) return t.refuse_call();
  const View& x = arrays[MlpStep::x];
  const auto whole = t.held().whole(x, x.shape[1]);
  int y = whole ? whole->value : t.held().read(x);
  for (std::size_t l = 0; l < step.depth; ++l) {
    const View &w = arrays[MlpStep::layer_array(l, MlpStep::w)],
               &b = arrays[MlpStep::layer_array(l, MlpStep::b)];
    const int bias = b.data ? t.held().read(b) : -1;
    Sizes shape = n.shape(y);
    if (shape.size() == 2) {
      shape[1] = w.shape[0];
      std::vector<int> inputs = {y, t.held().read(w)};
      if (bias >= 0) inputs.push_back(bias);
      y = n.node("Gemm", inputs, n.dtype(y), shape, {{"transB", std::int64_t{1}}});
    } else {
      View turned = w;
      std::swap(turned.shape[0], turned.shape[1]);
      std::swap(turned.strides[0], turned.strides[1]);
      y = n.matmul(y, t.held().read(turned));
      if (bias >= 0) y = n.binary("Add", y, bias);
    }
    y = activated(n, y, step.layers[l]);
  }
  t.held().write_packed(arrays[MlpStep::out], y);
}

// Levels first .. last - 1, all hashed or none: their features [n, levels, features].
class GridLevels {
 public:
  GridLevels(TraceNodes& n, const GridLayout& grid, int first, int last)
      : n_(n), grid_(grid), first_(first), last_(last), hashed_(at(first).hashed) {}

  int features(int x, int table) {
    place(x);
    const Sizes points = {n_.shape(x)[0]};
    int sum = -1;
    for (int corner = 0; corner < 1 << grid_.dims; ++corner) {
      const int weight = n_.reshape(weight_of(corner), {points[0], last_ - first_, 1});
      const int part = n_.binary("Mul", n_.gather(table, entry_of(corner), 0), weight);
      sum = sum < 0 ? part : n_.binary("Add", sum, part);
    }
    return sum;
  }

 private:
  const GridLayout::Level& at(int l) const { return grid_.level[static_cast<std::size_t>(l)]; }
  template <class Fn> int list(const Fn& fn) {
    Sizes numbers;
    for (int l = first_; l < last_; ++l) numbers.push_back(fn(l));
    return n_.whole({last_ - first_}, numbers);
  }
  // For each axis the cell of each point at each level, and the weight of its upper vertex: [n, levels].
  void place(int x) {
    const DType dtype = n_.dtype(x);
    std::vector<double> sizes, lasts;
    for (int l = first_; l < last_; ++l) {
      sizes.push_back(at(l).cells);
      lasts.push_back(at(l).cells - 1);
    }
    const int cells = n_.numbers(dtype, {last_ - first_}, sizes),
              last = n_.numbers(dtype, {last_ - first_}, lasts);
    for (int k = 0; k < grid_.dims; ++k) {
      const int one = n_.slice(x, {0, k}, {n_.shape(x)[0], 1}, {1, 1});
      const int within =
          n_.node("Clip", {one, n_.scalar(dtype, 0), n_.scalar(dtype, 1)}, dtype, n_.shape(one));
      const int scaled = n_.binary("Mul", within, cells),
                cell = n_.binary("Min", n_.unary("Floor", scaled), last);
      int t = n_.binary("Sub", scaled, cell);
      if (grid_.smooth)
        t = n_.binary("Mul", n_.binary("Mul", t, t),
                      n_.node("Sub", {n_.scalar(dtype, 3), n_.by("Mul", t, 2)}, dtype, n_.shape(t)));
      const int low = n_.cast(cell, DType::i64),
                step = list([&](int l) { return static_cast<std::int64_t>(at(l).step_along(k)); });
      const int entry = n_.binary("Mul", low, step);
      weights_.push_back({n_.node("Sub", {n_.scalar(dtype, 1), t}, dtype, n_.shape(t)), t});
      entries_.push_back({entry, n_.binary("Add", entry, step)});
    }
  }
  int weight_of(int corner) {
    int weight = -1;
    for (int k = 0; k < grid_.dims; ++k) {
      const int one = weights_[static_cast<std::size_t>(k)][static_cast<std::size_t>(corner >> k & 1)];
      weight = weight < 0 ? one : n_.binary("Mul", weight, one);
    }
    return weight;
  }
  int entry_of(int corner) {
    int entry = -1;
    for (int k = 0; k < grid_.dims; ++k) {
      const int one = entries_[static_cast<std::size_t>(k)][static_cast<std::size_t>(corner >> k & 1)];
      entry = entry < 0 ? one : n_.binary(hashed_ ? "BitwiseXor" : "Add", entry, one);
    }
    if (hashed_) entry = n_.binary("BitwiseAnd", entry, list([&](int l) { return grid_.entries_of(l) - 1; }));
    return n_.binary("Add", entry, list([&](int l) { return at(l).first; }));
  }

  TraceNodes& n_;
  const GridLayout& grid_;
  int first_, last_;
  bool hashed_;
  std::vector<std::array<int, 2>> weights_, entries_;
};

void grid_entry(const GridLayout& grid, const GridDerivative& derivative, const View& x, const View& table,
                const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  for (const std::uint8_t order : derivative.order)
    if (order != 0) return t.refuse_call();
  const int points = t.held().read(x), numbers = t.held().read(table);
  std::vector<int> parts;
  for (int first = 0; first < grid.levels;) {
    int last = first + 1;
    const auto hashed = [&](int l) { return grid.level[static_cast<std::size_t>(l)].hashed; };
    while (last < grid.levels && hashed(last) == hashed(first)) ++last;
    parts.push_back(GridLevels(n, grid, first, last).features(points, numbers));
    first = last;
  }
  const int all = parts.size() == 1 ? parts[0] : n.concat(parts, 1);
  t.held().write(out, n.reshape(all, {out.shape.begin(), out.shape.end()}));
}

}  // namespace

void trace_fields(Backend& table) {
  table.mlp = mlp_entry;
  table.grid_encode = grid_entry;
}

}  // namespace veldt::onnx
