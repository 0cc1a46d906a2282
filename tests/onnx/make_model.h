// ONNX messages made by hand, with protozero's writer, for tests of the reader.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veldt::onnx::test {

using protozero::pbf_writer;

// TensorProto with raw bytes.
inline std::string tensor(std::string_view name, int type, const std::vector<std::int64_t>& dims,
                          std::string_view raw) {
  std::string out;
  pbf_writer w(out);
  for (const std::int64_t d : dims) w.add_int64(1, d);
  w.add_int32(2, type);
  w.add_string(8, name.data(), name.size());
  w.add_bytes(9, raw.data(), raw.size());
  return out;
}

inline std::string floats(std::string_view name, const std::vector<std::int64_t>& dims,
                          const std::vector<float>& values) {
  return tensor(name, 1, dims, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

// AttributeProto of a type, by its number; `write` adds the value.
template <class Write> std::string attribute(std::string_view name, int type, const Write& write) {
  std::string out;
  pbf_writer w(out);
  w.add_string(1, name.data(), name.size());
  write(w);
  w.add_enum(20, type);
  return out;
}
inline std::string float_attribute(std::string_view name, float value) {
  return attribute(name, 1, [&](pbf_writer& w) { w.add_float(2, value); });
}
inline std::string int_attribute(std::string_view name, std::int64_t value) {
  return attribute(name, 2, [&](pbf_writer& w) { w.add_int64(3, value); });
}
inline std::string text_attribute(std::string_view name, const char* text) {
  return attribute(name, 3, [&](pbf_writer& w) { w.add_bytes(4, text); });
}
inline std::string list_attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  return attribute(name, 7, [&](pbf_writer& w) {
    for (const std::int64_t v : values) w.add_int64(8, v);
  });
}
inline std::string message_attribute(std::string_view name, int tag, const std::string& message) {
  return attribute(name, tag == 5 ? 4 : 5,
                   [&](pbf_writer& w) { w.add_message(static_cast<protozero::pbf_tag_type>(tag), message); });
}

// The attribute `name` is what the function's caller calls `of_caller`.
inline std::string reference(std::string_view name, std::string_view of_caller) {
  std::string out;
  pbf_writer w(out);
  w.add_string(1, name.data(), name.size());
  w.add_enum(20, 2);
  w.add_string(21, of_caller.data(), of_caller.size());
  return out;
}

using Names = std::vector<std::string>;

inline std::string node(std::string_view op, const Names& inputs, const Names& outputs,
                        const std::vector<std::string>& attributes = {}, std::string_view domain = "",
                        std::string_view name = "") {
  std::string out;
  pbf_writer w(out);
  for (const std::string& i : inputs) w.add_string(1, i);
  for (const std::string& o : outputs) w.add_string(2, o);
  if (!name.empty()) w.add_string(3, name.data(), name.size());
  w.add_string(4, op.data(), op.size());
  for (const std::string& a : attributes) w.add_message(5, a);
  if (!domain.empty()) w.add_string(7, domain.data(), domain.size());
  return out;
}

// ValueInfoProto of floats; -1 is a size without a name.
inline std::string value(std::string_view name, const std::vector<std::int64_t>& dims, int element = 1) {
  std::string shape, tensor_type, type, out;
  for (const std::int64_t d : dims) {
    std::string dim;
    if (d >= 0) pbf_writer(dim).add_int64(1, d);
    pbf_writer(shape).add_message(1, dim);
  }
  pbf_writer(tensor_type).add_int32(1, element);
  pbf_writer(tensor_type).add_message(2, shape);
  pbf_writer(type).add_message(1, tensor_type);
  pbf_writer(out).add_string(1, name.data(), name.size());
  pbf_writer(out).add_message(2, type);
  return out;
}
// Without a type.
inline std::string plain_value(std::string_view name) {
  std::string out;
  pbf_writer(out).add_string(1, name.data(), name.size());
  return out;
}

struct GraphParts {
  std::vector<std::string> nodes = {}, initializers = {}, inputs = {}, outputs = {};
};

inline std::string graph(const GraphParts& parts) {
  std::string out;
  pbf_writer w(out);
  for (const std::string& n : parts.nodes) w.add_message(1, n);
  w.add_string(2, "g");
  for (const std::string& t : parts.initializers) w.add_message(5, t);
  for (const std::string& i : parts.inputs) w.add_message(11, i);
  for (const std::string& o : parts.outputs) w.add_message(12, o);
  return out;
}

// FunctionProto of the domain "own".
inline std::string function(std::string_view name, const Names& inputs, const Names& outputs,
                            const std::vector<std::string>& nodes, const Names& attributes = {}) {
  std::string out;
  pbf_writer w(out);
  w.add_string(1, name.data(), name.size());
  for (const std::string& i : inputs) w.add_string(4, i);
  for (const std::string& o : outputs) w.add_string(5, o);
  for (const std::string& a : attributes) w.add_string(6, a);
  for (const std::string& n : nodes) w.add_message(7, n);
  w.add_string(10, "own");
  return out;
}

inline std::string model(const std::string& graph, const std::vector<std::string>& functions = {},
                         std::int64_t opset = 17, std::int64_t ir_version = 8) {
  std::string out, opset_id;
  pbf_writer w(out);
  w.add_int64(1, ir_version);
  w.add_string(2, "test");
  w.add_message(7, graph);
  pbf_writer(opset_id).add_int64(2, opset);
  w.add_message(8, opset_id);
  for (const std::string& f : functions) w.add_message(25, f);
  return out;
}

}  // namespace veldt::onnx::test
