// Adds values and nodes to a graph.
#include "veldt/onnx/trace_graph.h"

namespace veldt::onnx {

std::int64_t count_of(const Sizes& shape) {
  std::int64_t n = 1;
  for (const std::int64_t s : shape) n *= s;
  return n;
}

Sizes packed_strides(const Sizes& shape) {
  Sizes strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

int TracedGraph::add(TracedValue value) {
  values.push_back(std::move(value));
  return static_cast<int>(values.size()) - 1;
}

int TracedGraph::add(TracedNode node, DType dtype, Sizes shape) {
  const int value = add({.dtype = dtype, .shape = std::move(shape), .node = static_cast<int>(nodes.size())});
  node.outputs = {value};
  nodes.push_back(std::move(node));
  return value;
}

int TracedGraph::add_output(int first, DType dtype, Sizes shape) {
  const int node = (*this)[first].node;
  const int value = add({.dtype = dtype, .shape = std::move(shape), .node = node});
  nodes[static_cast<std::size_t>(node)].outputs.push_back(value);
  return value;
}

const TracedNode* TracedGraph::node_of(int value, const char* op) const {
  const int node = value < 0 ? -1 : (*this)[value].node;
  if (node < 0) return nullptr;
  const TracedNode& found = nodes[static_cast<std::size_t>(node)];
  return found.op == op ? &found : nullptr;
}

}  // namespace veldt::onnx
