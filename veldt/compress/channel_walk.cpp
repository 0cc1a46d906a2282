// Follows channels through the containers of a network, from its input to its output.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "veldt/compress/channel_layers.h"
#include "veldt/compress/channels.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/evaluating.h"
#include "veldt/nn/graph.h"
#include "veldt/nn/sequential.h"
#include "veldt/tensor/graph.h"

namespace veldt::compress {
namespace {

// What each module was called with, and what it gave.
class CallsHeard final : public nn::CallListener {
 public:
  struct Heard {
    TensorList inputs, outputs;
    int times = 0;
  };
  const Heard* of(const nn::Module& module) const {
    const auto found = calls_.find(&module);
    return found == calls_.end() ? nullptr : &found->second;
  }

 private:
  void on_call(const nn::Module& module, const TensorList& inputs, const TensorList& outputs) override {
    Heard& heard = calls_[&module];
    heard.inputs = inputs;
    heard.outputs = outputs;
    ++heard.times;
  }

  std::map<const nn::Module*, Heard> calls_;
};

// Notes the names of tensors that are one tensor.
class TiedNames final : public nn::Fields {
 public:
  std::set<std::string> names() const {
    std::set<std::string> tied;
    for (const auto& [impl, own] : names_)
      if (own.size() > 1) tied.insert(own.begin(), own.end());
    return tied;
  }

 private:
  void on_tensor(const std::string& path, Tensor& tensor) override { names_[tensor.impl()].push_back(path); }

  std::map<const void*, std::vector<std::string>> names_;
};

class Walk {
 public:
  explicit Walk(const CallsHeard& calls) : calls_(calls) {}

  Groups& groups() { return groups_; }

  Layout follow(const std::string& path, const nn::Module& m, const Layouts& in) {
    static const TensorList kNone;
    const CallsHeard::Heard* heard = calls_.of(m);
    const bool once = heard != nullptr && heard->times == 1;
    const LayerCall call{groups_, path, m, heard != nullptr ? heard->inputs : kNone,
                         heard != nullptr ? heard->outputs : kNone};
    if (!once) return not_followed(call, in);  // it was never called by itself, or twice
    if (const auto* graph = dynamic_cast<const nn::Graph*>(&m)) return through_graph(call, *graph, in);
    if (const auto* chain = dynamic_cast<const nn::Sequential*>(&m)) return through_chain(call, *chain, in);
    if (dynamic_cast<const nn::Residual*>(&m) != nullptr) return through_residual(call, in);
    return through_layer(call, in);
  }

 private:
  Layout through_graph(const LayerCall& call, const nn::Graph& graph, const Layouts& in) {
    const std::vector<nn::NamedModule> layers =
        graph.children();  // each once: fewer where one stands in it twice
    if (layers.size() != graph.size() || in.size() != graph.inputs()) return not_followed(call, in);
    std::map<nn::Graph::Value, Layout> values;
    for (std::size_t i = 0; i < in.size(); ++i) values[graph.input(i)] = in[i];
    for (std::size_t i = 0; i < layers.size(); ++i) {
      Layouts read;
      for (const nn::Graph::Value value : graph.reads(i)) read.push_back(values.at(value));
      values[graph.makes(i)] = follow(in_path(call.path, layers[i].name), *layers[i].module, read);
    }
    return values.at(graph.output());
  }

  Layout through_chain(const LayerCall& call, const nn::Sequential& chain, const Layouts& in) {
    const std::vector<nn::NamedModule> layers = chain.children();
    if (layers.size() != chain.size() || in.size() != 1) return not_followed(call, in);
    Layout x = in[0];
    for (const auto& [name, layer] : layers) x = follow(in_path(call.path, name), *layer, {x});
    return x;
  }

  Layout through_residual(const LayerCall& call, const Layouts& in) {
    const std::vector<nn::NamedModule> layers = call.module.children();
    if (layers.size() != 2 || in.size() != 1) return not_followed(call, in);
    const Layout body = follow(in_path(call.path, layers[0].name), *layers[0].module, in);
    const Layout side = follow(in_path(call.path, layers[1].name), *layers[1].module, in);
    groups_.join(body, side, fmt::format("the sum {} adds channels that lie in different ways", call.path));
    return body;
  }

  const CallsHeard& calls_;
  Groups groups_;
};

}  // namespace

std::vector<ChannelGroup> channel_groups(const nn::Module& network, const TensorList& example) {
  const NoGrad off;
  const nn::Evaluating evaluating(network);
  CallsHeard calls;
  const TensorList output = network(example);
  Walk walk(calls);
  std::vector<Layout> in;
  for (const Tensor& value : example) in.push_back(unmade(walk.groups(), value, "it is the network's input"));
  const Layout out = walk.follow("", network, in);
  walk.groups().fix(out, "it is the network's output");
  TiedNames names;
  const_cast<nn::Module&>(network).fields(names);  // fields() lists members that it could change
  const std::set<std::string> tied = names.names();
  std::vector<ChannelGroup> groups = walk.groups().take();
  std::erase_if(groups, [](const ChannelGroup& group) { return group.layers.empty(); });
  for (ChannelGroup& group : groups)
    for (const ChannelPart& part : group.parts)
      if (group.fixed.empty() && tied.contains(part.tensor))
        group.fixed = fmt::format("{} is shared with another layer", part.tensor);
  return groups;
}

}  // namespace veldt::compress
