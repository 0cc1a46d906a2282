// An ONNX file as plain structs, names as in onnx.proto; and its reader. Nothing is computed or
// resolved here. Source: onnx/onnx.proto of github.com/onnx/onnx, IR version 13.
// Tests: tests/onnx/model_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "veldt/onnx/value.h"

namespace veldt::onnx {

struct Graph;

// AttributeProto. Only the member that `kind` names is set.
struct Attribute {
  enum class Kind : std::uint8_t {
    none,
    real,
    integer,
    text,
    value,
    graph,
    reals,
    integers,
    texts,
    values,
    graphs,
    type
  };
  std::string name;
  Kind kind = Kind::none;
  std::string refers_to;  // inside a function: the attribute of its caller that is meant
  double real = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<Value> values;  // one, for `value`
  std::vector<std::shared_ptr<const Graph>> graphs;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
};

// NodeProto. An empty name among the inputs or outputs is one that was left out.
struct Node {
  std::string name, op, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
};

// TypeProto: what a value of the graph may be. A dimension is a size, a name, or unknown (-1 and no name).
struct Dimension {
  std::int64_t size = -1;
  std::string name;
};
struct ValueType {
  enum class Kind : std::uint8_t { unknown, tensor, sequence, optional };
  Kind kind = Kind::unknown;
  ElementType element = ElementType::undefined;
  bool ranked = false;  // whether the dimensions are told
  std::vector<Dimension> dimensions = {};
  std::shared_ptr<const ValueType> item = {};  // of a sequence or an optional
  std::string description() const;             // "float[batch,3,224,224]", "sequence(float)"
};
struct ValueInfo {
  std::string name;
  ValueType type;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<std::pair<std::string, Value>> initializers;  // sparse ones made dense
  std::vector<ValueInfo> inputs, outputs, inner;
};

// FunctionProto: an operator made of others.
struct Function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  std::map<std::string, std::int64_t> opsets;
};

// ModelProto.
struct Model {
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  // by domain; ONNX's own is ""
  std::string producer, producer_version;
  std::map<std::string, std::string> metadata;
  Graph graph;
  std::vector<Function> functions;
};

// Reads a file, and the files beside it that hold its external data. Sizes are believed only as far as the
// bytes are there. Throws IoError missing, or malformed for bytes that are no ONNX, nesting deeper than 64,
// external data outside the model's folder, types that Veldt cannot hold.
Model read_model(const std::string& path);
// The same from memory; `folder` is where external data lie, empty for a model that may have none.
Model parse_model(const std::string& bytes, const std::string& name, const std::string& folder = {});

// The values in files such as ONNX's own tests have: a TensorProto, or, as `type` says, a SequenceProto or
// OptionalProto.
Value read_value(const std::string& path, const ValueType& type);

}  // namespace veldt::onnx
