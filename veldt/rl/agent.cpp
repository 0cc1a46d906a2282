// What all agents share: their worlds, chance, and the state of both.
#include "veldt/rl/agent.h"

#include <cmath>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::rl {

Agent::Agent(VectorEnvironment& world, optim::Optimizer& optimizer, std::uint64_t seed,
             train::Scores measures)
    : world_(world),
      optimizer_(optimizer),
      rng_(seed, 0x616374),  // "act"
      measures_(std::move(measures)) {}

NamedTensors Agent::saved() {
  NamedTensors all = world_.saved();
  all.push_back(
      {"draws", Tensor::from<std::int64_t>({}, std::vector{static_cast<std::int64_t>(rng_.position())})});
  std::vector<double> measures;
  for (const auto& [name, value] : measures_) measures.push_back(value);
  all.push_back({"measures", Tensor::from<double>({std::ssize(measures)}, measures)});
  return all;
}

void Agent::load(const std::map<std::string, Tensor>& saved) {
  const auto draws = saved.at("draws").item<std::int64_t>();
  if (draws < 0)
    throw IoError(IoError::Kind::corrupt, "the saved agent holds numbers that no run has",
                  str("it has drawn ", draws, " numbers"), "start a new run");
  const std::vector<double> measures = saved.at("measures").values<double>();
  for (std::size_t i = 0; i < measures_.size(); ++i)
    if (!std::isfinite(measures[i]))
      throw IoError(IoError::Kind::corrupt, "the saved agent holds numbers that no run has",
                    str("its ", measures_[i].first, " is not finite"), "start a new run");
  world_.load(saved.at("state"));
  rng_.seek(static_cast<std::uint64_t>(draws));
  for (std::size_t i = 0; i < measures_.size(); ++i) measures_[i].second = measures[i];
}

void Agent::check_outputs(const std::vector<float>& outputs) const {
  for (const float x : outputs)
    if (!std::isfinite(x))
      throw DivergedError(str("the policy for ", world_.spec().name, " diverged"),
                          "its output is no longer finite", "use a smaller learning rate");
}

}  // namespace veldt::rl
