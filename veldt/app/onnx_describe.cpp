// veldt info of an ONNX file.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "veldt/app/describe.h"
#include "veldt/app/onnx_files.h"
#include "veldt/core/error.h"
#include "veldt/onnx/network.h"
#include "veldt/onnx/operators.h"
#include "veldt/onnx/program.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {

const bool kHasOnnx = true;

namespace {

using Json = nlohmann::ordered_json;

Json values_json(const std::vector<onnx::ValueInfo>& values) {
  Json rows = Json::array();
  for (const onnx::ValueInfo& value : values)
    rows.push_back({{"name", value.name}, {"type", value.type.description()}});
  return rows;
}

struct Census {
  std::map<std::string, std::int64_t> operators;
  std::set<std::string> missing;
  std::int64_t nodes = 0, weights = 0, bytes = 0;
  std::optional<std::int64_t> not_finite = {};  // none: not looked for, which reads every number
  std::int64_t nans = 0;
};

void count(const onnx::Value& constant, Census& census) {
  if (!constant.is_tensor()) return;
  const Tensor& numbers = constant.tensor();
  census.weights += numbers.numel();
  if (const std::int64_t found = census.not_finite ? count_not_finite(numbers) : 0; found > 0) {
    *census.not_finite += found;
    census.nans += static_cast<std::int64_t>(sum(to(not_equal(numbers, numbers), DType::f64)).item());
  }
  census.bytes += numbers.numel() * static_cast<std::int64_t>(size_of(numbers.dtype()));
}

void count(const onnx::Graph& graph, const onnx::Model& model, Census& census);

void count(const std::vector<onnx::Node>& nodes, const onnx::Model& model, Census& census) {
  for (const onnx::Node& node : nodes) {
    const std::string name = node.domain.empty() ? node.op : node.domain + ':' + node.op;
    ++census.nodes;
    ++census.operators[name];
    bool own = node.op == "Constant" && node.domain.empty();
    for (const onnx::Function& f : model.functions) own |= f.name == node.op && f.domain == node.domain;
    if (!own && onnx::operators().find(node.domain, node.op) == nullptr) census.missing.insert(name);
    for (const onnx::Attribute& attribute : node.attributes) {
      for (const auto& body : attribute.graphs) count(*body, model, census);
      for (const onnx::Value& value : attribute.values) count(value, census);
    }
  }
}

void count(const onnx::Graph& graph, const onnx::Model& model, Census& census) {
  count(graph.nodes, model, census);
  for (const auto& [name, value] : graph.initializers) count(value, census);
}

// Zeros of the input's type, each unknown size 1.
onnx::Value zeros_for(const onnx::ValueInfo& input) {
  if (input.type.kind != onnx::ValueType::Kind::tensor)
    throw UsageError(fmt::format("the nodes of a graph that takes {} cannot be listed with sizes",
                                 input.type.description()),
                     "they are found by a run on zeros", "leave --nodes out");
  Shape shape;
  for (const onnx::Dimension& d : input.type.dimensions) shape.push_back(d.size < 0 ? 1 : d.size);
  if (input.type.element == onnx::ElementType::string)
    return onnx::Texts{shape, std::vector<std::string>(static_cast<std::size_t>(numel(shape)))};
  return {zeros(shape, onnx::held_as(input.type.element)), input.type.element};
}

Json nodes_json(onnx::Model model) {
  NoGrad off;
  const onnx::Network network(std::move(model));
  onnx::Values inputs;
  for (const onnx::ValueInfo& input : network.inputs()) inputs.push_back(zeros_for(input));
  Json rows = Json::array();
  network.run(std::move(inputs), [&](const onnx::Node& node, const onnx::Values& results) {
    std::string types;
    for (const onnx::Value& value : results) types += (types.empty() ? "" : " ") + value.description();
    rows.push_back({{"node", node.name.empty() && !node.outputs.empty() ? node.outputs.front() : node.name},
                    {"operator", node.op},
                    {"results", types}});
  });
  return rows;
}

}  // namespace

Json describe_onnx(const std::string& path, bool nodes, bool verify) {
  onnx::Model model = onnx::read_model(path);
  Census census;
  if (verify) census.not_finite = 0;
  count(model.graph, model, census);
  for (const onnx::Function& f : model.functions) count(f.nodes, model, census);
  Json out = {{"kind", "ONNX graph"}, {"path", path}, {"ir_version", model.ir_version}};
  std::string opsets;
  for (const auto& [domain, version] : model.opsets)
    opsets +=
        fmt::format("{}{} {}", opsets.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : domain, version);
  out["opsets"] = opsets;
  if (!model.producer.empty())
    out["producer"] = model.producer + (model.producer_version.empty() ? "" : ' ' + model.producer_version);
  out["nodes"] = census.nodes;
  out["weights"] = census.weights;
  out["weight_bytes"] = census.bytes;
  std::set<std::string> constants;
  for (const auto& [name, value] : model.graph.initializers) constants.insert(name);
  std::vector<onnx::ValueInfo> inputs;
  for (const onnx::ValueInfo& input : model.graph.inputs)
    if (!constants.contains(input.name)) inputs.push_back(input);
  out["inputs"] = values_json(inputs);
  out["outputs"] = values_json(model.graph.outputs);
  out["operators"] = census.operators;
  out["not_supported"] = census.missing;
  if (!model.metadata.empty()) out["metadata"] = model.metadata;
  if (verify) {
    onnx::prepare(model);  // throws where the graph does not hold together
    // An infinity may be meant, as in a mask.
    if (census.nans > 0)
      throw IoError(IoError::Kind::corrupt, fmt::format("{} is damaged", path),
                    fmt::format("{} of its {} constant numbers {} NaN", census.nans, census.weights,
                                census.nans == 1 ? "is" : "are"),
                    "export it again, from a network that has not diverged");
    out["not_finite"] = *census.not_finite;
    out["verified"] = true;
  }
  if (nodes) out["node_list"] = nodes_json(std::move(model));
  return out;
}

}  // namespace veldt::app
