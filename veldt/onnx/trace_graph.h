// A graph of ONNX nodes while it is made: values by number, with the shapes that one run of a module had.
// Tests: tests/onnx/export_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "veldt/core/dtype.h"

namespace veldt::onnx {

// Of any rank: a view of memory can have more dimensions than a Shape.
using Sizes = std::vector<std::int64_t>;

std::int64_t count_of(const Sizes& shape);
// Row-major strides, in elements.
Sizes packed_strides(const Sizes& shape);

using TracedAttribute =
    std::pair<std::string, std::variant<std::int64_t, double, std::string, Sizes, std::vector<std::string>>>;
using TracedAttributes = std::vector<TracedAttribute>;

struct TracedNode {
  std::string op;
  std::vector<int> inputs;  // values; -1 for one that is left out
  std::vector<int> outputs;
  TracedAttributes attributes;
  int place = 0;  // of TracedGraph::places
};

struct TracedValue {
  // sizes: a list of i64 that is an operand of Reshape and its like, and may hold sizes that follow the
  // batch.
  enum class Kind : std::uint8_t { input, parameter, constant, sizes, computed };

  Kind kind = Kind::computed;
  DType dtype = DType::f32;
  Sizes shape = {};
  std::string name = {};         // of inputs and parameters
  std::string bytes = {};        // of constants: row-major
  const void* memory = nullptr;  // of parameters: the same, the module's own
  Sizes sizes = {};              // of Kind::sizes
  int node = -1;                 // that computes it
};

struct TracedGraph {
  std::vector<TracedValue> values;
  std::vector<TracedNode> nodes;  // each after those that it reads
  std::vector<int> inputs, outputs;
  std::vector<std::string> places = {""};  // paths of modules: "body.0"

  int add(TracedValue value);
  // A node of one output, of this dtype and shape.
  int add(TracedNode node, DType dtype, Sizes shape);
  // One more output of the node that computes `first`.
  int add_output(int first, DType dtype, Sizes shape);
  const TracedValue& operator[](int value) const { return values[static_cast<std::size_t>(value)]; }
  TracedValue& operator[](int value) { return values[static_cast<std::size_t>(value)]; }
  // The node that computes a value, if it is of this op; else null.
  const TracedNode* node_of(int value, const char* op) const;
};

}  // namespace veldt::onnx
