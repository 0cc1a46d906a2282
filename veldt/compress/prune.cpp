// Orders weights by their scores and makes masks of the order.
#include "veldt/compress/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/embedding.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::compress {
namespace {

// Tensors of the embeddings, by their names in the network.
std::set<std::string> names_of_embeddings(const nn::Module& network) {
  std::set<std::string> names;
  for (const nn::NamedModule& inner : network.named_modules()) {
    const bool is_one = dynamic_cast<const nn::Embedding*>(inner.module) != nullptr ||
                        dynamic_cast<const nn::PositionEmbedding*>(inner.module) != nullptr;
    if (!is_one) continue;
    for (const NamedTensor& own : inner.module->named_parameters())
      names.insert(inner.name.empty() ? own.name : inner.name + '.' + own.name);
  }
  return names;
}

std::vector<double> on_host(const NamedTensor& scores) {
  std::vector<double> values = to(scores.tensor, DType::f64).values<double>();
  for (const double value : values)
    if (std::isnan(value))
      throw ConfigError(fmt::format("the weights of {} cannot be ordered", scores.name),
                        "at least one score is NaN", "prune a network whose weights are finite");
  return values;
}

// Sets the `count` places of the smallest values to 0, of equal ones the first.
void drop_smallest(const std::vector<double>& values, std::int64_t count, std::vector<std::uint8_t>& keeps) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::nth_element(order.begin(), order.begin() + count, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a < b;
  });
  for (std::int64_t i = 0; i < count; ++i) keeps[order[static_cast<std::size_t>(i)]] = 0;
}

Tensor mask_like(const Tensor& scores, std::span<const std::uint8_t> keeps) {
  return to(to(Tensor::from<std::uint8_t>(scores.shape(), keeps), scores.dtype()), scores.device());
}

// [out, in, rest ..]: of each `of` inputs next to each other, at each place of the rest, `keep` stay.
std::vector<std::uint8_t> kept_by_pattern(const Tensor& scores, const std::vector<double>& values,
                                          const PruneOptions& options) {
  std::vector<std::uint8_t> keeps(values.size(), 1);
  const std::int64_t in = scores.size(1);
  if (in % options.of != 0) return keeps;
  const std::int64_t rest = scores.numel() / std::max<std::int64_t>(scores.size(0) * in, 1);
  std::vector<double> group(static_cast<std::size_t>(options.of));
  std::vector<std::uint8_t> kept(group.size());
  for (std::int64_t outer = 0; outer < scores.size(0) * in; outer += options.of)
    for (std::int64_t r = 0; r < rest; ++r) {
      const auto place = [&](std::size_t i) {
        return static_cast<std::size_t>((outer + static_cast<std::int64_t>(i)) * rest + r);
      };
      for (std::size_t i = 0; i < group.size(); ++i) group[i] = values[place(i)];
      std::fill(kept.begin(), kept.end(), std::uint8_t{1});
      drop_smallest(group, options.of - options.keep, kept);
      for (std::size_t i = 0; i < group.size(); ++i) keeps[place(i)] = kept[i];
    }
  return keeps;
}

void check(const PruneOptions& options) {
  if (!(options.share >= 0 && options.share <= 1))
    throw ConfigError(fmt::format("a share of {} of the weights cannot go", options.share),
                      "it is between 0, none, and 1, all of them", "give, for example, 0.9");
  const bool is_pattern = options.keep != 0 || options.of != 0;
  if (is_pattern && (options.keep < 1 || options.of <= options.keep))
    throw ConfigError(fmt::format("a pattern cannot keep {} of {} weights", options.keep, options.of),
                      "it keeps one at least, and fewer than there are", "give, for example, 2 of 4");
}

}  // namespace

