// Makes one graph for every batch size of the graphs that runs with several of them gave.
// Tests: tests/onnx/export_test.cpp
#pragma once

#include <vector>

#include "veldt/onnx/trace_graph.h"

namespace veldt::onnx {

// fixed + each batch
struct BatchedSize {
  std::int64_t fixed = 0, each = 0;

  bool follows() const { return each != 0; }
  friend bool operator==(const BatchedSize&, const BatchedSize&) = default;
};
using BatchedSizes = std::vector<BatchedSize>;

// Where the batch's size can be read at run time: a dimension of an input.
struct BatchSource {
  int input = 0;  // of the graph's inputs
  int dim = 0;
};

struct BatchedGraph {
  TracedGraph graph;                          // without values of Kind::sizes
  std::vector<BatchedSizes> inputs, outputs;  // the shapes
};

// `runs`: graphs of the same computation for batches of these sizes. Throws Error, with the place, if they
// differ in more than sizes that grow evenly with the batch.
BatchedGraph unified(const std::vector<TracedGraph>& runs, const std::vector<std::int64_t>& batches,
                     BatchSource source);

// The graph without equal nodes and constants, and without what no output needs.
TracedGraph simplified(const TracedGraph& graph);

}  // namespace veldt::onnx
