// Environments: what an agent acts in, with gymnasium's interface, flags and time limits (Towers et al. 2024,
// "Gymnasium: a standard interface for reinforcement learning environments").
//
// An environment is rules alone. What changes while it runs is a list of numbers, its state, which others
// keep: so one object serves any number of copies side by side (rl/vector_environment.h), a checkpoint is a
// tensor, and a state can be set. See docs/rl.md for one of your own in thirty lines.
// Tests: tests/rl/environment_test.cpp, tests/rl/gymnasium_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veldt/core/rng.h"

namespace veldt::rl {

class Canvas;

// What is true of an environment at all times. An observation is as long as `low` and `high`, its bounds
// (infinite where it has none). An action is one of 0 .. choices - 1 or, where there are none, a list of
// numbers as long as `action_low` and `action_high`.
struct EnvironmentSpec {
  std::string name = {};
  std::vector<double> low = {}, high = {};
  std::int64_t choices = 0;
  std::vector<double> action_low = {}, action_high = {};
  std::int64_t time_limit = 0;  // steps after which an episode is cut off; 0: none
  double frames_a_second = 30;  // of a picture that moves as fast as the world does

  std::int64_t observation_size() const { return static_cast<std::int64_t>(low.size()); }
  bool is_discrete() const { return choices > 0; }
  // The numbers that choose an action: one for each choice, or the action's own.
  std::int64_t action_size() const {
    return is_discrete() ? choices : static_cast<std::int64_t>(action_low.size());
  }
};

// One of the two: the number of a choice, or the numbers of a continuous action, which may lie outside of
// their bounds: an environment clips them.
struct Action {
  std::int64_t choice = 0;
  std::span<const float> values = {};
};

// What a step gave. `terminated`: the episode has ended by the environment's rules, and nothing is to come.
// The time limit is no such end: it is VectorEnvironment's to keep, and tells so apart.
struct StepResult {
  double reward = 0;
  bool terminated = false;
};

class Environment {
 public:
  // Throws ConfigError, naming the environment, for no name, no observation, bounds of different lengths or
  // in the wrong order, neither choices nor a continuous action, and both.
  explicit Environment(EnvironmentSpec spec);
  virtual ~Environment() = default;

  const EnvironmentSpec& spec() const { return spec_; }

  // A new episode: fills `state`, which may have any length, but always the same.
  virtual void reset(std::vector<double>& state, Rng& rng) const = 0;
  // Changes the state by one step.
  virtual StepResult step(std::vector<double>& state, const Action& action) const = 0;
  // Whether `state`, finite and of the right length, is one that an episode can be in: a file may hold any.
  virtual bool is_state(const std::vector<double>& /*state*/) const { return true; }
  // What the agent sees of a state: fills `observation`, as long as the spec says.
  virtual void observe(const std::vector<double>& state, std::vector<float>& observation) const = 0;
  // A picture of the state for `veldt play`, on a white canvas. Without one there is a bar for each number of
  // the observation.
  virtual void draw(const std::vector<double>& state, Canvas& canvas) const;

 private:
  EnvironmentSpec spec_;
};

using EnvironmentPtr = std::shared_ptr<const Environment>;

// Uniform in [low, high), of 53 bits.
double uniform(Rng& rng, double low, double high);

}  // namespace veldt::rl
