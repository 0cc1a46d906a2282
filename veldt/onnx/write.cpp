// The messages of an ONNX file, innermost first in what they need, outermost first in the file.
#include "veldt/onnx/write.h"

#include <protozero/pbf_writer.hpp>
#include <set>

#include "veldt/core/error.h"
#include "veldt/onnx/trace_nodes.h"

namespace veldt::onnx {
namespace {

using protozero::pbf_writer;

// The numbers of the fields that are written.
namespace field {
constexpr int kModelFormat = 1, kModelProducer = 2, kModelGraph = 7, kModelOpset = 8, kModelMetadata = 14;
constexpr int kOpsetVersion = 2;
constexpr int kEntryKey = 1, kEntryValue = 2;
constexpr int kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12;
constexpr int kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOp = 4, kNodeAttribute = 5;
constexpr int kAttributeName = 1, kAttributeFloat = 2, kAttributeInt = 3, kAttributeString = 4,
              kAttributeInts = 8, kAttributeStrings = 9, kAttributeType = 20;
constexpr int kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9, kTensorExternal = 13,
              kTensorLocation = 14;
constexpr int kValueName = 1, kValueType = 2, kTypeTensor = 1, kTensorTypeElement = 1, kTensorTypeShape = 2;
constexpr int kShapeDim = 1, kDimValue = 1, kDimName = 2;
}  // namespace field

// Inputs, outputs and parameters have names; what is between gets that of its node.
class Names {
 public:
  Names(const TracedGraph& graph, const WriteOptions& options)
      : graph_(graph), options_(options), values_(graph.values.size()) {
    name_values();
  }

  const std::string& of(int value) const { return values_[static_cast<std::size_t>(value)]; }
  const std::string& of_node(std::size_t i) const { return nodes_[i]; }
  const std::string& of_output(std::size_t i) const { return outputs_[i]; }
  // The name with a number behind it if another has it.
  std::string unused(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = str(wanted, '_', i);
    return name;
  }

 private:
  std::string& name(int value) { return values_[static_cast<std::size_t>(value)]; }
  std::string placed(int place, const std::string& what) const {
    const std::string& path = graph_.places[static_cast<std::size_t>(place)];
    return path.empty() ? what : path + '/' + what;
  }

  void name_values() {
    const auto given = [](const std::vector<std::string>& names, std::size_t i, const char* what,
                          std::size_t count) {
      return i < names.size() ? names[i] : count == 1 ? std::string(what) : str(what, '_', i);
    };
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
      name(graph_.inputs[i]) = unused(given(options_.input_names, i, "input", graph_.inputs.size()));
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      outputs_.push_back(unused(given(options_.output_names, i, "output", graph_.outputs.size())));
      // The result of a node has the output's name itself; all else is passed on by an Identity.
      std::string& own = name(graph_.outputs[i]);
      if (own.empty() && graph_[graph_.outputs[i]].node >= 0) own = outputs_.back();
    }
    for (std::size_t v = 0; v < values_.size(); ++v)
      if (graph_.values[v].kind != TracedValue::Kind::input && !graph_.values[v].name.empty() &&
          values_[v].empty())
        values_[v] = unused(graph_.values[v].name);
    for (const TracedNode& node : graph_.nodes) {
      nodes_.push_back(unused(placed(node.place, node.op)));
      for (const int v : node.inputs)
        if (v >= 0 && name(v).empty()) name(v) = unused(placed(node.place, "constant"));
      for (const int v : node.outputs)
        if (name(v).empty()) name(v) = unused(nodes_.back() + "_output");
    }
    for (const int v : graph_.outputs)
      if (name(v).empty()) name(v) = unused("constant");
  }

  const TracedGraph& graph_;
  const WriteOptions& options_;
  std::vector<std::string> values_, nodes_, outputs_;
  std::set<std::string> taken_;
};

class ModelWriter {
 public:
  ModelWriter(const BatchedGraph& model, const WriteOptions& options)
      : graph_(model.graph), model_(model), options_(options), names_(graph_, options) {}

  WrittenModel write() {
    std::uint64_t inside = 0;
    for (const TracedValue& value : graph_.values) inside += content_of(value).size();
    outside_ = inside >= options_.most_inside;
    pbf_writer out(result_.bytes);
    out.add_int64(field::kModelFormat, kWrittenFormat);
    out.add_string(field::kModelProducer, "veldt");
    {
      pbf_writer graph(out, field::kModelGraph);
      write_graph(graph);
    }
    {
      pbf_writer opset(out, field::kModelOpset);
      opset.add_int64(field::kOpsetVersion, options_.opset);
    }
    for (const auto& [key, value] : options_.metadata) {
      pbf_writer entry(out, field::kModelMetadata);
      entry.add_string(field::kEntryKey, key);
      entry.add_string(field::kEntryValue, value);
    }
    return std::move(result_);
  }

