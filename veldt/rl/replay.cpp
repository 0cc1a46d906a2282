// A ring of transitions, and the tree that draws from it by priority.
#include "veldt/rl/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"

namespace veldt::rl {
namespace {

IoError bad_replay(const std::string& why) {
  return {IoError::Kind::corrupt, "the saved replay buffer holds numbers that no run has", why,
          "start a new run"};
}

}  // namespace

SumTree::SumTree(std::int64_t size)
    : leaves_(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)))),
      nodes_(2 * static_cast<std::size_t>(leaves_), 0) {}

void SumTree::set(std::int64_t at, double weight) {
  auto node = static_cast<std::size_t>(leaves_ + at);
  nodes_[node] = weight;
  while (node > 1) {
    node /= 2;
    nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
  }
}

std::int64_t SumTree::find(double sum) const {
  std::size_t node = 1;
  while (node < static_cast<std::size_t>(leaves_)) {
    node *= 2;
    // By rounding `sum` may be as large as all there is: never into an empty part.
    if (sum >= nodes_[node] && nodes_[node + 1] > 0) sum -= nodes_[node++];
  }
  return static_cast<std::int64_t>(node) - leaves_;
}

Replay::Replay(std::int64_t observation_size, ReplayOptions options)
    : width_(observation_size), options_(options) {
  if (options.capacity < 1 || options.capacity > (std::int64_t{1} << 26))
    throw ConfigError(str("a replay buffer cannot hold ", options.capacity, " transitions"),
                      "it holds 1 to 2^26", "give another capacity");
  if (!(options.alpha >= 0 && options.alpha <= 1))
    throw ConfigError(str("a replay buffer cannot have alpha = ", options.alpha), "it is from 0 to 1",
                      "give another number");
  observations_ = zeros({options.capacity, width_});
  nexts_ = zeros({options.capacity, width_});
  choices_ = zeros({options.capacity}, DType::i64);
  rewards_ = zeros({options.capacity});
  ends_ = zeros({options.capacity}, DType::u8);
  if (options.prioritized) tree_.emplace(options.capacity);
}

void Replay::add(std::span<const float> observation, std::int64_t choice, float reward,
                 std::span<const float> next, bool terminated) {
  std::copy(observation.begin(), observation.end(), observations_.data<float>() + place_ * width_);
  std::copy(next.begin(), next.end(), nexts_.data<float>() + place_ * width_);
  choices_.data<std::int64_t>()[place_] = choice;
  rewards_.data<float>()[place_] = reward;
  ends_.data<std::uint8_t>()[place_] = terminated;
  if (tree_) tree_->set(place_, most_);
  place_ = (place_ + 1) % options_.capacity;
  size_ = std::min(size_ + 1, options_.capacity);
}

// Prioritised: one of each of as many equal parts of the sum as there are rows.
void Replay::draw(Rng& rng, double beta, std::span<std::int64_t> rows, std::span<float> weights) const {
  if (!tree_) {
    for (std::int64_t& row : rows)
      row = static_cast<std::int64_t>(rng.next_below(static_cast<std::uint64_t>(size_)));
    std::fill(weights.begin(), weights.end(), 1.0f);
    return;
  }
  const double part = tree_->total() / static_cast<double>(rows.size());
  float largest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = tree_->find(part * (static_cast<double>(i) + rng.next_uniform()));
    const double chance = tree_->weight(rows[i]) / tree_->total();
    weights[i] = static_cast<float>(std::pow(static_cast<double>(size_) * chance, -beta));
    largest = std::max(largest, weights[i]);
  }
  for (float& weight : weights) weight /= largest;
}

void Replay::learned(std::span<const std::int64_t> rows, std::span<const float> errors) {
  if (!tree_) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double weight = std::pow(std::abs(static_cast<double>(errors[i])) + 1e-6, options_.alpha);
    most_ = std::max(most_, weight);
    tree_->set(rows[i], weight);
  }
}

NamedTensors Replay::saved() const {
  NamedTensors all{{"replay.observations", observations_},
                   {"replay.nexts", nexts_},
                   {"replay.choices", choices_},
                   {"replay.rewards", rewards_},
                   {"replay.ends", ends_},
                   {"replay.place", Tensor::from<std::int64_t>({2}, std::vector{size_, place_})}};
  if (tree_) {
    std::vector<double> weights;
    for (std::int64_t i = 0; i < options_.capacity; ++i) weights.push_back(tree_->weight(i));
    weights.push_back(most_);
    all.push_back({"replay.weights", Tensor::from<double>({options_.capacity + 1}, weights)});
  }
  return all;
}

void Replay::load(const std::map<std::string, Tensor>& saved) {
  const std::vector<std::int64_t> at = saved.at("replay.place").values<std::int64_t>();
  if (at[0] < 0 || at[0] > options_.capacity || at[1] < 0 || at[1] >= options_.capacity ||
      (at[0] < options_.capacity && at[0] != at[1]))
    throw bad_replay(str("it has ", at[0], " transitions, and the next comes to place ", at[1]));
  for (const char* name : {"replay.observations", "replay.nexts", "replay.rewards"})
    for (const float x : saved.at(name).values<float>())
      if (!std::isfinite(x)) throw bad_replay(str(name, " is not finite"));
  if (tree_) {
    const std::vector<double> weights = saved.at("replay.weights").values<double>();
    if (!std::all_of(weights.begin(), weights.end(), [](double x) { return x >= 0 && x < 1e30; }))
      throw bad_replay("a priority is negative or not finite");
    for (std::int64_t i = 0; i < options_.capacity; ++i) tree_->set(i, weights[static_cast<std::size_t>(i)]);
    most_ = weights.back();
  }
  observations_.assign(saved.at("replay.observations"));
  nexts_.assign(saved.at("replay.nexts"));
  choices_.assign(saved.at("replay.choices"));
  rewards_.assign(saved.at("replay.rewards"));
  ends_.assign(saved.at("replay.ends"));
  size_ = at[0], place_ = at[1];
}

}  // namespace veldt::rl
