// The nodes that rearrange, combine and convert values.
#include "veldt/onnx/trace_nodes.h"

#include <algorithm>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {
namespace {

Sizes without_ones(const Sizes& shape) {
  Sizes rest;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(rest), [](std::int64_t s) { return s != 1; });
  return rest;
}

// The dimensions of `longer` that are 1 and not in `shorter`, whose other sizes are the same.
Sizes inserted_ones(const Sizes& shorter, const Sizes& longer) {
  Sizes axes;
  std::size_t at = 0;
  for (std::size_t d = 0; d < longer.size(); ++d)
    if (at < shorter.size() && shorter[at] == longer[d])
      ++at;
    else
      axes.push_back(static_cast<std::int64_t>(d));
  return axes;
}

Sizes broadcast_sizes(const Sizes& a, const Sizes& b) {
  Sizes shape(std::max(a.size(), b.size()), 1);
  for (const Sizes* s : {&a, &b})
    for (std::size_t d = 0; d < s->size(); ++d) {
      std::int64_t& size = shape[shape.size() - s->size() + d];
      if ((*s)[d] != 1) size = (*s)[d];
    }
  return shape;
}

}  // namespace

int onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return 1;
    case DType::f64: return 11;
    case DType::bf16: return 16;
    case DType::f16: return 10;
    case DType::i64: return 7;
    case DType::i32: return 6;
    case DType::u8: return 2;
    case DType::i8: return 3;
    case DType::boolean: return 9;
  }
  return 0;
}

void TraceNodes::set_place(const std::string& path) {
  auto& places = graph_.places;
  const auto found = std::find(places.begin(), places.end(), path);
  place_ = static_cast<int>(found - places.begin());
  if (found == places.end()) places.push_back(path);
}

int TraceNodes::constant(DType dtype, Sizes shape, std::string bytes) {
  return graph_.add({.kind = TracedValue::Kind::constant,
                     .dtype = dtype,
                     .shape = std::move(shape),
                     .bytes = std::move(bytes)});
}

int TraceNodes::numbers(DType dtype, Sizes shape, const std::vector<double>& values) {
  const Tensor wide = Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values);
  const std::vector<std::byte> bytes = to(wide, dtype).bytes();
  return constant(dtype, std::move(shape), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

int TraceNodes::whole(Sizes shape, const Sizes& values) {
  return constant(DType::i64, std::move(shape),
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]});
}

int TraceNodes::sizes(Sizes list) {
  Sizes shape = {static_cast<std::int64_t>(list.size())};
  return graph_.add({.kind = TracedValue::Kind::sizes,
                     .dtype = DType::i64,
                     .shape = std::move(shape),
                     .sizes = std::move(list)});
}

int TraceNodes::node(std::string op, std::vector<int> inputs, DType dtype, Sizes shape,
                     TracedAttributes attributes) {
  return graph_.add({.op = std::move(op),
                     .inputs = std::move(inputs),
                     .outputs = {},
                     .attributes = std::move(attributes),
                     .place = place_},
                    dtype, std::move(shape));
}

int TraceNodes::unary(const std::string& op, int x, TracedAttributes attributes) {
  return node(op, {x}, dtype(x), shape(x), std::move(attributes));
}

int TraceNodes::binary(const std::string& op, int a, int b) {
  return node(op, {a, b}, dtype(a), broadcast_sizes(shape(a), shape(b)));
}

int TraceNodes::compare(const std::string& op, int a, int b) {
  return node(op, {a, b}, DType::boolean, broadcast_sizes(shape(a), shape(b)));
}

int TraceNodes::where(int condition, int a, int b) {
  return node("Where", {condition, a, b}, dtype(a),
              broadcast_sizes(shape(condition), broadcast_sizes(shape(a), shape(b))));
}

