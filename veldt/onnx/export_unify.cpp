// Compares runs with batches of several sizes: sizes that differ become arithmetic on the size of an input.
#include "veldt/onnx/export_unify.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/onnx/trace_nodes.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {
namespace {

// What runs with batches of several sizes have in common.
class Comparison {
 public:
  Comparison(const std::vector<TracedGraph>& runs, const std::vector<std::int64_t>& batches)
      : runs_(runs), batches_(batches), first_(runs[0]) {
    check_structure();
  }

  const std::vector<TracedGraph>& runs() const { return runs_; }

  [[noreturn]] void refuse(const std::string& why, int place) const {
    const std::string& path = first_.places[static_cast<std::size_t>(place)];
    throw Error(
        str("the network cannot be exported for every batch size", path.empty() ? "" : ", because of ", path),
        why, "export it for one size: dynamic_batch = false, or veldt export --batch 1");
  }

  int place_of(int v) const {
    const int node = first_[v].node;
    if (node >= 0) return first_.nodes[static_cast<std::size_t>(node)].place;
    for (const TracedNode& n : first_.nodes)
      if (std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end()) return n.place;
    return 0;
  }

  // The number of each run, as one that grows evenly with the batch.
  template <class Fn> BatchedSize fitted(const Fn& number, int v) const {
    const std::int64_t first = number(runs_[0]);
    if (runs_.size() == 1) return {first, 0};
    const std::int64_t apart = batches_[1] - batches_[0], grown = number(runs_[1]) - first;
    BatchedSize size{first, grown / apart};
    size.fixed -= size.each * batches_[0];
    for (std::size_t r = 0; r < runs_.size(); ++r)
      if (size.fixed + size.each * batches_[r] != number(runs_[r]))
        refuse(str("a size is ", first, ", ", number(runs_[1]), " .. with ", batches_[0], ", ", batches_[1],
                   " .. examples, and does not grow evenly"),
               place_of(v));
    return size;
  }

  BatchedSizes shape_of(int v) const {
    BatchedSizes shape;
    for (const TracedGraph& run : runs_)
      if (run[v].shape.size() != first_[v].shape.size() || run[v].kind != first_[v].kind)
        refuse("a value has another number of dimensions with more examples", place_of(v));
    for (std::size_t d = 0; d < first_[v].shape.size(); ++d)
      shape.push_back(fitted([&](const TracedGraph& run) { return run[v].shape[d]; }, v));
    return shape;
  }

  // The bytes of `single` if every run repeats them.
  std::optional<std::string> repeated(int v, const Sizes& single) const {
    const std::size_t width = size_of(first_[v].dtype);
    const Sizes strides = packed_strides(single);
    std::string row;
    for (const TracedGraph& run : runs_) {
      const TracedValue& value = run[v];
      if (row.empty()) row.resize(static_cast<std::size_t>(count_of(single)) * width);
      std::vector<bool> seen(row.size() / width);
      Sizes at(single.size());
      for (std::size_t i = 0; i < value.bytes.size(); i += width) {
        std::int64_t place = 0;
        for (std::size_t d = 0; d < at.size(); ++d) place += single[d] == 1 ? 0 : at[d] * strides[d];
        const auto slot = static_cast<std::size_t>(place);
        char* const kept = row.data() + slot * width;
        if (&run == &runs_[0] && !seen[slot]) std::memcpy(kept, value.bytes.data() + i, width);
        if (std::memcmp(kept, value.bytes.data() + i, width) != 0) return std::nullopt;
        seen[slot] = true;
        for (std::size_t d = at.size(); d-- > 0;) {
          if (++at[d] < value.shape[d]) break;
          at[d] = 0;
        }
      }
    }
    return row;
  }

 private:
  void check_structure() const {
    for (const TracedGraph& other : runs_) {
      const std::size_t nodes = std::min(first_.nodes.size(), other.nodes.size());
      for (std::size_t i = 0; i < nodes; ++i) {
        const TracedNode &a = first_.nodes[i], &b = other.nodes[i];
        if (a.op != b.op || a.inputs != b.inputs || a.outputs != b.outputs || a.attributes != b.attributes)
          refuse(str("it computes ", a.op, " with ", batches_[0], " examples where it computes ",
                     b.op == a.op ? "another " + b.op : b.op, " with more"),
                 a.place);
      }
      if (first_.nodes.size() != other.nodes.size() || first_.values.size() != other.values.size())
        refuse(str("it takes ", first_.nodes.size(), " steps with ", batches_[0], " examples and ",
                   other.nodes.size(), " with more"),
               0);
    }
  }

