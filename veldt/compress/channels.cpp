// Scores units, chooses those that stay, and cuts tensors.
#include "veldt/compress/channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::compress {
namespace {

using Role = ChannelPart::Role;

const Tensor& named(const NamedTensors& state, const std::string& name) {
  for (const NamedTensor& one : state)
    if (one.name == name) return one.tensor;
  throw ConfigError(fmt::format("the state has no tensor {}", name), "a group of channels has a part of it",
                    "give the state of the network that the groups are of");
}

// Of each unit, the sum of the squares of its part of the tensor.
std::vector<double> squares(const ChannelGroup& group, const ChannelPart& part, const Tensor& tensor) {
  const NoGrad off;
  Tensor own =
      square(to(narrow(tensor.detach(), part.dim, part.offset, group.size * part.repeat), DType::f64));
  own = transpose(own, 0, part.dim);
  return sum(reshape(own, {group.size, -1}), {1}).values<double>();
}

// The `count` places of the smallest scores, of equal ones the first.
std::vector<bool> smallest(const std::vector<double>& scores, std::int64_t count) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  std::vector<bool> goes(scores.size(), false);
  for (std::int64_t i = 0; i < count; ++i) goes[order[static_cast<std::size_t>(i)]] = true;
  return goes;
}

void check(const CutOptions& o, const NamedTensors& state) {
  for (const double share : {o.share, o.heads})
    if (!(share >= 0 && share <= 1))
      throw ConfigError(fmt::format("a share of {} cannot be cut", share),
                        "it is between 0, none, and 1, all but one of each layer", "give, for example, 0.5");
  for (const std::string& name : o.except)
    if (std::none_of(state.begin(), state.end(),
                     [&](const NamedTensor& t) { return is_below(t.name, name); }))
      throw ConfigError(fmt::format("no tensor's name begins with {}", name), "it is to be spared",
                        "give the beginning of one that the network has");
}

bool is_spared(const ChannelGroup& group, const std::vector<std::string>& except) {
  for (const ChannelPart& part : group.parts)
    for (const std::string& name : except)
      if ((part.role == Role::made || part.role == Role::scaled) && is_below(part.tensor, name)) return true;
  return false;
}

// The indices of each dimension of each tensor that go.
using Gone = std::map<std::pair<std::string, int>, std::vector<bool>>;

Gone gone_of(const NamedTensors& state, const std::vector<ChannelGroup>& groups, const Kept& kept) {
  if (kept.size() != groups.size())
    throw ConfigError(fmt::format("{} groups cannot be cut by {} lists", groups.size(), kept.size()),
                      "each group has one, of the units that stay", "give what choose() gave");
  Gone gone;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<std::int64_t>& stay = kept[g];
    std::vector<bool> stays(static_cast<std::size_t>(groups[g].size), false);
    for (std::size_t i = 0; i < stay.size(); ++i) {
      if (stay[i] < 0 || stay[i] >= groups[g].size || (i > 0 && stay[i] <= stay[i - 1]))
        throw ConfigError(fmt::format("unit {} cannot stay in a group of {}", stay[i], groups[g].size),
                          "units that stay are in rising order, and each is there",
                          "give what choose() gave");
      stays[static_cast<std::size_t>(stay[i])] = true;
    }
    if (stay.size() == stays.size()) continue;
    if (stay.empty() || !groups[g].fixed.empty())
      throw ConfigError("a group of channels cannot be cut like this",
                        stay.empty() ? "none of it would stay" : groups[g].fixed, "give what choose() gave");
    for (const ChannelPart& part : groups[g].parts) {
      std::vector<bool>& list = gone[{part.tensor, part.dim}];
      list.resize(static_cast<std::size_t>(named(state, part.tensor).size(part.dim)), false);
      for (std::int64_t i = 0; i < groups[g].size * part.repeat; ++i)
        if (!stays[static_cast<std::size_t>(i / part.repeat)])
          list.at(static_cast<std::size_t>(part.offset + i)) = true;
    }
  }
  return gone;
}

Tensor without(const Tensor& tensor, int dim, const std::vector<bool>& gone) {
  std::vector<std::int64_t> stay;
  for (std::size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) stay.push_back(static_cast<std::int64_t>(i));
  const Tensor index = Tensor::from<std::int64_t>({static_cast<std::int64_t>(stay.size())}, stay);
  return index_select(tensor, dim, to(index, tensor.device()));
}

// Gives tensors of other shapes the values of a state.
class Resize final : public nn::Fields {
 public:
  explicit Resize(const NamedTensors& state) {
    for (const auto& [name, tensor] : state) state_.emplace(name, tensor);
  }

