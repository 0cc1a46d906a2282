// Calls a network once, and follows its tensors from layer to layer.
#include "veldt/publish/integer_flow.h"

#include <map>
#include <typeinfo>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/graph.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::publish {
namespace {

using Op = FlowNode::Op;

constexpr const char* kPossible =
    "build it of Linear, Conv1d, Conv2d, MaxPool, AvgPool, ReLU, ReLU6, Flatten, Dropout and Sum, or write "
    "it "
    "as ONNX";

template <class T> bool is_a(const nn::Module& m) { return typeid(m) == typeid(T); }

bool passes_on(const nn::Module& m) {
  if (const auto* norm = dynamic_cast<const nn::ChannelNorm*>(&m)) return norm->is_left_out();
  return is_a<nn::Identity>(m) || is_a<nn::Flatten>(m) || dynamic_cast<const nn::Dropout*>(&m);
}

std::optional<Op> op_of(const nn::Module& m) {
  if (is_a<nn::Linear>(m) || is_a<nn::Conv1d>(m) || is_a<nn::Conv2d>(m)) return Op::product;
  if (is_a<nn::ReLU>(m) || is_a<nn::ReLU6>(m)) return Op::bound;
  if (is_a<nn::MaxPool1d>(m) || is_a<nn::MaxPool2d>(m) || is_a<nn::AdaptiveMaxPool1d>(m) ||
      is_a<nn::AdaptiveMaxPool2d>(m))
    return Op::max_pool;
  if (is_a<nn::AvgPool1d>(m) || is_a<nn::AvgPool2d>(m) || is_a<nn::AdaptiveAvgPool1d>(m) ||
      is_a<nn::AdaptiveAvgPool2d>(m))
    return Op::mean_pool;
  if (is_a<nn::Sum>(m)) return Op::sum;
  return {};
}

FlowNode::Format input_format(const nn::Module& m, const std::string& name) {
  auto* layer = dynamic_cast<nn::Quantizable*>(const_cast<nn::Module*>(&m));
  const nn::Weight& weight = *layer->weights().front().weight;
  const auto& format = weight.format();
  if (!weight.is_quantized())
    refuse_layer(name, "its weight holds floats", "quantize the network, without --keep for this layer");
  if (format->bits != 8 || format->input != nn::QuantizedInput::fixed)
    refuse_layer(name, "it multiplies floats, or bytes of ranges that each call finds",
                 "quantize the network with --method static");
  for (const auto& [own, tensor] : m.state_dict())
    if (own == "weight_input") {
      const auto ends = to(tensor, Device{}).values<float>();
      return {ends[0], ends[1]};
    }
  refuse_layer(name, "its input has no range", "quantize the network again");
}

class FlowListener final : public nn::CallListener {
 public:
  FlowListener(const nn::Module& network, const Tensor& x, const Shape& input) : network_(network) {
    for (const nn::NamedModule& m : network.named_modules()) {
      names_[m.module] = m.name;
      for (const nn::NamedModule& child : m.module->children()) parts_[m.module].push_back(child.module);
    }
    flow_.nodes.push_back({Op::input, nullptr, "the input", {}, input, input});
    come(x, 0);
  }

  void on_call(const nn::Module& module, const TensorList& inputs, const TensorList& outputs) override {
    if (refused_ || outputs.size() != 1) return;
    results_[&module] = outputs[0];
    const bool is_leaf = parts_[&module].empty();
    if (!is_leaf && is_a<nn::Residual>(module)) {
      TensorList both;
      for (const nn::Module* part : parts_[&module]) both.push_back(results_[part]);
      return add(Op::sum, module, both, outputs[0]);
    }
    if (!is_leaf) {
      if (!node_of_.contains(outputs[0].impl())) refuse(module, "it computes something beside its layers");
      return;
    }
    if (passes_on(module) && inputs.size() == 1) {
      const auto from = node_of_.find(inputs[0].impl());
      if (from == node_of_.end()) return refuse(module, "nothing is known of what it takes");
      if (!node_of_.contains(outputs[0].impl())) come(outputs[0], from->second);
      return;
    }
    const std::optional<Op> op = op_of(module);
    if (!op) return refuse(module, "it has no form of integers alone");
    add(*op, module, inputs, outputs[0]);
  }

