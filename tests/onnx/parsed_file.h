// The parts of an ONNX file that tests look at, read by protozero from the numbers in onnx.proto3.
#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

namespace veldt::onnx::test {

struct ParsedNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::vector<std::int64_t>> whole;  // attributes of whole numbers
};

struct ParsedTensor {
  std::vector<std::int64_t> dims;
  std::string raw;
  std::map<std::string, std::string> external;
};

struct ParsedFile {
  std::int64_t opset = 0;
  std::vector<ParsedNode> nodes;
  std::map<std::string, ParsedTensor> initializers;
  std::map<std::string, std::vector<std::string>> shapes;  // of inputs and outputs
  std::map<std::string, std::string> metadata;

  std::string ops() const {  // "Gemm Relu"
    std::string text;
    for (const ParsedNode& node : nodes) text += (text.empty() ? "" : " ") + node.op;
    return text;
  }
};

inline std::pair<std::string, std::string> parsed_entry(protozero::pbf_reader in) {
  std::pair<std::string, std::string> entry;
  while (in.next()) {
    std::string& part = in.tag() == 1 ? entry.first : entry.second;  // reading forgets the tag
    part = in.get_string();
  }
  return entry;
}

inline ParsedNode parsed_node(protozero::pbf_reader in) {
  ParsedNode node;
  while (in.next()) {
    if (in.tag() == 1)
      node.inputs.push_back(in.get_string());
    else if (in.tag() == 2)
      node.outputs.push_back(in.get_string());
    else if (in.tag() == 3)
      node.name = in.get_string();
    else if (in.tag() == 4)
      node.op = in.get_string();
    else {
      protozero::pbf_reader attribute = in.get_message();
      std::string name;
      while (attribute.next()) {
        if (attribute.tag() == 1)
          name = attribute.get_string();
        else if (attribute.tag() == 3 || attribute.tag() == 8)
          node.whole[name].push_back(attribute.get_int64());
        else
          attribute.skip();
      }
    }
  }
  return node;
}

inline std::pair<std::string, std::vector<std::string>> parsed_info(protozero::pbf_reader in) {
  std::pair<std::string, std::vector<std::string>> info;
  while (in.next()) {
    if (in.tag() == 1) {
      info.first = in.get_string();
      continue;
    }
    protozero::pbf_reader type = in.get_message();
    type.next(1);
    protozero::pbf_reader tensor = type.get_message();
    tensor.next(2);
    protozero::pbf_reader shape = tensor.get_message();
    while (shape.next(1)) {
      protozero::pbf_reader dim = shape.get_message();
      dim.next();
      info.second.push_back(dim.tag() == 1 ? std::to_string(dim.get_int64()) : dim.get_string());
    }
  }
  return info;
}

inline void parse_graph(protozero::pbf_reader in, ParsedFile& file) {
  while (in.next()) {
    if (in.tag() == 1) {
      file.nodes.push_back(parsed_node(in.get_message()));
    } else if (in.tag() == 5) {
      protozero::pbf_reader tensor = in.get_message();
      ParsedTensor found;
      std::string name;
      while (tensor.next()) {
        if (tensor.tag() == 1)
          found.dims.push_back(tensor.get_int64());
        else if (tensor.tag() == 8)
          name = tensor.get_string();
        else if (tensor.tag() == 9)
          found.raw = tensor.get_bytes();
        else if (tensor.tag() == 13)
          found.external.insert(parsed_entry(tensor.get_message()));
        else
          tensor.skip();
      }
      file.initializers[name] = found;
    } else if (in.tag() == 11 || in.tag() == 12) {
      file.shapes.insert(parsed_info(in.get_message()));
    } else {
      in.skip();
    }
  }
}

inline ParsedFile parsed_file(const std::string& bytes) {
  ParsedFile file;
  protozero::pbf_reader in(bytes);
  while (in.next()) {
    if (in.tag() == 7) {
      parse_graph(in.get_message(), file);
    } else if (in.tag() == 8) {
      protozero::pbf_reader opset = in.get_message();
      while (opset.next())
        if (opset.tag() == 2)
          file.opset = opset.get_int64();
        else
          opset.skip();
    } else if (in.tag() == 14) {
      file.metadata.insert(parsed_entry(in.get_message()));
    } else {
      in.skip();
    }
  }
  return file;
}

}  // namespace veldt::onnx::test
