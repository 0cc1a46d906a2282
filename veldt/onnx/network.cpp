// The module around a program: its parameters, its checks of inputs.
#include "veldt/onnx/network.h"

#include <algorithm>
#include <set>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/onnx/optimize.h"
#include "veldt/onnx/program.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {

namespace {

void refuse_unsupported(const std::vector<Unsupported>& list) {
  if (list.empty()) return;
  std::map<std::string, std::vector<std::string>> by_op;
  for (const Unsupported& u : list) by_op[u.op].push_back(u.node);
  std::string text;
  constexpr std::size_t kShown = 3;
  for (const auto& [op, nodes] : by_op) {
    text += str(text.empty() ? "" : "; ", op, " (");
    for (std::size_t i = 0; i < nodes.size() && i < kShown; ++i) text += str(i ? ", " : "", nodes[i]);
    if (nodes.size() > kShown) text += str(" and ", nodes.size() - kShown, " more");
    text += ')';
  }
  throw UsageError(str("the graph has ", by_op.size(), by_op.size() == 1 ? " operator" : " operators",
                       " that Veldt does not run: ", text),
                   "docs/onnx.md lists those that it runs",
                   "export the model with others, or ask for these in an issue");
}

// Some exporters write weights as Constant nodes; one number there is one of a formula.
bool is_weight(const Constant& c) {
  return c.tensor.defined() && (c.initializer || c.tensor.numel() > 1) && is_float(c.tensor.dtype()) &&
         type_of(c.tensor.dtype()) == c.type && c.tensor.rank() > 0 && c.tensor.numel() > 0 && c.uses > 0 &&
         c.other_uses == 0 && !c.name.empty();
}

}  // namespace

Network::Network(Model model) : runs_(std::make_shared<std::atomic<std::uint64_t>>(0)) {
  Prepared prepared = prepare(model);
  refuse_unsupported(prepared.unsupported);
  program_ = prepared.program;
  constants_ = std::make_shared<std::vector<Constant>>(std::move(prepared.constants));
  std::set<std::string> taken;
  std::map<const TensorImpl*, Tensor> weights;  // a function's constants are the same in all its calls
  for (Constant& c : *constants_) {
    if (!c.read) c = {};  // such as what was left of a head that was cut off
    const bool weight = is_weight(c);
    if (!c.initializer && !weight) c.name.clear();
    // Two branches of an If may use one name.
    for (int n = 2; !c.name.empty() && !taken.insert(c.name).second; ++n) c.name = str(c.name, '.', n);
    if (!c.tensor.defined()) continue;
    // A Model may be used twice.
    const TensorImpl* const impl = c.tensor.impl();
    if (!weight)
      c.tensor = c.tensor.detach();
    else if (!weights.contains(impl))
      c.tensor = weights[impl] = nn::parameter(clone(c.tensor));
    else
      c.tensor = weights[impl];
  }
  for (auto& [name, value] : model.graph.initializers) value = Value();
  title_ = model.graph.name.empty() ? "onnx::Network" : "onnx::Network " + model.graph.name;
  model_ = std::make_shared<const Model>(std::move(model));
}

Network Network::frozen() const {
  Prepared prepared = optimized({program_, *constants_, {}});
  for (Constant& c : prepared.constants) c.name.clear();
  Network out;
  out.model_ = model_;
  out.program_ = std::move(prepared.program);
  out.constants_ = std::make_shared<std::vector<Constant>>(std::move(prepared.constants));
  out.runs_ = std::make_shared<std::atomic<std::uint64_t>>(runs_->load());
  out.title_ = title_;
  return out;
}

const std::vector<ValueInfo>& Network::inputs() const { return program_->inputs(); }
const std::vector<ValueInfo>& Network::outputs() const { return program_->outputs(); }

const std::vector<ValueInfo>& Network::overridable() const { return program_->overridable(); }

std::int64_t Network::opset() const {
  const auto found = model_->opsets.find("");
  return found == model_->opsets.end() ? 1 : found->second;
}

ElementType Network::float_type() const {
  for (const Constant& c : *constants_)
    if (c.tensor.defined() && c.tensor.requires_grad()) return type_of(c.tensor.dtype());
  for (const Constant& c : *constants_)
    if (c.tensor.defined() && c.tensor.rank() > 0 && is_float(c.tensor.dtype()))
      return type_of(c.tensor.dtype());
  return ElementType::undefined;
}

