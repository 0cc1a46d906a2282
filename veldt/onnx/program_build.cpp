// Names to slots.
#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/onnx/program.h"

namespace veldt::onnx {

namespace {

constexpr std::size_t kMaxNodes = 250000;
constexpr std::size_t kMaxCalls = 32;  // of functions within functions

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw IoError(IoError::Kind::malformed, what, why,
                "export the model again; onnx.checker of Python's onnx package says more");
}

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

std::string title(const Node& node) { return node.domain.empty() ? node.op : node.domain + ':' + node.op; }
std::string label(const Node& node) {
  if (!node.name.empty()) return node.name;
  for (const std::string& output : node.outputs)
    if (!output.empty()) return "-> " + output;
  return "(no name)";
}

// What a Constant node holds; nothing if a function's caller is to say it.
std::optional<Value> constant_value(const Node& node) {
  for (const Attribute& a : node.attributes) {
    if (!a.refers_to.empty()) return {};
    const auto n = static_cast<std::int64_t>(a.integers.size());
    if (a.name == "value" || a.name == "sparse_value")
      return a.values.empty() ? std::optional<Value>() : a.values.front();
    if (a.name == "value_float") return Value(Tensor::of({}, {a.real}));
    if (a.name == "value_int") return Value(Tensor::from<std::int64_t>({}, std::span(&a.integer, 1)));
    if (a.name == "value_ints") return Value(Tensor::from<std::int64_t>({n}, a.integers));
    if (a.name == "value_string") return Value(Texts{{}, {a.text}});
    if (a.name == "value_strings") return Value(Texts{{static_cast<std::int64_t>(a.texts.size())}, a.texts});
    if (a.name == "value_floats") {
      const std::vector<float> values(a.reals.begin(), a.reals.end());
      return Value(Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values));
    }
  }
  return {};
}

// Puts the attributes of a function's caller, or the function's defaults, where its nodes refer to them.
void bind(Node& node, const Function& function, const Node& caller, int depth) {
  std::vector<Attribute> kept;
  for (Attribute& attribute : node.attributes) {
    if (!attribute.refers_to.empty()) {
      const auto named = [&](const Attribute& a) { return a.name == attribute.refers_to; };
      auto value = std::find_if(caller.attributes.begin(), caller.attributes.end(), named);
      if (value == caller.attributes.end()) {
        value = std::find_if(function.defaults.begin(), function.defaults.end(), named);
        if (value == function.defaults.end()) continue;  // the operator's own default
      }
      Attribute taken = *value;
      taken.name = attribute.name;
      kept.push_back(std::move(taken));
      continue;
    }
    if (attribute.kind == Attribute::Kind::graph && depth < 64) {
      auto graph = std::make_shared<Graph>(*attribute.graphs.front());
      for (Node& inner : graph->nodes) bind(inner, function, caller, depth + 1);
      attribute.graphs = {graph};
    }
    kept.push_back(std::move(attribute));
  }
  node.attributes = std::move(kept);
}

}  // namespace

// One for the whole model.
struct Program::Shared {
  const Model& model;
  Prepared& out;
  std::map<FunctionKey, const Function*> functions = {};
  std::size_t nodes = 0;
  std::vector<const Function*> open = {};  // functions around the current node
};

struct Program::Builder {
  using Opsets = std::map<std::string, std::int64_t>;

  Shared& shared;
  const Opsets& opsets;
  Builder* outer = nullptr;
  std::shared_ptr<Program> program = std::make_shared<Program>();
  std::map<std::string, int> slots = {};
  std::map<int, int> captured = {};             // slot -> slot of `outer`
  std::map<int, std::size_t> constant_of = {};  // slot -> constant

  int define(const std::string& name) {
    const int slot = static_cast<int>(program->slot_count_++);
    if (!slots.insert({name, slot}).second)
      refuse("the value \"" + name + "\" is defined twice", "a graph defines each value once");
    return slot;
  }

