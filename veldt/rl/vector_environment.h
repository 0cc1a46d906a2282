// Copies of an environment side by side: seeded, with time limits and automatic restarts.
// Tests: tests/rl/environment_test.cpp, tests/rl/gymnasium_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veldt/rl/environment.h"
#include "veldt/tensor/named.h"

namespace veldt::rl {

// An episode that has ended.
struct Episode {
  std::int64_t copy = 0, length = 0;
  double total = 0;  // the sum of its rewards, its return
};

// Copy i draws its starts from the stream (seed, i), so that more copies leave the first ones as they are.
// Where an episode ends, the copy begins the next within the same step (gymnasium's AutoresetMode.SAME_STEP).
//
// Every number that the environment gives is checked: an observation or a state of another length, and a
// number or reward that is not finite or beyond 1e15 (the square of a sum of such numbers may not fit into
// 32 bits), are Errors with the environment's name, the number and the step.
class VectorEnvironment {
 public:
  // Begins an episode in each copy. Throws ConfigError for less than one copy, and Error as above.
  VectorEnvironment(EnvironmentPtr environment, std::int64_t copies, std::uint64_t seed);

  const Environment& environment() const { return *environment_; }
  const EnvironmentPtr& shared() const { return environment_; }
  const EnvironmentSpec& spec() const { return environment_->spec(); }
  std::int64_t copies() const { return copies_; }

  // One step in all copies: of a choice for each [copies], or of numbers [copies, action_size()]. Throws
  // ShapeError for another number of them, Error for a choice that does not exist, and as above.
  void step(std::span<const std::int64_t> choices);
  void step(std::span<const float> actions);

  // [copies, observation_size()]: what there is to see now, of a new episode where one has ended.
  std::span<const float> observations() const { return observations_; }
  // Of the last step, [copies]. Both flags may be set at once, as in gymnasium.
  std::span<const float> rewards() const { return rewards_; }
  std::span<const std::uint8_t> terminated() const { return terminated_; }
  std::span<const std::uint8_t> truncated() const { return truncated_; }  // by the time limit
  bool ended(std::int64_t copy) const;
  // [copies, observation_size()]: what the last step led to, also where it ended an episode.
  std::span<const float> final_observations() const { return final_observations_; }
  // Those that the last step ended.
  const std::vector<Episode>& episodes() const { return episodes_; }

  const std::vector<double>& state(std::int64_t copy) const;
  // In which the copy's last episode ended.
  const std::vector<double>& last_state(std::int64_t copy) const;
  // The sum of rewards of the copy's episode so far.
  double total(std::int64_t copy) const;
  // Goes on from this state, as the beginning of an episode. Throws ShapeError for another length.
  void set_state(std::int64_t copy, const std::vector<double>& state);

  // All that a resumed run needs: "state" f64 [copies, its length + 3].
  NamedTensors saved() const;
  // Throws ShapeError for another form, IoError corrupt for numbers that no run has.
  void load(const Tensor& state);

 private:
  struct Copy {
    std::vector<double> state, last;
    Rng rng;
    std::int64_t steps = 0;
    double total = 0;
  };

  void step_copy(std::int64_t i, const Action& action);
  void begin(Copy& copy);
  void look(std::int64_t i, std::vector<float>& into);

  EnvironmentPtr environment_;
  std::int64_t copies_;
  std::vector<Copy> all_;
  std::size_t state_size_ = 0;
  std::vector<float> observations_, final_observations_, rewards_, seen_;
  std::vector<std::uint8_t> terminated_, truncated_;
  std::vector<Episode> episodes_;
};

}  // namespace veldt::rl
