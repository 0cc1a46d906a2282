// The classic problems of control, with the numbers of gymnasium 1: the same state and actions give the same
// states, rewards and ends (held to 1e-7 over 10,000 steps by tests/rl/gymnasium_test.cpp). States are f64,
// observations f32. Starts are drawn from Philox, and so differ from gymnasium's.
// Tests: tests/rl/gymnasium_test.cpp
#pragma once

#include "veldt/rl/environment.h"

namespace veldt::rl {

// Balance a pole on a cart by pushing left (0) or right (1); 1 for each step, up to 500. State and
// observation: position, velocity, angle, angular velocity. Barto, Sutton & Anderson 1983.
class CartPole final : public Environment {
 public:
  CartPole();
  void reset(std::vector<double>& state, Rng& rng) const override;
  StepResult step(std::vector<double>& state, const Action& action) const override;
  void observe(const std::vector<double>& state, std::vector<float>& observation) const override;
  void draw(const std::vector<double>& state, Canvas& canvas) const override;
};

// Swing two links up to a line by a torque of -1, 0 or 1 at the joint between them; -1 for each step. State:
// two angles and their velocities; observed are cosine and sine of the angles. Sutton 1996.
class Acrobot final : public Environment {
 public:
  Acrobot();
  bool is_state(const std::vector<double>& state) const override;
  void reset(std::vector<double>& state, Rng& rng) const override;
  StepResult step(std::vector<double>& state, const Action& action) const override;
  void observe(const std::vector<double>& state, std::vector<float>& observation) const override;
  void draw(const std::vector<double>& state, Canvas& canvas) const override;
};

// Drive a weak car out of a valley: left (0), nothing (1), right (2); -1 for each step. State and
// observation: position, velocity. Moore 1990.
class MountainCar final : public Environment {
 public:
  MountainCar();
  void reset(std::vector<double>& state, Rng& rng) const override;
  StepResult step(std::vector<double>& state, const Action& action) const override;
  void observe(const std::vector<double>& state, std::vector<float>& observation) const override;
  void draw(const std::vector<double>& state, Canvas& canvas) const override;
};

// Swing a pendulum up and hold it, by a torque of -2 to 2; what is paid is the distance from that. State:
// angle and angular velocity, and the last torque, for the picture; observed are cosine, sine, velocity.
class Pendulum final : public Environment {
 public:
  Pendulum();
  void reset(std::vector<double>& state, Rng& rng) const override;
  StepResult step(std::vector<double>& state, const Action& action) const override;
  void observe(const std::vector<double>& state, std::vector<float>& observation) const override;
  void draw(const std::vector<double>& state, Canvas& canvas) const override;
};

}  // namespace veldt::rl