  const std::vector<TracedGraph>& runs_;
  const std::vector<std::int64_t>& batches_;
  const TracedGraph& first_;
};

// Nodes and constants of the result, among them the arithmetic on the batch's size.
class ResultNodes {
 public:
  ResultNodes(TracedGraph& graph, BatchSource source) : graph_(graph), source_(source) {}

  int place = 0;  // of the nodes that follow

  int constant(DType dtype, Sizes shape, std::string bytes) {
    return graph_.add({.kind = TracedValue::Kind::constant,
                       .dtype = dtype,
                       .shape = std::move(shape),
                       .bytes = std::move(bytes)});
  }
  int list(const Sizes& sizes) {
    return constant(DType::i64, {static_cast<std::int64_t>(sizes.size())},
                    {reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof sizes[0]});
  }
  int node(std::string op, std::vector<int> inputs, DType dtype, Sizes shape,
           TracedAttributes attributes = {}) {
    return graph_.add({.op = std::move(op),
                       .inputs = std::move(inputs),
                       .outputs = {},
                       .attributes = std::move(attributes),
                       .place = place},
                      dtype, std::move(shape));
  }

  // A list of sizes, computed at run time.
  int computed(const BatchedSizes& sizes) {
    const Sizes shape = {static_cast<std::int64_t>(sizes.size())};
    Sizes fixed, each;
    for (const BatchedSize& s : sizes) {
      fixed.push_back(s.fixed);
      each.push_back(s.each);
    }
    const std::int64_t dim = source_.dim;
    int value = node("Shape", {graph_.inputs[static_cast<std::size_t>(source_.input)]}, DType::i64, {1},
                     {{"start", dim}, {"end", dim + 1}});
    if (each != Sizes{1}) value = node("Mul", {value, list(each)}, DType::i64, shape);
    if (fixed != Sizes(fixed.size(), 0)) value = node("Add", {value, list(fixed)}, DType::i64, shape);
    return value;
  }

 private:
  TracedGraph& graph_;
  BatchSource source_;
};

// The nodes of the first run, with constants and arithmetic in the place of its lists of sizes.
class Unifier {
 public:
  Unifier(const std::vector<TracedGraph>& runs, const std::vector<std::int64_t>& batches, BatchSource source)
      : common_(runs, batches), first_(runs[0]), nodes_(out_.graph, source) {}

  BatchedGraph graph() {
    for (std::size_t v = 0; v < first_.values.size(); ++v)
      shapes_.push_back(common_.shape_of(static_cast<int>(v)));
    out_.graph.places = first_.places;
    values_.assign(first_.values.size(), -1);
    for (std::size_t i = 0; i < first_.inputs.size(); ++i) {
      out_.graph.inputs.push_back(value(first_.inputs[i]));
      out_.inputs.push_back(shapes_[static_cast<std::size_t>(first_.inputs[i])]);
    }
    for (const TracedNode& node : first_.nodes) copy(node);
    for (const int v : first_.outputs) {
      out_.graph.outputs.push_back(value(v));
      out_.outputs.push_back(shapes_[static_cast<std::size_t>(v)]);
    }
    return std::move(out_);
  }

 private:
  // Input i of a node, a list of sizes: as a constant where the operator's rules allow it.
  int sizes(const TracedNode& node, std::size_t i) {
    const int v = node.inputs[i];
    BatchedSizes list;
    for (std::size_t k = 0; k < first_[v].sizes.size(); ++k)
      list.push_back(
          common_.fitted([&](const TracedGraph& run) { return run[v].sizes[k]; }, node.outputs[0]));
    const BatchedSizes& from = shapes_[static_cast<std::size_t>(node.inputs[0])];
    const auto follows = [](const BatchedSize& s) { return s.follows(); };
    if (node.op == "Reshape" && std::count_if(list.begin(), list.end(), follows) == 1)
      *std::find_if(list.begin(), list.end(), follows) = {-1, 0};
    if (node.op == "Expand")
      for (std::size_t k = 0; k < std::min(list.size(), from.size()); ++k)
        if (BatchedSize& s = list[list.size() - 1 - k]; s == from[from.size() - 1 - k] && s.follows())
          s = {1, 0};
    if (node.op == "Slice" && i == 2) {
      const Sizes& axes = first_[node.inputs[3]].sizes;
      for (std::size_t k = 0; k < list.size(); ++k)
        if (list[k].follows() && list[k] == from[static_cast<std::size_t>(axes[k])])
          list[k] = {std::numeric_limits<std::int64_t>::max(), 0};
    }
    if (std::any_of(list.begin(), list.end(), follows)) return nodes_.computed(list);
    Sizes fixed;
    for (const BatchedSize& s : list) fixed.push_back(s.fixed);
    return nodes_.list(fixed);
  }