  // The slot of a name that this graph or one around it has; -1 if none has.
  int find(const std::string& name) {
    const auto found = slots.find(name);
    if (found != slots.end()) return found->second;
    if (outer == nullptr) return -1;
    const int from = outer->find(name);
    if (from < 0) return -1;
    const int slot = define(name);
    captured[slot] = from;
    program->captured_.emplace_back(slot, from);
    const auto constant = outer->constant_of.find(from);
    if (constant != outer->constant_of.end()) constant_of[slot] = constant->second;
    return slot;
  }

  int read(const std::string& name, const std::string& by) {
    const int slot = find(name);
    if (slot < 0) refuse("nothing defines the value \"" + name + "\"", by + " reads it");
    if (const auto constant = constant_of.find(slot); constant != constant_of.end())
      shared.out.constants[constant->second].read = true;
    return slot;
  }

  void add_constant(const std::string& name, const Value& value, bool initializer) {
    Constant constant;
    constant.name = name;
    constant.initializer = initializer;
    constant.type = value.type();
    if (value.is_tensor())
      constant.tensor = value.tensor();
    else
      constant.other = value;
    const int slot = define(name);
    constant_of[slot] = shared.out.constants.size();
    program->constants_.emplace_back(slot, shared.out.constants.size());
    shared.out.constants.push_back(std::move(constant));
  }

  void count_use(int slot, bool trained) {
    const auto found = constant_of.find(slot);
    if (found == constant_of.end()) return;
    Constant& constant = shared.out.constants[found->second];
    ++(trained ? constant.uses : constant.other_uses);
  }

  void add(const Graph& graph);
  void add(const Function& function) {
    for (const std::string& name : function.inputs) {
      program->inputs_.push_back({name, {}});
      program->input_slots_.push_back(slots.at(name));
    }
    for (const Node& node : function.nodes) add(node);
    std::vector<ValueInfo> outputs;
    for (const std::string& name : function.outputs) outputs.push_back({name, {}});
    finish(outputs);
  }

  void finish(const std::vector<ValueInfo>& outputs);

  // A Gradient reads, besides its inputs, the value that it differentiates.
  Node with_what_it_differentiates(const Node& gradient) {
    Node node = gradient;
    std::vector<std::string> names;
    std::string y;
    for (const Attribute& a : gradient.attributes) {
      if (a.name == "xs") names.insert(names.begin(), a.texts.begin(), a.texts.end());
      if (a.name == "zs") names.insert(names.end(), a.texts.begin(), a.texts.end());
      if (a.name == "y") y = a.text;
    }
    if (names != gradient.inputs || y.empty())
      refuse("the Gradient " + label(gradient) + " is fed other values than its graph has",
             "its inputs must be the values that its attributes xs and zs name");
    node.inputs.push_back(y);
    for (const std::string& name : gradient.inputs) program->watched_.push_back(read(name, label(gradient)));
    return node;
  }

