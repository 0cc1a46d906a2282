// Writes a graph as an ONNX file: onnx.proto3 of the ONNX project, fields by number, through protozero.
// Tests: tests/onnx/export_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "veldt/onnx/export_unify.h"

namespace veldt::onnx {

// The version of the file's format that goes with the operators.
inline constexpr std::int64_t kWrittenFormat = 8;

struct WriteOptions {
  std::int64_t opset = 0;
  std::string name;  // of the graph
  std::vector<std::string> input_names, output_names;
  std::map<std::string, std::string> metadata;
  // Numbers of this many bytes and more, together, go into a file of their own, DATA_NAME beside the model.
  std::uint64_t most_inside = 0;
  std::string data_name;
};

struct WrittenModel {
  std::string bytes;
  std::vector<int> outside;  // the values that belong into the file of numbers, in their order; else none
};

WrittenModel written(const BatchedGraph& model, const WriteOptions& options);
// Where each of the numbers outside begins: after those before it, at a multiple of this.
inline constexpr std::uint64_t kDataAlignment = 64;

// The numbers of a parameter or a constant.
std::string_view content_of(const TracedValue& value);

}  // namespace veldt::onnx