  // A constant that has another shape for each batch: the same numbers for each example, or a count of them.
  int growing(int v) {
    const BatchedSizes& shape = shapes_[static_cast<std::size_t>(v)];
    const TracedValue& one = first_[v];
    Sizes single = one.shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d].follows()) single[d] = 1;
    if (const auto bytes = common_.repeated(v, single)) {
      const int row = nodes_.constant(one.dtype, single, *bytes);
      return nodes_.node("Expand", {row, nodes_.computed(shape)}, one.dtype, one.shape);
    }
    if (const auto range = counted(v)) return *range;
    common_.refuse("a constant has other numbers with more examples", common_.place_of(v));
  }

  // first, first + step, ..: whole numbers in one dimension, the others being 1.
  std::optional<int> counted(int v) {
    const DType dtype = first_[v].dtype;
    if (dtype == DType::boolean || is_half(dtype)) return std::nullopt;
    std::int64_t first = 0, step = 0;
    for (const TracedGraph& run : common_.runs()) {
      const TracedValue& value = run[v];
      if (*std::max_element(value.shape.begin(), value.shape.end()) != count_of(value.shape))
        return std::nullopt;
      const Tensor given =
          Tensor::from_bytes({count_of(value.shape)}, dtype, std::as_bytes(std::span(value.bytes)));
      const std::vector<std::int64_t> list = to(given, DType::i64).values<std::int64_t>();
      if (list.size() < 2 || to(to(given, DType::i64), dtype).bytes() != given.bytes()) return std::nullopt;
      if (&run == &common_.runs()[0]) first = list[0], step = list[1] - list[0];
      for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i] != first + static_cast<std::int64_t>(i) * step) return std::nullopt;
    }
    BatchedSize count{1, 0};
    for (const BatchedSize& s : shapes_[static_cast<std::size_t>(v)])
      if (s.follows()) count = s;
    const auto number = [&](std::int64_t n) {
      return nodes_.constant(DType::i64, {}, {reinterpret_cast<const char*>(&n), sizeof n});
    };
    const int end = nodes_.node(
        "Squeeze", {nodes_.computed({{first + step * count.fixed, step * count.each}})}, DType::i64, {});
    int list =
        nodes_.node("Range", {number(first), end, number(step)}, DType::i64, {count_of(first_[v].shape)});
    Sizes shape = first_[v].shape;
    for (std::int64_t& s : shape) s = s != 1 ? -1 : 1;
    if (shape.size() != 1)
      list = nodes_.node("Reshape", {list, nodes_.list(shape)}, DType::i64, first_[v].shape);
    if (dtype == DType::i64) return list;
    return nodes_.node("Cast", {list}, dtype, first_[v].shape, {{"to", std::int64_t{onnx_type(dtype)}}});
  }

  int value(int v) {
    int& known = values_[static_cast<std::size_t>(v)];
    if (known >= 0) return known;
    const TracedValue& given = first_[v];
    bool grows = false;
    for (const BatchedSize& s : shapes_[static_cast<std::size_t>(v)]) grows = grows || s.follows();
    if (given.kind == TracedValue::Kind::constant) {
      if (grows) return known = growing(v);
      for (const TracedGraph& run : common_.runs())
        if (run[v].bytes != given.bytes)
          common_.refuse("a number that is no input is another one with more examples", common_.place_of(v));
    }
    return known = out_.graph.add(given);
  }

  void copy(const TracedNode& node) {
    TracedNode made = node;
    nodes_.place = node.place;
    for (std::size_t i = 0; i < made.inputs.size(); ++i)
      if (int& v = made.inputs[i]; v >= 0)
        v = first_[v].kind == TracedValue::Kind::sizes ? sizes(node, i) : value(v);
    made.outputs.clear();
    for (const int v : node.outputs) {
      TracedValue result = first_[v];
      result.node = static_cast<int>(out_.graph.nodes.size());
      made.outputs.push_back(out_.graph.add(std::move(result)));
      values_[static_cast<std::size_t>(v)] = made.outputs.back();
    }
    out_.graph.nodes.push_back(std::move(made));
  }

  const Comparison common_;
  const TracedGraph& first_;
  std::vector<BatchedSizes> shapes_;  // of each value
  std::vector<int> values_;           // of each value its number in the result
  BatchedGraph out_;
  ResultNodes nodes_;
};

}  // namespace

BatchedGraph unified(const std::vector<TracedGraph>& runs, const std::vector<std::int64_t>& batches,
                     BatchSource source) {
  return Unifier(runs, batches, source).graph();
}

}  // namespace veldt::onnx