  void add(const Node& given) {
    const bool gradient = given.op == "Gradient" && given.domain == "ai.onnx.preview.training";
    const Node node = gradient ? with_what_it_differentiates(given) : given;
    if (++shared.nodes > kMaxNodes)
      refuse(str("the model has more than ", kMaxNodes, " nodes"),
             "its functions call each other again and again");
    // A Constant is one more initializer.
    if (node.op == "Constant" && node.domain.empty() && node.outputs.size() == 1) {
      if (const std::optional<Value> value = constant_value(node))
        return add_constant(node.outputs[0], *value, false);
    }
    Step step;
    step.node = node;
    const auto opset = opsets.find(node.domain);
    step.opset = opset != opsets.end() ? opset->second : 1;
    step.entry = operators().find(node.domain, node.op);
    const auto function = shared.functions.find({node.domain, node.op, node.overload});
    for (const std::string& name : node.inputs)
      step.inputs.push_back(name.empty() ? -1 : read(name, label(node) + " (" + title(node) + ")"));
    if (function != shared.functions.end()) {
      step.function = body_of(*function->second, node, step.inputs);  // its nodes are what uses the inputs
    } else {
      if (step.entry == nullptr) shared.out.unsupported.push_back({title(node), label(node)});
      for (std::size_t i = 0; i < step.inputs.size(); ++i)
        if (step.inputs[i] >= 0)
          count_use(step.inputs[i], step.entry != nullptr && i < 32 && ((step.entry->trained >> i) & 1) != 0);
    }
    for (const Attribute& attribute : node.attributes) {
      if (attribute.kind != Attribute::Kind::graph) continue;
      Builder inner{shared, opsets, this};
      inner.add(*attribute.graphs.front());
      step.bodies.emplace_back(attribute.name, inner.program);
    }
    for (const std::string& output : node.outputs)
      step.outputs.push_back(output.empty() ? -1 : define(output));
    program->steps_.push_back(std::move(step));
  }

  std::shared_ptr<const Program> body_of(const Function& function, const Node& caller,
                                         const std::vector<int>& inputs);
};

// A graph's own constants, inputs, nodes and outputs.
void Program::Builder::add(const Graph& graph) {
  for (const auto& [name, value] : graph.initializers) add_constant(name, value, true);
  std::vector<int> overridable;
  for (const ValueInfo& input : graph.inputs) {
    const auto there = slots.find(input.name);
    if (there != slots.end() && outer == nullptr) {
      // Before version 4 of the format all constants were listed among the inputs.
      if (shared.model.ir_version >= 4) {
        program->overridable_.push_back(input);
        overridable.push_back(there->second);
      }
      continue;
    }
    program->inputs_.push_back(input);
    program->input_slots_.push_back(there != slots.end() ? there->second : define(input.name));
  }
  program->input_slots_.insert(program->input_slots_.end(), overridable.begin(), overridable.end());
  for (const Node& node : graph.nodes) add(node);
  finish(graph.outputs);
}

void Program::Builder::finish(const std::vector<ValueInfo>& outputs) {
  program->outputs_ = outputs;
  for (const ValueInfo& output : outputs) {
    const int slot = output.name.empty() ? -1 : read(output.name, "an output");
    if (slot < 0) refuse("an output has no name", "a graph gives its results names");
    program->output_slots_.push_back(slot);
  }
  program->find_last_uses();
}

// The function's nodes with the attributes of this call in the places that refer to them.
std::shared_ptr<const Program> Program::Builder::body_of(const Function& function, const Node& caller,
                                                         const std::vector<int>& inputs) {
  const auto& open = shared.open;
  if (std::find(open.begin(), open.end(), &function) != open.end())
    refuse("the function " + function.name + " calls itself", "ONNX's functions may not");
  if (open.size() > kMaxCalls)
    refuse(str("functions are nested deeper than ", kMaxCalls), "each is replaced by its nodes");
  Function bound = function;
  for (Node& node : bound.nodes) bind(node, function, caller, 0);
  shared.open.push_back(&function);
  const Opsets& own = function.opsets.empty() ? opsets : function.opsets;
  Builder inner{shared, own};
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const int slot = inner.define(bound.inputs[i]);
    const auto constant = i < inputs.size() ? constant_of.find(inputs[i]) : constant_of.end();
    if (constant != constant_of.end()) inner.constant_of[slot] = constant->second;
  }
  inner.add(bound);
  shared.open.pop_back();
  return inner.program;
}

Prepared prepare(const Model& model) {
  Prepared out;
  Program::Shared shared{model, out};
  for (const Function& function : model.functions)
    shared.functions[{function.domain, function.name, function.overload}] = &function;
  Program::Builder builder{shared, model.opsets};
  builder.add(model.graph);
  out.program = builder.program;
  return out;
}

}  // namespace veldt::onnx
