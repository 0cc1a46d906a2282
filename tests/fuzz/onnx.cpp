// ONNX files: read and made ready, and small ones run on zeros.
#include <string>

#include "tests/fuzz/target.h"
#include "tests/onnx/make_model.h"
#include "veldt/core/pool.h"
#include "veldt/onnx/network.h"
#include "veldt/onnx/operators.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt::fuzz {
namespace {

using namespace onnx::test;  // NOLINT: its names are those of messages

void read_onnx(const std::string& bytes) {
  const onnx::Network network(onnx::parse_model(bytes, "fuzz.onnx"));
}

bool loops(const onnx::Graph& graph) {
  for (const onnx::Node& node : graph.nodes) {
    if (node.op == "Loop" || node.op == "Scan" || node.op == "SequenceMap") return true;
    for (const onnx::Attribute& attribute : node.attributes)
      for (const auto& body : attribute.graphs)
        if (loops(*body)) return true;
  }
  return false;
}

// A graph may ask for any work: those with loops, and those that would take much memory, are not run.
void run_onnx(const std::string& bytes) {
  const NoGrad off;
  onnx::Model model = onnx::parse_model(bytes, "fuzz.onnx");
  bool repeats = loops(model.graph);
  for (const onnx::Function& function : model.functions)
    for (const onnx::Node& node : function.nodes) repeats |= node.op == "Loop" || node.op == "Scan";
  if (repeats) return;
  const onnx::Network network(std::move(model));
  onnx::Values inputs;
  for (const onnx::ValueInfo& input : network.inputs()) {
    Shape shape;
    for (const onnx::Dimension& d : input.type.dimensions) {
      if (shape.rank() == kMaxRank || d.size > 64) return;
      shape.push_back(d.size < 0 ? 2 : d.size);
    }
    const onnx::ElementType type =
        input.type.element == onnx::ElementType::undefined ? onnx::ElementType::float32 : input.type.element;
    if (type == onnx::ElementType::string || type == onnx::ElementType::complex64 ||
        type == onnx::ElementType::complex128 || numel(shape) > 100000)
      return;
    inputs.emplace_back(zeros(shape, onnx::held_as(type)), type);
  }
  pool(Device{}).set_limit(std::size_t{256} << 20);
  network.run(std::move(inputs));
}

std::vector<std::string> onnx_seeds() {
  const auto branch = [](const char* op) {
    return graph({.nodes = {node(op, {"x"}, {"r"})}, .outputs = {plain_value("r")}});
  };
  const GraphParts layer{.nodes = {node("MatMul", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"y"})},
                         .initializers = {floats("w", {2, 2}, {1, 2, 3, 4})},
                         .inputs = {value("x", {-1, 2})},
                         .outputs = {value("y", {-1, 2})}};
  const GraphParts chosen{.nodes = {node("Greater", {"x", "zero"}, {"c"}),
                                    node("If", {"c"}, {"y"},
                                         {message_attribute("then_branch", 6, branch("Neg")),
                                          message_attribute("else_branch", 6, branch("Abs"))})},
                          .initializers = {floats("zero", {}, {0})},
                          .inputs = {value("x", {1})},
                          .outputs = {value("y", {1})}};
  const GraphParts image{.nodes = {node("Conv", {"x", "w"}, {"h"}), node("MaxPool", {"h"}, {"y"})},
                         .initializers = {floats("w", {1, 1, 2, 2}, {1, 2, 3, 4})},
                         .inputs = {value("x", {1, 1, 4, 4})},
                         .outputs = {value("y", {1, 1, 2, 2})}};
  const std::string twice = function(
      "Twice", {"a"}, {"r"}, {node("Concat", {"a", "a"}, {"r"}, {reference("axis", "along")})}, {"along"});
  const GraphParts calls{.nodes = {node("Twice", {"x"}, {"y"}, {int_attribute("along", 0)}, "own")},
                         .inputs = {value("x", {1})},
                         .outputs = {value("y", {2})}};
  return {model(graph(layer)), model(graph(chosen)), model(graph(image)), model(graph(calls), {twice})};
}

std::vector<std::string> onnx_words() { return onnx::operators().names(); }

}  // namespace

std::vector<Target> onnx_targets() {
  return {{"onnx", read_onnx, onnx_seeds, onnx_words}, {"onnx_run", run_onnx, onnx_seeds, onnx_words}};
}

}  // namespace veldt::fuzz
