// Finds the layers that adapters are for.
#include "veldt/nn/lora.h"

#include <regex>

#include "veldt/core/error.h"
#include "veldt/nn/linear.h"

namespace veldt::nn {
namespace {

struct NamedLinear {
  std::string name;
  Linear* layer;
};

std::vector<NamedLinear> linear_layers(const Module& network) {
  std::vector<NamedLinear> layers;
  for (const NamedModule& inner : network.named_modules())
    if (auto* linear = dynamic_cast<Linear*>(inner.module)) layers.push_back({inner.name, linear});
  return layers;
}

std::regex expression_of(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& e) {
    throw ConfigError(str("'", pattern, "' is no regular expression"), e.what(),
                      "give one such as .*attention.*, or a layer's whole name");
  }
}

}  // namespace

std::vector<std::string> add_lora(Module& network, const std::string& pattern, const LoraOptions& options,
                                  Rng& rng) {
  const std::regex expression = expression_of(pattern);
  if (options.rank < 1)
    throw ConfigError(str("an adapter cannot have a rank of ", options.rank), "it is 1 or more",
                      "give 8, say");
  std::vector<NamedLinear> chosen;
  std::string known;
  for (const NamedLinear& linear : linear_layers(network)) {
    known += (known.empty() ? "" : ", ") + linear.name;
    if (std::regex_match(linear.name, expression)) chosen.push_back(linear);
  }
  if (chosen.empty())
    throw ConfigError(str("no Linear layer's name matches '", pattern, "'"),
                      known.empty() ? "the network has none" : "there are " + known,
                      "give a pattern of whole names, such as .*attention.*");
  for (const NamedLinear& linear : chosen)
    if (linear.layer->has_lora())
      throw ConfigError(str(linear.name, " cannot get another adapter"), "it has one",
                        "merge the one it has first: merge_lora()");
  network.freeze();
  for (const NamedLinear& linear : linear_layers(network))
    linear.layer->train_lora();  // those of an earlier call
  std::vector<std::string> names;
  for (const NamedLinear& linear : chosen) {
    linear.layer->add_lora(options.rank, options.alpha / static_cast<double>(options.rank), rng);
    names.push_back(linear.name);
  }
  return names;
}

NamedTensors lora_state(const Module& network) {
  NamedTensors state;
  for (const NamedTensor& named : network.state_dict())
    if (named.name.ends_with("lora_A") || named.name.ends_with("lora_B")) state.push_back(named);
  return state;
}

void merge_lora(Module& network) {
  for (const NamedLinear& linear : linear_layers(network)) linear.layer->merge_lora();
}

}  // namespace veldt::nn
