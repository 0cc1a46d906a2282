// The dynamics of CartPole, Acrobot, MountainCar and Pendulum, in the order of gymnasium's operations.
#include "veldt/rl/classic_control.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace veldt::rl {
namespace {

constexpr double kPi = 3.14159265358979323846, kNone = std::numeric_limits<double>::infinity();

// CartPole
constexpr double kPoleMass = 0.1, kTotalMass = 1.1, kHalfPole = 0.5, kPush = 10, kTick = 0.02;
constexpr double kMostAngle = 12 * 2 * kPi / 360, kMostPosition = 2.4;

// Acrobot: equations and constants of Sutton & Barto's book.
constexpr double kMostSpeed1 = 4 * kPi, kMostSpeed2 = 9 * kPi, kGravity = 9.8;
using Acrobotic = std::array<double, 4>;

Acrobotic slope_of(const Acrobotic& s, double torque) {
  const double d1 = 0.25 + (1 + 0.25 + 2 * 0.5 * std::cos(s[1])) + 1 + 1;
  const double d2 = (0.25 + 0.5 * std::cos(s[1])) + 1;
  const double phi2 = 0.5 * kGravity * std::cos(s[0] + s[1] - kPi / 2);
  const double phi1 = -0.5 * (s[3] * s[3]) * std::sin(s[1]) - 2 * 0.5 * s[3] * s[2] * std::sin(s[1]) +
                      1.5 * kGravity * std::cos(s[0] - kPi / 2) + phi2;
  const double second =
      (torque + d2 / d1 * phi1 - 0.5 * (s[2] * s[2]) * std::sin(s[1]) - phi2) / (0.25 + 1 - d2 * d2 / d1);
  return {s[2], s[3], -(d2 * second + phi1) / d1, second};
}

Acrobotic moved(const Acrobotic& s, double time, const Acrobotic& slope) {
  Acrobotic to{};
  for (std::size_t i = 0; i < 4; ++i) to[i] = s[i] + time * slope[i];
  return to;
}

double wrapped(double angle) {
  while (angle > kPi) angle -= 2 * kPi;
  while (angle < -kPi) angle += 2 * kPi;
  return angle;
}

// The remainder with the divisor's sign, as Python has it.
double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace

CartPole::CartPole()
    : Environment({.name = "CartPole-v1",
                   .low = {-2 * kMostPosition, -kNone, -2 * kMostAngle, -kNone},
                   .high = {2 * kMostPosition, kNone, 2 * kMostAngle, kNone},
                   .choices = 2,
                   .time_limit = 500,
                   .frames_a_second = 50}) {}

void CartPole::reset(std::vector<double>& state, Rng& rng) const {
  state.resize(4);
  for (double& x : state) x = uniform(rng, -0.05, 0.05);
}

StepResult CartPole::step(std::vector<double>& state, const Action& action) const {
  const auto [x, speed, angle, turning] = std::tuple(state[0], state[1], state[2], state[3]);
  const double force = action.choice == 1 ? kPush : -kPush;
  const double cosine = std::cos(angle), sine = std::sin(angle), pole = kPoleMass * kHalfPole;
  const double part = (force + pole * (turning * turning) * sine) / kTotalMass;
  const double turn =
      (9.8 * sine - cosine * part) / (kHalfPole * (4.0 / 3.0 - kPoleMass * (cosine * cosine) / kTotalMass));
  const double push = part - pole * turn * cosine / kTotalMass;
  state = {x + kTick * speed, speed + kTick * push, angle + kTick * turning, turning + kTick * turn};
  const bool over = state[0] < -kMostPosition || state[0] > kMostPosition || state[2] < -kMostAngle ||
                    state[2] > kMostAngle;
  return {1, over};
}

void CartPole::observe(const std::vector<double>& state, std::vector<float>& observation) const {
  observation.assign(state.begin(), state.end());
}

Acrobot::Acrobot()
    : Environment({.name = "Acrobot-v1",
                   .low = {-1, -1, -1, -1, -kMostSpeed1, -kMostSpeed2},
                   .high = {1, 1, 1, 1, kMostSpeed1, kMostSpeed2},
                   .choices = 3,
                   .time_limit = 500,
                   .frames_a_second = 15}) {}

// gymnasium starts from numbers of 32 bits.
void Acrobot::reset(std::vector<double>& state, Rng& rng) const {
  state.resize(4);
  for (double& x : state) x = static_cast<float>(uniform(rng, -0.1, 0.1));
}

// One step of Runge-Kutta, of fourth order.
StepResult Acrobot::step(std::vector<double>& state, const Action& action) const {
  constexpr double kTime = 0.2;
  const double torque = static_cast<double>(action.choice - 1);
  const Acrobotic s{state[0], state[1], state[2], state[3]};
  const Acrobotic k1 = slope_of(s, torque), k2 = slope_of(moved(s, kTime / 2, k1), torque);
  const Acrobotic k3 = slope_of(moved(s, kTime / 2, k2), torque), k4 = slope_of(moved(s, kTime, k3), torque);
  for (std::size_t i = 0; i < 4; ++i) state[i] = s[i] + kTime / 6.0 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  state[0] = wrapped(state[0]), state[1] = wrapped(state[1]);
  state[2] = std::clamp(state[2], -kMostSpeed1, kMostSpeed1);
  state[3] = std::clamp(state[3], -kMostSpeed2, kMostSpeed2);
  const bool up = -std::cos(state[0]) - std::cos(state[1] + state[0]) > 1.0;
  return {up ? 0.0 : -1.0, up};
}

// Angles are wrapped, and speeds cut, at each step.
bool Acrobot::is_state(const std::vector<double>& state) const {
  return std::abs(state[0]) <= kPi && std::abs(state[1]) <= kPi && std::abs(state[2]) <= kMostSpeed1 &&
         std::abs(state[3]) <= kMostSpeed2;
}

void Acrobot::observe(const std::vector<double>& s, std::vector<float>& observation) const {
  observation = {static_cast<float>(std::cos(s[0])), static_cast<float>(std::sin(s[0])),
                 static_cast<float>(std::cos(s[1])), static_cast<float>(std::sin(s[1])),
                 static_cast<float>(s[2]),           static_cast<float>(s[3])};
}

MountainCar::MountainCar()
    : Environment({.name = "MountainCar-v0",
                   .low = {-1.2, -0.07},
                   .high = {0.6, 0.07},
                   .choices = 3,
                   .time_limit = 200}) {}

void MountainCar::reset(std::vector<double>& state, Rng& rng) const { state = {uniform(rng, -0.6, -0.4), 0}; }

StepResult MountainCar::step(std::vector<double>& state, const Action& action) const {
  double &position = state[0], &speed = state[1];
  speed += static_cast<double>(action.choice - 1) * 0.001 + std::cos(3 * position) * -0.0025;
  speed = std::clamp(speed, -0.07, 0.07);
  position = std::clamp(position + speed, -1.2, 0.6);
  if (position == -1.2 && speed < 0) speed = 0;
  return {-1, position >= 0.5 && speed >= 0};
}

void MountainCar::observe(const std::vector<double>& state, std::vector<float>& observation) const {
  observation.assign(state.begin(), state.end());
}

Pendulum::Pendulum()
    : Environment({.name = "Pendulum-v1",
                   .low = {-1, -1, -8},
                   .high = {1, 1, 8},
                   .action_low = {-2},
                   .action_high = {2},
                   .time_limit = 200,
                   .frames_a_second = 20}) {}

void Pendulum::reset(std::vector<double>& state, Rng& rng) const {
  state = {uniform(rng, -kPi, kPi), uniform(rng, -1, 1), 0};
}

// The torque is of 32 bits, and so are its square and triple before they meet numbers of 64.
StepResult Pendulum::step(std::vector<double>& state, const Action& action) const {
  const double angle = state[0], turning = state[1];
  const float torque = std::clamp(action.values[0], -2.0f, 2.0f);
  const double off = modulo(angle + kPi, 2 * kPi) - kPi;
  const double cost = off * off + 0.1 * (turning * turning) + static_cast<double>(0.001f * (torque * torque));
  const double faster =
      turning + (3 * 10.0 / 2 * std::sin(angle) + static_cast<double>(3.0f * torque)) * 0.05;
  const double after = std::clamp(faster, -8.0, 8.0);
  state = {angle + after * 0.05, after, torque};
  return {-cost, false};
}

void Pendulum::observe(const std::vector<double>& state, std::vector<float>& observation) const {
  observation = {static_cast<float>(std::cos(state[0])), static_cast<float>(std::sin(state[0])),
                 static_cast<float>(state[1])};
}

}  // namespace veldt::rl