  Flow finish(const Tensor& y) {
    if (refused_) refuse_layer(refused_->first, refused_->second, kPossible);
    const auto last = node_of_.find(y.impl());
    if (last == node_of_.end())
      refuse_layer(named(network_), "it computes something beside its layers", kPossible);
    flow_.output = last->second;
    return std::move(flow_);
  }

 private:
  std::string named(const nn::Module& m) const {
    const auto name = names_.find(&m);
    return str(name == names_.end() || name->second.empty() ? "" : "'" + name->second + "', ", m.title());
  }
  void refuse(const nn::Module& m, const char* why) { refused_ = {named(m), why}; }
  void come(const Tensor& t, std::size_t node) {
    kept_.push_back(t);  // so that no other tensor takes its place
    node_of_[t.impl()] = node;
  }
  void add(Op op, const nn::Module& m, const TensorList& inputs, const Tensor& y) {
    FlowNode node{op, &m, named(m), {}, {}, y.shape().without(0)};
    for (const Tensor& x : inputs) {
      const auto from = node_of_.find(x.impl());
      if (from == node_of_.end()) return refuse(m, "nothing is known of what it takes");
      node.from.push_back(from->second);
      node.taken = x.shape().without(0);
    }
    if (op != Op::sum && node.from.size() != 1) return refuse(m, "it takes several inputs");
    if (op == Op::product) node.input = input_format(m, node.name);
    come(y, flow_.nodes.size());
    flow_.nodes.push_back(std::move(node));
  }

  const nn::Module& network_;
  Flow flow_;
  std::map<const nn::Module*, std::string> names_;
  std::map<const nn::Module*, std::vector<const nn::Module*>> parts_;
  std::map<const nn::Module*, Tensor> results_;
  std::map<const TensorImpl*, std::size_t> node_of_;
  std::vector<Tensor> kept_;
  std::optional<std::pair<std::string, std::string>> refused_;
};

// Backwards: who takes what, and which bytes all takers of a node agree on.
void find_formats(Flow& flow) {
  std::vector<bool> is_used(flow.nodes.size());
  is_used[flow.output] = true;
  for (std::size_t i = flow.nodes.size(); i-- > 0;) {
    FlowNode& node = flow.nodes[i];
    if (!is_used[i]) continue;
    bool agreed = i != flow.output;
    std::optional<FlowNode::Format> wanted;
    for (const std::size_t taker : node.takers) {
      const FlowNode& by = flow.nodes[taker];
      const auto wish = by.op == Op::product                          ? by.input
                        : by.op == Op::bound || by.op == Op::max_pool ? by.bytes
                                                                      : std::nullopt;
      agreed = agreed && wish && (!wanted || *wanted == *wish);
      if (!wanted) wanted = wish;
    }
    if (agreed || i == 0) node.bytes = wanted;  // the input is bytes in any case
    for (const std::size_t from : node.from) {
      flow.nodes[from].takers.push_back(i);
      is_used[from] = true;
    }
  }
}

}  // namespace

void refuse_layer(const std::string& layer, const std::string& why, const std::string& fix) {
  throw ConfigError(str("a header cannot hold ", layer), why, fix);
}

Flow flow_of(const nn::Module& network, const Shape& input) {
  const NoGrad off;
  const Tensor x = zeros(input.with_inserted(0, 1));
  FlowListener listener(network, x, input);
  Flow flow = listener.finish(network(x));
  find_formats(flow);
  return flow;
}

}  // namespace veldt::publish
