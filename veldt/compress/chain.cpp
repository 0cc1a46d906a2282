// Which layer's bytes are which layer's input: found by calling the network once, and tried.
#include <map>
#include <vector>

#include "veldt/compress/quantize.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/ops/close.h"
#include "veldt/tensor/graph.h"

namespace veldt::compress {
namespace {

bool is_relu(const nn::Module& module) {
  return dynamic_cast<const nn::ReLU*>(&module) || dynamic_cast<const nn::ReLU6*>(&module);
}

// What orders of numbers pass through: for those the largest byte is the largest number's.
bool keeps_bytes(const nn::Module& module) {
  if (const auto* norm = dynamic_cast<const nn::ChannelNorm*>(&module)) return norm->is_left_out();
  return is_relu(module) || dynamic_cast<const nn::MaxPool<2>*>(&module) ||
         dynamic_cast<const nn::Flatten*>(&module) || dynamic_cast<const nn::Dropout*>(&module) ||
         dynamic_cast<const nn::Identity*>(&module);
}

// Where each tensor of a call comes from, and who takes it.
class Flow final : public nn::CallListener {
 public:
  explicit Flow(nn::Module& network) {
    for (const PlacedWeight& w : weights_of(network))
      if (const auto& format = w.part.weight->format();
          w.part.of_input && format && format->input == nn::QuantizedInput::fixed &&
          w.part.weight->is_quantized() && w.part.use != nn::Quantizable::Use::recurrence)
        products_[w.module] = w.name;
    for (const nn::NamedModule& m : network.named_modules()) leaf_[m.module] = m.module->children().empty();
  }
  void on_call(const nn::Module& module, const TensorList& inputs, const TensorList& outputs) override {
    if (const auto leaf = leaf_.find(&module); leaf == leaf_.end() || !leaf->second) return;
    for (const Tensor& x : inputs) {
      if (!x.defined()) continue;
      const auto found = from_.find(x.impl());
      if (found == from_.end()) continue;
      const Origin origin = found->second;
      const auto product = products_.find(&module);
      if (product != products_.end() && inputs.size() == 1 &&
          dynamic_cast<nn::Quantizable*>(const_cast<nn::Module*>(&module))->bias_of_product()) {
        links_[origin.weight].push_back({product->second, origin.relu});
      } else if (keeps_bytes(module) && inputs.size() == 1 && outputs.size() == 1) {
        const bool relu = origin.relu || is_relu(module);
        if (outputs[0].impl() != x.impl() || relu != origin.relu) come(outputs[0], {origin.weight, relu});
      } else {
        links_[origin.weight].push_back({"", false});  // somebody who wants numbers
      }
    }
    const auto product = products_.find(&module);
    if (product != products_.end() && outputs.size() == 1) come(outputs[0], {product->second, false});
  }
  // Results that one product alone takes.
  std::map<std::string, Link> links() const {
    std::map<std::string, Link> all;
    for (const auto& [from, takers] : links_)
      if (takers.size() == 1 && !takers[0].to.empty()) all.emplace(from, takers[0]);
    return all;
  }

 private:
  struct Origin {
    std::string weight;
    bool relu;
  };
  void come(const Tensor& t, Origin origin) {
    kept_.push_back(t);  // so that no other tensor takes its place
    from_[t.impl()] = std::move(origin);
  }

  std::map<const nn::Module*, std::string> products_;
  std::map<const nn::Module*, bool> leaf_;
  std::map<const TensorImpl*, Origin> from_;
  std::vector<Tensor> kept_;
  std::map<std::string, std::vector<Link>> links_;
};

std::map<std::string, nn::Weight*> by_name(nn::Module& network) {
  std::map<std::string, nn::Weight*> all;
  for (const PlacedWeight& w : weights_of(network)) all.emplace(w.name, w.part.weight);
  return all;
}

}  // namespace

void unlink_layers(nn::Module& network) {
  for (const PlacedWeight& w : weights_of(network)) w.part.weight->clear_output();
}

void set_links(nn::Module& network, const std::map<std::string, Link>& links) {
  const std::map<std::string, nn::Weight*> weights = by_name(network);
  for (const auto& [from, link] : links) {
    const auto first = weights.find(from), second = weights.find(link.to);
    if (first == weights.end() || second == weights.end() || !first->second->gives_bytes_to(*second->second))
      throw ConfigError(str("the bytes of '", from, "' cannot be those of '", link.to, "'"),
                        "they are no two weights of integers, the second with a fixed input",
                        "quantize the network again");
    first->second->set_output(*second->second, link.relu);
  }
}

std::map<std::string, Link> link_layers(nn::Module& network, const Tensor& example) {
  const NoGrad off;
  Tensor exact;
  std::map<std::string, Link> links;
  {
    Flow flow(network);
    exact = network(example);
    links = flow.links();
  }
  const std::map<std::string, nn::Weight*> weights = by_name(network);
  // What a network does beside its modules no listener sees: the same bits, or no link.
  for (auto link = links.begin(); link != links.end();) {
    nn::Weight& first = *weights.at(link->first);
    bool same = false;
    try {
      first.set_output(*weights.at(link->second.to), link->second.relu);
      same = array_equal(network(example), exact);
    } catch (const Error&) {
      same = false;
    }
    if (!same) first.clear_output();
    link = same ? std::next(link) : links.erase(link);
  }
  return links;
}

}  // namespace veldt::compress