 private:
  void on_tensor(const std::string& path, Tensor& tensor) override {
    const Tensor& now = state_.at(path);
    if (now.shape() != tensor.shape()) replace_values(tensor, now);
  }

  std::map<std::string, Tensor> state_;
};

}  // namespace

std::vector<double> unit_scores(const ChannelGroup& group, const NamedTensors& state) {
  const auto size = static_cast<std::size_t>(group.size);
  std::map<Role, std::vector<double>> sums;
  for (const ChannelPart& part : group.parts) {
    if (part.role == Role::other) continue;
    std::vector<double>& all = sums.try_emplace(part.role, size, 0.0).first->second;
    const std::vector<double> own = squares(group, part, named(state, part.tensor));
    for (std::size_t i = 0; i < size; ++i) all[i] += own[i];
  }
  // What a norm scales has lost the scale of the weights that make it.
  if (sums.contains(Role::scaled)) sums.erase(Role::made);
  std::vector<double> scores(size, 1);
  for (const auto& [role, all] : sums)
    for (std::size_t i = 0; i < size; ++i) scores[i] *= std::sqrt(all[i]);
  return scores;
}

Kept choose(const std::vector<ChannelGroup>& groups, const NamedTensors& state, const CutOptions& options) {
  check(options, state);
  Kept kept(groups.size());
  std::vector<std::vector<double>> scores(groups.size());
  std::vector<double> all;  // of the network together
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const ChannelGroup& group = groups[g];
    kept[g].resize(static_cast<std::size_t>(group.size));
    std::iota(kept[g].begin(), kept[g].end(), std::int64_t{0});
    const double share = group.unit == ChannelGroup::Unit::head ? options.heads : options.share;
    if (share == 0 || !group.fixed.empty() || is_spared(group, options.except)) continue;
    scores[g] = unit_scores(group, state);
    const double mean =
        std::accumulate(scores[g].begin(), scores[g].end(), 0.0) / static_cast<double>(group.size);
    for (double& score : scores[g]) {
      if (mean > 0 || std::isnan(mean)) score /= mean;
      if (std::isnan(score))
        throw ConfigError(fmt::format("the channels of {} cannot be ordered", group.layers.at(0).layer),
                          "at least one of their weights is NaN", "cut a network whose weights are finite");
    }
    if (group.unit == ChannelGroup::Unit::channel) all.insert(all.end(), scores[g].begin(), scores[g].end());
  }
  double bound = 0;  // below it, channels go
  if (options.scope == PruneScope::network && !all.empty()) {
    std::sort(all.begin(), all.end());
    const auto count =
        static_cast<std::size_t>(std::llround(options.share * static_cast<double>(all.size())));
    bound = count < all.size() ? all[count] : INFINITY;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (scores[g].empty()) continue;
    const bool is_head = groups[g].unit == ChannelGroup::Unit::head;
    std::int64_t count =
        std::llround((is_head ? options.heads : options.share) * static_cast<double>(groups[g].size));
    if (options.scope == PruneScope::network && !is_head)
      count = std::count_if(scores[g].begin(), scores[g].end(), [&](double score) { return score < bound; });
    const std::vector<bool> goes = smallest(scores[g], std::min(count, groups[g].size - 1));
    std::erase_if(kept[g], [&](std::int64_t i) { return goes[static_cast<std::size_t>(i)]; });
  }
  return kept;
}

NamedTensors cut_state(const NamedTensors& state, const std::vector<ChannelGroup>& groups, const Kept& kept) {
  const NoGrad off;
  const Gone gone = gone_of(state, groups, kept);
  NamedTensors smaller;
  for (const auto& [name, tensor] : state) {
    Tensor left = tensor.detach();
    for (int dim = 0; dim < tensor.rank(); ++dim)
      if (const auto found = gone.find({name, dim}); found != gone.end())
        left = without(left, dim, found->second);
    smaller.push_back({name, left});
  }
  return smaller;
}

void cut(nn::Module& network, const std::vector<ChannelGroup>& groups, const Kept& kept) {
  Resize resize(cut_state(network.state_dict(), groups, kept));
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const auto& [layer, argument] : groups[g].layers)
      if (static_cast<std::int64_t>(kept[g].size()) < groups[g].size && argument == "channels")
        throw ConfigError(fmt::format("{} cannot be cut in its place", layer),
                          fmt::format("its number of {} is no tensor's size", argument),
                          "build the smaller network, and load what cut_state() gives");
  network.fields(resize);
}

}  // namespace veldt::compress
