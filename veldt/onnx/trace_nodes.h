// Makes the nodes of a graph: the arithmetic of shapes is done here, and what would change nothing is
// left out.
// Tests: tests/onnx/export_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/onnx/trace_graph.h"

namespace veldt::onnx {

class TraceNodes {
 public:
  const TracedGraph& graph() const { return graph_; }
  TracedGraph& graph() { return graph_; }
  const Sizes& shape(int value) const { return graph_[value].shape; }
  DType dtype(int value) const { return graph_[value].dtype; }
  // The place of the nodes that follow.
  void set_place(const std::string& path);
  const std::string& place() const { return graph_.places[static_cast<std::size_t>(place_)]; }

  int constant(DType dtype, Sizes shape, std::string bytes);
  int numbers(DType dtype, Sizes shape, const std::vector<double>& values);
  int whole(Sizes shape, const Sizes& values);  // i64
  int scalar(DType dtype, double value) { return numbers(dtype, {}, {value}); }
  int sizes(Sizes list);

  int node(std::string op, std::vector<int> inputs, DType dtype, Sizes shape,
           TracedAttributes attributes = {});
  // Of x's dtype and shape.
  int unary(const std::string& op, int x, TracedAttributes attributes = {});
  // Of a's dtype; the shapes broadcast.
  int binary(const std::string& op, int a, int b);
  // Of a and a number.
  int by(const std::string& op, int a, double b) { return binary(op, a, scalar(dtype(a), b)); }
  int compare(const std::string& op, int a, int b);
  int where(int condition, int a, int b);

  int reshape(int x, const Sizes& shape);
  int transpose(int x, const Sizes& order);
  int slice(int x, const Sizes& begin, const Sizes& count, const Sizes& step);
  int flip(int x, const Sizes& dims);
  int expand(int x, const Sizes& shape);
  int concat(const std::vector<int>& parts, std::size_t dim);
  int cast(int x, DType dtype);
  int matmul(int a, int b);
  int gather(int x, int index, std::size_t dim);
  // Over these dimensions, which keep a size of 1. `op`: ReduceMean and its like.
  int reduce(const std::string& op, int x, const Sizes& dims);

 private:
  TracedGraph graph_;
  int place_ = 0;
};

// ONNX's number of a dtype (TensorProto.DataType).
int onnx_type(DType dtype);

}  // namespace veldt::onnx
