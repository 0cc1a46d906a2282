// Cuts a network, its state and its recipe alike.
#include "veldt/recipe/pruned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/whitening.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/unrolled.h"

namespace veldt::recipe {
namespace {

using compress::ChannelGroup;

LayerChanges changes_of(const std::vector<ChannelGroup>& groups, const compress::Kept& kept,
                        const std::map<std::string, std::int64_t>& head_dims) {
  LayerChanges changes;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto left = static_cast<std::int64_t>(kept[g].size());
    if (left == groups[g].size) continue;
    for (const auto& [layer, argument] : groups[g].layers) {
      if (argument == "channels") continue;  // a norm of a recipe is built for what it reads
      changes[layer][argument] = std::to_string(left);
      if (argument == "heads") changes[layer]["head_dim"] = std::to_string(head_dims.at(layer));
    }
  }
  return changes;
}

// Of the layers with heads: they keep their size when some go.
std::map<std::string, std::int64_t> head_dims_of(const std::vector<ChannelGroup>& groups) {
  std::map<std::string, std::int64_t> sizes;
  for (const ChannelGroup& group : groups)
    if (group.unit == ChannelGroup::Unit::head)
      for (const compress::SizedLayer& layer : group.layers) sizes[layer.layer] = group.parts.at(0).repeat;
  return sizes;
}

PrunedRow row_of(const ChannelGroup& group, const std::vector<std::int64_t>& kept,
                 const NamedTensors& state) {
  std::vector<std::string> layers;
  for (const compress::SizedLayer& layer : group.layers)
    if (std::find(layers.begin(), layers.end(), layer.layer) == layers.end()) layers.push_back(layer.layer);
  PrunedRow row{fmt::format("{}", fmt::join(layers, ", ")),
                group.unit == ChannelGroup::Unit::head ? "heads" : "channels", group.size,
                static_cast<std::int64_t>(kept.size())};
  row.fixed = group.fixed;
  const std::vector<double> scores = compress::unit_scores(group, state);
  const double all = std::accumulate(scores.begin(), scores.end(), 0.0);
  for (const std::int64_t unit : kept)
    row.score += all > 0 ? scores[static_cast<std::size_t>(unit)] / all : 0;
  return row;
}

// A recipe without these keys.
Recipe without_pruning(const Recipe& recipe) {
  std::vector<std::pair<std::string, std::vector<std::string>>> given = recipe.given;
  std::erase_if(given, [](const auto& key) { return key.first.starts_with("prune."); });
  return recipe_of(given, "the recipe");
}

// The values of `then` in the order of `now`.
NamedTensors rewound(const NamedTensors& now, const NamedTensors& then) {
  std::map<std::string, Tensor> by_name;
  for (const auto& [name, tensor] : then) by_name.emplace(name, tensor);
  NamedTensors values;
  for (const auto& [name, tensor] : now) {
    const auto found = by_name.find(name);
    if (found == by_name.end() || found->second.shape() != tensor.shape())
      throw ConfigError("the network cannot be rewound to those weights",
                        found == by_name.end() ? fmt::format("they have no {}", name)
                                               : str(name, " is ", tensor.shape(), " in the network, and ",
                                                     found->second.shape(), " there"),
                        "give what the same recipe had at an earlier step");
    values.push_back({name, found->second});
  }
  return values;
}

// Refuses a network none of whose units of that kind can go.
void check_any(const std::vector<ChannelGroup>& groups, ChannelGroup::Unit unit) {
  std::string why;
  for (const ChannelGroup& group : groups) {
    if (group.unit != unit) continue;
    if (group.fixed.empty()) return;
    if (why.empty()) why = group.fixed;
  }
  const bool is_head = unit == ChannelGroup::Unit::head;
  throw UsageError(fmt::format("no {} of this network can go", is_head ? "head" : "channel"),
                   !why.empty() ? why
                   : is_head    ? "it has no TransformerEncoderLayer and no TransformerDecoderLayer"
                                : "no layer makes channels that can be followed",
                   is_head ? "cut channels, or prune weights" : "prune its weights instead");
}

// The network without the channels and heads that go; its state becomes `values` cut alike.
void cut_network(Pruned& all, const compress::CutOptions& options, NamedTensors& values) {
  Trained& network = all.network;
  if (network.recipe.is_known_network())
    throw UsageError(fmt::format("channels cannot be cut out of {}", network.recipe.architecture.texts.at(0)),
                     "an architecture says how many each layer has, and a recipe cannot say otherwise",
                     "prune its weights, or write the network as layers");
  const std::vector<ChannelGroup> groups =
      compress::channel_groups(network.model, example_for(network.facts.model));
  const NamedTensors state = network.model.state_dict();
  const compress::Kept kept = compress::choose(groups, state, options);
  for (const ChannelGroup::Unit unit : {ChannelGroup::Unit::channel, ChannelGroup::Unit::head})
    if ((unit == ChannelGroup::Unit::head ? options.heads : options.share) > 0) check_any(groups, unit);
  for (std::size_t g = 0; g < groups.size(); ++g)
    if ((groups[g].unit == ChannelGroup::Unit::head ? options.heads : options.share) > 0)
      all.rows.push_back(row_of(groups[g], kept[g], state));
  network.recipe = unrolled(network.recipe, network.model, network.facts.model.outputs,
                            changes_of(groups, kept, head_dims_of(groups)));
  values = compress::cut_state(values, groups, kept);
  NamedTensors own = compress::cut_state(state, groups, kept);
  network.model = build_model(network.recipe, network.facts.model);
  network.model.load_state_dict(own);
  network.model.eval();
}

}  // namespace