NamedTensors prunable(const nn::Module& network, const std::vector<std::string>& except) {
  const std::set<std::string> embeddings = names_of_embeddings(network);
  const NamedTensors all = network.named_parameters();
  NamedTensors weights;
  for (const NamedTensor& parameter : all) {
    const bool spared = std::any_of(except.begin(), except.end(),
                                    [&](const std::string& name) { return is_below(parameter.name, name); });
    if (parameter.tensor.rank() >= 2 && !spared && !embeddings.contains(parameter.name))
      weights.push_back(parameter);
  }
  for (const std::string& name : except)
    if (std::none_of(all.begin(), all.end(), [&](const NamedTensor& p) { return is_below(p.name, name); })) {
      std::vector<std::string> names;
      for (const NamedTensor& parameter : all) names.push_back(parameter.name);
      throw ConfigError(fmt::format("no parameter's name begins with {}", name),
                        fmt::format("there are {}", fmt::join(names, ", ")),
                        "name one of these, or leave it out");
    }
  return weights;
}

NamedTensors magnitudes(const NamedTensors& weights) {
  const NoGrad off;
  NamedTensors scores;
  for (const auto& [name, tensor] : weights) scores.push_back({name, abs(tensor)});
  return scores;
}

NamedTensors masks_of(const NamedTensors& scores, const PruneOptions& options) {
  check(options);
  const NoGrad off;
  NamedTensors masks;
  if (options.keep > 0 || options.scope == PruneScope::layer) {
    for (const NamedTensor& one : scores) {
      const std::vector<double> values = on_host(one);
      std::vector<std::uint8_t> keeps(values.size(), 1);
      if (options.keep > 0)
        keeps = kept_by_pattern(one.tensor, values, options);
      else
        drop_smallest(values, std::llround(options.share * static_cast<double>(values.size())), keeps);
      masks.push_back({one.name, mask_like(one.tensor, keeps)});
    }
    return masks;
  }
  std::vector<double> values;
  for (const NamedTensor& one : scores) {
    const std::vector<double> own = on_host(one);
    values.insert(values.end(), own.begin(), own.end());
  }
  std::vector<std::uint8_t> keeps(values.size(), 1);
  drop_smallest(values, std::llround(options.share * static_cast<double>(values.size())), keeps);
  std::size_t at = 0;
  for (const auto& [name, tensor] : scores) {
    const auto size = static_cast<std::size_t>(tensor.numel());
    masks.push_back({name, mask_like(tensor, std::span(keeps).subspan(at, size))});
    at += size;
  }
  return masks;
}

void apply_masks(const nn::Module& network, const NamedTensors& masks) {
  std::map<std::string, Tensor> parameters;
  for (const auto& [name, tensor] : network.named_parameters()) parameters.emplace(name, tensor);
  for (const auto& [name, mask] : masks) {
    const auto found = parameters.find(name);
    if (found == parameters.end())
      throw ConfigError(fmt::format("there is no parameter {}", name), "a mask has that name",
                        "give the masks of this network");
    if (found->second.shape() != mask.shape())
      throw ConfigError(str("a mask ", mask.shape(), " does not fit ", name),
                        str("the parameter is ", found->second.shape()), "give the masks of this network");
  }
  const NoGrad off;
  for (const auto& [name, mask] : masks) {
    Tensor& weight = parameters.at(name);
    weight.detach().assign(weight.detach() * mask);
  }
}

NamedTensors masks_of_zeros(const NamedTensors& weights) {
  const NoGrad off;
  NamedTensors masks;
  for (const auto& [name, tensor] : weights)
    masks.push_back({name, to(tensor.detach() != 0, tensor.dtype())});
  return masks;
}

std::vector<PrunedLayer> pruned_layers(const NamedTensors& masks, const NamedTensors& scores) {
  const NoGrad off;
  std::vector<PrunedLayer> rows;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const Tensor score = to(scores.at(i).tensor, DType::f64), mask = to(masks[i].tensor, DType::f64);
    const double all = sum(score).item();
    rows.push_back({.name = masks[i].name,
                    .size = mask.numel(),
                    .kept = static_cast<std::int64_t>(sum(mask).item()),
                    .magnitude = all > 0 ? sum(score * mask).item() / all : 0});
  }
  return rows;
}

double pruned_share(const NamedTensors& masks) {
  const NoGrad off;
  double size = 0, kept = 0;
  for (const NamedTensor& mask : masks) {
    size += static_cast<double>(mask.tensor.numel());
    kept += sum(to(mask.tensor, DType::f64)).item();
  }
  return size > 0 ? 1 - kept / size : 0;
}

}  // namespace veldt::compress