void Network::check(const Values& given) const {
  const auto weights = std::find_if(constants_->begin(), constants_->end(), [](const Constant& c) {
    return c.tensor.defined() && c.tensor.rank() > 0 && is_floating(c.type);
  });
  for (std::size_t i = 0; i < given.size() && i < inputs().size() + overridable().size(); ++i) {
    const Value& value = given[i];
    const ValueInfo& input = i < inputs().size() ? inputs()[i] : overridable()[i - inputs().size()];
    if (!value.present() || input.type.kind != ValueType::Kind::tensor) continue;
    if (value.is_tensor() && weights != constants_->end()) {
      const Device given_on = value.tensor().device(), own = weights->tensor.device();
      if (given_on != Device{} && given_on != own)
        throw DeviceError(str("the input \"", input.name, "\" is on ", given_on),
                          str("the weights are on ", own), "move the network with to(device), or the input");
    }
    const bool is_tensor = value.kind() == Value::Kind::tensor || value.kind() == Value::Kind::texts;
    bool fits =
        is_tensor && (input.type.element == ElementType::undefined || value.type() == input.type.element ||
                      // after to(dtype) the network computes in that
                      (is_floating(input.type.element) && value.type() == float_type()));
    if (fits && input.type.ranked) {
      const Shape shape = value.shape();
      fits = shape.rank() == static_cast<int>(input.type.dimensions.size());
      for (int d = 0; fits && d < shape.rank(); ++d) {
        const std::int64_t size = input.type.dimensions[static_cast<std::size_t>(d)].size;
        fits = size < 0 || size == shape[d];
      }
    }
    if (!fits)
      throw ShapeError(str("the input \"", input.name, "\" cannot be ", value.description()),
                       "the graph takes " + input.type.description(),
                       "give it a tensor of this dtype and these sizes");
  }
}

Values Network::run(Values given) const { return run(std::move(given), nullptr); }

Values Network::run(Values given, const NodeListener& listener) const {
  if (given.size() > inputs().size())
    throw Error(str(title(), " was given ", given.size(), " inputs"), str("it takes ", inputs().size()),
                overridable().empty() ? "give it as many as it lists"
                                      : "give it as many as it lists, or by name, constants too");
  return run_listed(std::move(given), listener);
}

Values Network::run_listed(Values given, const NodeListener& listener) const {
  check(given);
  for (std::size_t i = 0; i < inputs().size(); ++i)
    if ((i >= given.size() || !given[i].present()) && inputs()[i].type.kind != ValueType::Kind::optional)
      throw UsageError("the input \"" + inputs()[i].name + "\" is missing",
                       "the graph takes " + inputs()[i].type.description(), "give it a value");
  Rng rng(0, runs_->fetch_add(1));
  const Context context{*constants_, rng, this, listener ? &listener : nullptr};
  return program_->run(context, std::move(given), {});
}

Values Network::run(const std::map<std::string, Value>& given) const {
  std::vector<ValueInfo> taken = inputs();
  taken.insert(taken.end(), overridable().begin(), overridable().end());
  Values list(taken.size());
  for (const auto& [name, value] : given) {
    const auto found = std::find_if(taken.begin(), taken.end(),
                                    [&, wanted = name](const ValueInfo& i) { return i.name == wanted; });
    if (found == taken.end()) {
      std::string names;
      for (const ValueInfo& input : inputs()) names += (names.empty() ? "" : ", ") + input.name;
      throw UsageError("the graph has no input \"" + name + '"', "its inputs are: " + names,
                       "name one of these");
    }
    list[static_cast<std::size_t>(found - taken.begin())] = value;
  }
  return run_listed(std::move(list), nullptr);
}

Values Network::run(std::initializer_list<std::pair<const std::string, Value>> given) const {
  std::map<std::string, Value> once;
  for (const auto& [name, value] : given)
    if (!once.emplace(name, value).second)
      throw UsageError("the input \"" + name + "\" is given twice", "each has one value", "leave one out");
  return run(once);
}

TensorList Network::forward_list(const TensorList& given) const {
  Values list;
  for (const Tensor& x : given) list.push_back(x.defined() ? Value(x) : Value());
  TensorList out;
  for (const Value& value : run(std::move(list))) out.push_back(value.tensor());
  return out;
}

Tensor Network::forward(const Tensor& x) const {
  if (outputs().size() != 1)
    throw Error(str(title(), " has ", outputs().size(), " outputs"), "forward() gives one",
                "call it with a list: net({x}), or run()");
  return forward_list({x})[0];
}

// Integers of 32 and 64 bits are sizes, axes and places, which the host reads: they move nowhere.
void Network::fields(nn::Fields& f) {
  for (Constant& c : *constants_) {
    if (!c.tensor.defined() || c.type == ElementType::int64 || c.type == ElementType::int32) continue;
    if (c.name.empty())
      f.unsaved(c.tensor);
    else
      f(c.name, c.tensor);
  }
}

void Network::unshare() {
  constants_ = std::make_shared<std::vector<Constant>>(*constants_);
  runs_ = std::make_shared<std::atomic<std::uint64_t>>(runs_->load());
}

Network load(const std::string& path) { return Network(read_model(path)); }

}  // namespace veldt::onnx
