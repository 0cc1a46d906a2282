// The networks of agents: observations in, and what decides about the action out.
// Tests: tests/rl/policy_test.cpp, tests/rl/judge_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "veldt/core/rng.h"
#include "veldt/nn/mlp.h"
#include "veldt/nn/module.h"
#include "veldt/rl/environment.h"

namespace veldt::rl {

struct PolicyOptions {
  std::int64_t width = 64, depth = 2;  // of the hidden layers
  MlpActivation activation = MlpActivation::tanh;
  // Observations are centred and scaled by their running mean and variance, and clipped to 10 deviations.
  bool normalize = false;
};

// Running mean and variance of each number of a row, joined batch by batch (Chan, Golub & LeVeque 1979).
// Buffers of f64: "mean" 0 and "variance" 1 [size] until there are any, "count" [].
class Moments : public nn::Module {
 public:
  explicit Moments(std::int64_t size);
  // (x - mean) / sqrt(variance + 1e-8) within -10 .. 10; f32 [n, size].
  Tensor forward(const Tensor& x) const override;
  void add(std::span<const float> rows);  // [n, size]
  void fields(nn::Fields& f) override { f("mean", mean_)("variance", variance_)("count", count_); }
  std::string title() const override { return "Moments"; }

 private:
  Tensor mean_, variance_, count_;
};

// f32 [n, observation_size] -> [n, action_size]: a number for each choice, the best of which is the largest,
// or the action itself, not clipped yet.
class Policy : public nn::Module {
 public:
  // Throws ConfigError for a width or depth below 1.
  Policy(const EnvironmentSpec& spec, const PolicyOptions& options);
  Moments* moments() { return moments_ ? &*moments_ : nullptr; }
  // Throws ConfigError, naming both, for an environment of other observations or actions than its own.
  void check_fits(const EnvironmentSpec& spec) const;

 protected:
  Tensor normalized(const Tensor& x) const { return moments_ ? (*moments_)(x) : x; }
  std::optional<Moments> moments_;

 private:
  std::int64_t observation_size_, action_size_;
  bool is_discrete_;
};

// Two networks that share nothing: "actor" gives logits, or the means of normal distributions whose deviation
// is exp("log_deviation") [action_size], and "critic" the value of a state. Their weights start orthogonal,
// by gains of sqrt(2) within, 0.01 and 1 at the end, their biases at 0 (Andrychowicz et al. 2021, "What
// matters in on-policy reinforcement learning?").
class ActorCritic : public Policy {
 public:
  ActorCritic(const EnvironmentSpec& spec, const PolicyOptions& options, Rng& rng);
  Tensor forward(const Tensor& x) const override { return actor_(normalized(x)); }
  // Both of the same observations: {[n, action_size], [n]}.
  TensorList act_and_judge(const Tensor& x) const;
  const Tensor& log_deviation() const { return log_deviation_; }  // undefined for choices
  void fields(nn::Fields& f) override;
  std::string title() const override { return "ActorCritic"; }

 private:
  nn::MLP actor_, critic_;
  Tensor log_deviation_;
};

// The return to expect of each choice, Q. `dueling`: as value + advantage - mean advantage, whose outputs
// share the hidden layers (Wang et al. 2016).
class QNetwork : public Policy {
 public:
  // Throws ConfigError for a continuous action.
  QNetwork(const EnvironmentSpec& spec, const PolicyOptions& options, bool dueling, Rng& rng);
  Tensor forward(const Tensor& x) const override;
  void fields(nn::Fields& f) override { f("moments", moments_)("values", layers_); }
  std::string title() const override { return dueling_ ? "QNetwork(dueling)" : "QNetwork"; }

 private:
  nn::MLP layers_;
  bool dueling_;
};

}  // namespace veldt::rl