int TraceNodes::reshape(int x, const Sizes& wanted) {
  for (const char* op : {"Reshape", "Squeeze", "Unsqueeze"})
    if (const TracedNode* n = graph_.node_of(x, op)) return reshape(n->inputs[0], wanted);
  const Sizes from = shape(x);
  if (from == wanted) return x;
  if (graph_[x].kind == TracedValue::Kind::constant) return constant(dtype(x), wanted, graph_[x].bytes);
  if (without_ones(from) == without_ones(wanted)) {
    if (const Sizes axes = inserted_ones(from, wanted); from.size() + axes.size() == wanted.size())
      return node("Unsqueeze", {x, sizes(axes)}, dtype(x), wanted);
    if (const Sizes axes = inserted_ones(wanted, from); wanted.size() + axes.size() == from.size())
      return node("Squeeze", {x, sizes(axes)}, dtype(x), wanted);
  }
  return node("Reshape", {x, sizes(wanted)}, dtype(x), wanted);
}

int TraceNodes::transpose(int x, const Sizes& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  Sizes moved;
  for (const std::int64_t d : order) moved.push_back(shape(x)[static_cast<std::size_t>(d)]);
  return node("Transpose", {x}, dtype(x), moved, {{"perm", order}});
}

int TraceNodes::slice(int x, const Sizes& begin, const Sizes& count, const Sizes& step) {
  Sizes starts, ends, axes, steps;
  bool steps_one = true;
  for (std::size_t d = 0; d < begin.size(); ++d) {
    if (begin[d] == 0 && count[d] == shape(x)[d]) continue;
    starts.push_back(begin[d]);
    ends.push_back(begin[d] + (count[d] - 1) * step[d] + 1);
    axes.push_back(static_cast<std::int64_t>(d));
    steps.push_back(step[d]);
    steps_one = steps_one && step[d] == 1;
  }
  if (axes.empty()) return x;
  std::vector<int> inputs = {x, sizes(starts), sizes(ends), sizes(axes)};
  if (!steps_one) inputs.push_back(sizes(steps));
  return node("Slice", inputs, dtype(x), count);
}

int TraceNodes::flip(int x, const Sizes& dims) {
  if (dims.empty()) return x;
  const Sizes back(dims.size(), -1), end(dims.size(), std::numeric_limits<std::int64_t>::min());
  return node("Slice", {x, sizes(back), sizes(end), sizes(dims), sizes(back)}, dtype(x), shape(x));
}

int TraceNodes::expand(int x, const Sizes& wanted) {
  return shape(x) == wanted ? x : node("Expand", {x, sizes(wanted)}, dtype(x), wanted);
}

int TraceNodes::concat(const std::vector<int>& parts, std::size_t dim) {
  Sizes joined = shape(parts[0]);
  joined[dim] = 0;
  for (const int part : parts) joined[dim] += shape(part)[dim];
  return node("Concat", parts, dtype(parts[0]), joined, {{"axis", static_cast<std::int64_t>(dim)}});
}

int TraceNodes::cast(int x, DType wanted) {
  if (dtype(x) == wanted) return x;
  return node("Cast", {x}, wanted, shape(x), {{"to", std::int64_t{onnx_type(wanted)}}});
}

int TraceNodes::matmul(int a, int b) {
  Sizes lead_a(shape(a).begin(), shape(a).end() - 2), lead_b(shape(b).begin(), shape(b).end() - 2);
  Sizes product = broadcast_sizes(lead_a, lead_b);
  product.push_back(shape(a)[shape(a).size() - 2]);
  product.push_back(shape(b).back());
  return node("MatMul", {a, b}, dtype(a), product);
}

int TraceNodes::gather(int x, int index, std::size_t dim) {
  Sizes found = shape(x);
  found.erase(found.begin() + static_cast<std::ptrdiff_t>(dim));
  found.insert(found.begin() + static_cast<std::ptrdiff_t>(dim), shape(index).begin(), shape(index).end());
  return node("Gather", {x, index}, dtype(x), found, {{"axis", static_cast<std::int64_t>(dim)}});
}

int TraceNodes::reduce(const std::string& op, int x, const Sizes& dims) {
  Sizes kept = shape(x);
  for (const std::int64_t d : dims) kept[static_cast<std::size_t>(d)] = 1;
  return node(op, {x, sizes(dims)}, dtype(x), kept, {{"keepdims", std::int64_t{1}}});
}

}  // namespace veldt::onnx