 private:
  void write_graph(pbf_writer& out) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      pbf_writer node(out, field::kGraphNode);
      write_node(node, graph_.nodes[i], names_.of_node(i));
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (names_.of(graph_.outputs[i]) == names_.of_output(i)) continue;
      pbf_writer node(out, field::kGraphNode);
      node.add_string(field::kNodeInput, names_.of(graph_.outputs[i]));
      node.add_string(field::kNodeOutput, names_.of_output(i));
      node.add_string(field::kNodeName, names_.unused("Identity"));
      node.add_string(field::kNodeOp, "Identity");
    }
    out.add_string(field::kGraphName, options_.name);
    for (std::size_t v = 0; v < graph_.values.size(); ++v)
      if (const TracedValue& value = graph_.values[v];
          value.kind == TracedValue::Kind::parameter || value.kind == TracedValue::Kind::constant) {
        pbf_writer tensor(out, field::kGraphInitializer);
        write_tensor(tensor, static_cast<int>(v));
      }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      pbf_writer info(out, field::kGraphInput);
      write_info(info, names_.of(graph_.inputs[i]), graph_[graph_.inputs[i]].dtype, model_.inputs[i]);
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      pbf_writer info(out, field::kGraphOutput);
      write_info(info, names_.of_output(i), graph_[graph_.outputs[i]].dtype, model_.outputs[i]);
    }
  }

  void write_node(pbf_writer& out, const TracedNode& node, const std::string& node_name) {
    std::size_t inputs = node.inputs.size();
    while (inputs > 0 && node.inputs[inputs - 1] < 0) --inputs;  // those left out at the end
    for (std::size_t i = 0; i < inputs; ++i)
      out.add_string(field::kNodeInput, node.inputs[i] < 0 ? "" : names_.of(node.inputs[i]));
    for (const int v : node.outputs) out.add_string(field::kNodeOutput, names_.of(v));
    out.add_string(field::kNodeName, node_name);
    out.add_string(field::kNodeOp, node.op);
    for (const auto& [key, value] : node.attributes) {
      pbf_writer attribute(out, field::kNodeAttribute);
      attribute.add_string(field::kAttributeName, key);
      write_attribute(attribute, value);
    }
  }

  static void write_attribute(pbf_writer& out, const decltype(TracedAttribute::second)& value) {
    enum Type : std::int32_t { kFloat = 1, kInt = 2, kString = 3, kInts = 7, kStrings = 8 };
    if (const auto* i = std::get_if<std::int64_t>(&value)) {
      out.add_int64(field::kAttributeInt, *i);
      out.add_enum(field::kAttributeType, kInt);
    } else if (const auto* f = std::get_if<double>(&value)) {
      out.add_float(field::kAttributeFloat, static_cast<float>(*f));
      out.add_enum(field::kAttributeType, kFloat);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      out.add_string(field::kAttributeString, *s);
      out.add_enum(field::kAttributeType, kString);
    } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
      for (const std::string& text : *list) out.add_string(field::kAttributeStrings, text);
      out.add_enum(field::kAttributeType, kStrings);
    } else {
      for (const std::int64_t number : std::get<Sizes>(value)) out.add_int64(field::kAttributeInts, number);
      out.add_enum(field::kAttributeType, kInts);
    }
  }

  void write_tensor(pbf_writer& out, int v) {
    const TracedValue& value = graph_[v];
    for (const std::int64_t s : value.shape) out.add_int64(field::kTensorDims, s);
    out.add_int32(field::kTensorType, onnx_type(value.dtype));
    out.add_string(field::kTensorName, names_.of(v));
    const std::string_view content = content_of(value);
    // Lists of sizes stay: readers want them to infer shapes.
    if (!outside_ || content.size() < 1024) {
      out.add_bytes(field::kTensorRaw, content.data(), content.size());
      return;
    }
    const auto entry = [&](const char* key, const std::string& text) {
      pbf_writer pair(out, field::kTensorExternal);
      pair.add_string(field::kEntryKey, key);
      pair.add_string(field::kEntryValue, text);
    };
    entry("location", options_.data_name);
    entry("offset", std::to_string(offset_));
    entry("length", std::to_string(content.size()));
    out.add_enum(field::kTensorLocation, 1);
    offset_ += (content.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    result_.outside.push_back(v);
  }

  static void write_info(pbf_writer& out, const std::string& name, DType dtype, const BatchedSizes& shape) {
    out.add_string(field::kValueName, name);
    pbf_writer type(out, field::kValueType);
    pbf_writer tensor(type, field::kTypeTensor);
    tensor.add_int32(field::kTensorTypeElement, onnx_type(dtype));
    if (shape.empty())
      tensor.add_message(field::kTensorTypeShape, std::string());  // of a number: there, but empty
    if (shape.empty()) return;
    pbf_writer sizes(tensor, field::kTensorTypeShape);
    for (const BatchedSize& s : shape) {
      pbf_writer dim(sizes, field::kShapeDim);
      if (!s.follows())
        dim.add_int64(field::kDimValue, s.fixed);
      else
        dim.add_string(field::kDimName, str(s.each == 1 ? "" : str(s.each, '*'), "batch",
                                            s.fixed == 0 ? "" : str(s.fixed > 0 ? "+" : "", s.fixed)));
    }
  }

  const TracedGraph& graph_;
  const BatchedGraph& model_;
  const WriteOptions& options_;
  Names names_;
  bool outside_ = false;
  std::uint64_t offset_ = 0;
  WrittenModel result_;
};

}  // namespace

std::string_view content_of(const TracedValue& value) {
  if (value.memory == nullptr) return value.bytes;
  return {static_cast<const char*>(value.memory),
          static_cast<std::size_t>(count_of(value.shape)) * size_of(value.dtype)};
}

WrittenModel written(const BatchedGraph& model, const WriteOptions& options) {
  return ModelWriter(model, options).write();
}

}  // namespace veldt::onnx
