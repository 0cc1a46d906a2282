// Optimizers whose parameters are in groups with their own options.
//   optim::AdamW adam({{weights, {.lr = 1e-3, .weight_decay = 0.1}}, {biases, {.lr = 1e-3}}});
// Tests: tests/optim/group_test.cpp
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "veldt/optim/optimizer.h"

namespace veldt::optim {

// The parameters that are below none of the prefixes, then those of each, by the longest that fits. Throws
// ConfigError for a prefix that no name is below, or that is there twice.
std::vector<NamedTensors> split_by_prefix(const NamedTensors& parameters,
                                          const std::vector<std::string>& prefixes);

template <class Options> struct Group {
  NamedTensors parameters;
  Options options = {};
};

// `Options` has the members lr and clip, check(DType), which throws ConfigError, and kinds(), the names of
// the state slabs that they need.
template <class Options> class GroupedOptimizer : public Optimizer {
 public:
  // Throws ConfigError for a bad option before anything is moved, and as Slab does.
  explicit GroupedOptimizer(const std::vector<Tensor>& parameters, Options options = {})
      : GroupedOptimizer(numbered(parameters), options) {}
  explicit GroupedOptimizer(const NamedTensors& parameters, Options options = {})
      : GroupedOptimizer(std::vector<Group<Options>>{{parameters, options}}) {}
  explicit GroupedOptimizer(const std::vector<Group<Options>>& groups)
      : Optimizer(setups_of(groups), kinds_of(groups)) {
    for (const Group<Options>& group : groups) options_.push_back(group.options);
  }

 protected:
  const Options& options(std::size_t group) const { return options_[group]; }

 private:
  static std::vector<GroupSetup> setups_of(const std::vector<Group<Options>>& groups) {
    std::vector<GroupSetup> setups;
    for (const Group<Options>& group : groups) {
      const bool known = !group.parameters.empty() && group.parameters.front().tensor.defined();
      group.options.check(known ? group.parameters.front().tensor.dtype() : DType::f32);
      setups.push_back({group.parameters, group.options.lr, group.options.clip});
    }
    return setups;
  }
  // The states that any of the groups needs.
  static std::vector<std::string> kinds_of(const std::vector<Group<Options>>& groups) {
    std::vector<std::string> kinds;
    for (const Group<Options>& group : groups)
      for (const std::string& kind : group.options.kinds())
        if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    return kinds;
  }

  std::vector<Options> options_;
};

// Parameters with options by name: each is in the group of the longest prefix that its name is_below(), or
// has the options `rest`. Groups without a parameter are left out; the rest comes first, so that lr() is its
// rate. Throws ConfigError for a prefix that no name is below.
//   optim::AdamW adam(optim::groups_by_name<optim::AdamWOptions>(
//       net.trained_parameters(), {.lr = 1e-5}, {{"fc", {.lr = 1e-3}}}));
template <class Options>
std::vector<Group<Options>> groups_by_name(const NamedTensors& parameters, const Options& rest,
                                           const std::vector<std::pair<std::string, Options>>& named) {
  std::vector<std::string> prefixes;
  for (const auto& [prefix, options] : named) prefixes.push_back(prefix);
  std::vector<Group<Options>> groups;
  const std::vector<NamedTensors> parts = split_by_prefix(parameters, prefixes);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].empty()) groups.push_back({parts[i], i == 0 ? rest : named[i - 1].second});
  return groups;
}

}  // namespace veldt::optim
