// Finds the layers that adapters are for.
#include "veldt/nn/lora.h"

#include <algorithm>
#include <map>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/lora_layer.h"
#include "veldt/ops/shape.h"

namespace veldt::nn {
namespace {

struct LoraTarget {
  std::string name;
  LoraLayer* layer;
};

std::vector<LoraTarget> lora_layers(const Module& network) {
  std::vector<LoraTarget> layers;
  for (const NamedModule& inner : network.named_modules())
    if (auto* layer = dynamic_cast<LoraLayer*>(inner.module)) layers.push_back({inner.name, layer});
  return layers;
}

bool means(const std::string& name, const std::string& layer) {
  return layer == name || layer.ends_with("." + name);
}

[[noreturn]] void refuse_name(const std::vector<LoraTarget>& layers, const std::string& name) {
  std::string known;
  for (const LoraTarget& layer : layers) known += (known.empty() ? "" : ", ") + layer.name;
  throw ConfigError(
      str("no layer that may have an adapter is called '", name, "'"),
      known.empty() ? "the network has none" : "there are " + known,
      known.empty()
          ? "Linear layers and attention have adapters; a graph of ONNX is taught by its own weights"
          : "give one of these names, or what it has after a dot");
}

// Freezes all but the adapters.
void freeze_rest(Module& network, const std::vector<LoraTarget>& layers) {
  network.freeze();
  for (const LoraTarget& layer : layers) layer.layer->train_lora();
}

// What a state has for one layer; "lora_A" is its first part's name.
struct Adapter {
  Tensor a, b, alpha;
  Tensor* part(std::string_view name) {
    if (name == "lora_A") return &a;
    if (name == "lora_B") return &b;
    return name == "lora_alpha" ? &alpha : nullptr;
  }
};

std::map<std::string, Adapter> adapters_in(const NamedTensors& state) {
  std::map<std::string, Adapter> all;
  for (const auto& [name, tensor] : state) {
    const std::size_t dot = name.rfind('.');
    const std::string layer = dot == std::string::npos ? "" : name.substr(0, dot);
    Tensor* part = all[layer].part(dot == std::string::npos ? name : name.substr(dot + 1));
    if (part == nullptr)
      throw ConfigError(str(name, " is no part of an adapter"), "they are lora_A, lora_B and lora_alpha",
                        "give what lora_state() gave, and load other tensors by load_state_dict()");
    *part = tensor;
  }
  return all;
}

void check_adapter(const LoraTarget& to, const Adapter& given) {
  const auto refuse = [&](const std::string& why) {
    throw ConfigError(str("the adapter of ", to.name, " does not fit ", to.layer->title()), why,
                      "give what lora_state() gave of a network of the same sizes");
  };
  if (!given.a.defined() || !given.b.defined() || !given.alpha.defined())
    refuse("it lacks one of lora_A, lora_B and lora_alpha");
  const std::int64_t rank = given.a.rank() == 2 ? given.a.size(0) : 0;
  const Shape a{rank, to.layer->in_features()}, b{to.layer->out_features(), rank};
  if (rank < 1 || given.a.shape() != a || given.b.shape() != b || given.alpha.numel() != 1)
    refuse(str("its lora_A, lora_B and lora_alpha are ", given.a.shape(), ", ", given.b.shape(), " and ",
               given.alpha.shape()));
  if (!to.layer->has_lora()) return;
  for (const NamedTensor& own : to.layer->state_dict())
    if (own.name == "lora_A" && own.tensor.size(0) != rank)
      refuse(str("it is of rank ", rank, ", and the layer has one of rank ", own.tensor.size(0)));
}

}  // namespace

std::vector<std::string> add_lora(Module& network, const std::vector<std::string>& names,
                                  const LoraOptions& options, Rng& rng) {
  if (options.rank < 1)
    throw ConfigError(str("an adapter cannot have a rank of ", options.rank), "it is 1 or more",
                      "give 8, say");
  if (names.empty())
    throw ConfigError("cannot add adapters to no layers", "no name was given",
                      "name some, {\"q_proj\", \"v_proj\"} for example");
  const std::vector<LoraTarget> layers = lora_layers(network);
  std::vector<LoraTarget> chosen;
  for (const LoraTarget& layer : layers)
    for (const std::string& name : names)
      if (means(name, layer.name)) {
        chosen.push_back(layer);
        break;
      }
  for (const std::string& name : names)
    if (std::none_of(chosen.begin(), chosen.end(), [&](const LoraTarget& l) { return means(name, l.name); }))
      refuse_name(layers, name);
  for (const LoraTarget& layer : chosen)
    if (layer.layer->has_lora())
      throw ConfigError(str(layer.name, " cannot get another adapter"), "it has one",
                        "merge the one it has first: merge_lora()");
  freeze_rest(network, layers);
  std::vector<std::string> whole;
  for (const LoraTarget& layer : chosen) {
    layer.layer->add_lora(options.rank, options.alpha, rng);
    whole.push_back(layer.name);
  }
  return whole;
}

NamedTensors lora_state(const Module& network) {
  NamedTensors state;
  for (const LoraTarget& layer : lora_layers(network))
    for (const auto& [name, tensor] : layer.layer->state_dict())
      if (name.starts_with("lora_"))
        state.push_back({layer.name.empty() ? name : layer.name + "." + name, tensor});
  return state;
}

void load_lora(Module& network, const NamedTensors& state) {
  const std::vector<LoraTarget> layers = lora_layers(network);
  const std::map<std::string, Adapter> adapters = adapters_in(state);
  if (adapters.empty())
    throw ConfigError("there are no adapters to load", "the state holds no lora_A, lora_B or lora_alpha",
                      "give what lora_state() returned");
  std::vector<std::pair<LoraLayer*, const Adapter*>> pairs;
  for (const auto& [name, adapter] : adapters) {
    const auto found =
        std::find_if(layers.begin(), layers.end(),
                     [&, wanted = name](const LoraTarget& layer) { return layer.name == wanted; });
    if (found == layers.end()) refuse_name(layers, name);
    check_adapter(*found, adapter);
    pairs.emplace_back(found->layer, &adapter);
  }
  freeze_rest(network, layers);
  for (const auto& [layer, adapter] : pairs) {
    Rng unused(0);
    if (!layer->has_lora()) layer->add_lora(adapter->a.size(0), 1, unused);
    layer->load_state_dict(
        {{"lora_A", adapter->a}, {"lora_B", adapter->b}, {"lora_alpha", reshape(adapter->alpha, {})}}, false);
  }
}

void merge_lora(Module& network) {
  for (const LoraTarget& layer : lora_layers(network)) layer.layer->merge_lora();
}

}  // namespace veldt::nn