Pruned pruned(Trained given, const PruneRequest& request) {
  Pruned all{.network = std::move(given), .rows = {}};
  Trained& network = all.network;
  network.to(Device());
  network.scores.clear();
  network.recipe = without_pruning(network.recipe);
  all.parameters_before = network.model.parameter_count();
  NamedTensors values = network.model.state_dict();
  if (request.rewind) values = rewound(values, *request.rewind);
  compress::CutOptions cut = request.cut;
  cut.except = request.except;
  if (cut.share > 0 || cut.heads > 0) cut_network(all, cut, values);
  const NamedTensors weights =
      compress::prunable(network.model, request.weights ? request.except : std::vector<std::string>());
  NamedTensors masks = compress::masks_of_zeros(weights);  // what was 0 before stays 0
  if (request.weights) {
    const NamedTensors scores = compress::magnitudes(weights);
    masks = compress::masks_of(scores, *request.weights);
    for (const compress::PrunedLayer& layer : compress::pruned_layers(masks, scores)) {
      PrunedRow& row =
          all.rows.emplace_back(PrunedRow{layer.name, "weights", layer.size, layer.kept, layer.magnitude});
      if (request.weights->keep > 0 && row.kept == row.size)
        row.fixed = fmt::format("its inputs are no multiple of {}", request.weights->of);
    }
  }
  if (request.rewind) network.model.load_state_dict(values);
  compress::apply_masks(network.model, masks);
  for (const NamedTensor& mask : compress::masks_of_zeros(weights))
    all.zeros += static_cast<std::int64_t>(
        std::llround(compress::pruned_share({mask}) * static_cast<double>(mask.tensor.numel())));
  if (compress::pruned_share(masks) > 0) network.recipe = changed(network.recipe, {"prune.keep_zeros=true"});
  return all;
}

NamedTensors first_weights(const Trained& network) {
  const auto refuse = [](const std::string& why) {
    return UsageError("the network's first weights are not known", why,
                      "give a file of an early step, of checkpoints/ say, in place of initial");
  };
  if (!network.recipe.from.empty()) throw refuse("it began with those of model.from");
  for (const nn::NamedModule& module : network.model.named_modules())
    if (dynamic_cast<const nn::WhiteningConv2d*>(module.module) != nullptr)
      throw refuse(fmt::format("{} was computed from the training pictures", module.name));
  return build_model(network.recipe, network.facts.model).state_dict();
}

}  // namespace veldt::recipe
