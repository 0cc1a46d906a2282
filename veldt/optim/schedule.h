// Learning rates as functions of only the step: they have no state, so a resumed run has the same rates.
//   optim::Schedule lr = optim::LinearWarmup{.steps = 100, .then = optim::CosineAnnealing{.lr_max = 1e-3,
//   ...}}; adam.set_lr(lr(step));
// Tests: tests/optim/schedule_test.cpp, tests/optim/golden_test.cpp
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace veldt::optim {

// The same rate at every step.
struct Constant {
  double lr = 1e-3;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;  // throws ConfigError for a bad option, as do the others
};

// lr(i) = lr_min + (lr_max - lr_min) (1 + cos(pi i / (steps + offset))) / 2 (Loshchilov & Hutter 2017,
// without restarts), and lr_min from there on. The offset stretches the curve, so that a run of `steps` ends
// above lr_min.
struct CosineAnnealing {
  double lr_max = 1e-3;
  double lr_min = 0;
  std::int64_t steps = 1;  // of the optimizer, not epochs
  std::int64_t offset = 0;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
  std::int64_t length() const;
};

// Any of these, or one of your own: a function of the step with a text(), and a length() if it has an end.
//   struct Halving {
//     double operator()(std::int64_t step) const { return std::exp2(-step / 100.0); }
//     std::string text() const { return "halved every 100 steps"; }
//   };
class Schedule {
 public:
  // Throws ConfigError if the schedule has a check() that does.
  template <class S>
  requires requires(const S& s) {
    { s.text() } -> std::convertible_to<std::string>;
    { s(std::int64_t{0}) } -> std::convertible_to<double>;
  } &&(!std::same_as<S, Schedule>)Schedule(S schedule) {
    if constexpr (requires { schedule.check(); }) schedule.check();
    if constexpr (requires { schedule.length(); }) length_ = schedule.length();
    text_ = schedule.text();
    at_ = std::move(schedule);
  }
  Schedule(double lr = 1e-3) : Schedule(Constant{lr}) {}

  // The rate of step i, counted from 0; that of step 0 below.
  double operator()(std::int64_t step) const { return at_(step < 0 ? 0 : step); }
  // "cosine from 0.001 to 1e-06 over 1000"
  const std::string& text() const { return text_; }
  // The steps after which the rate stays where it has fallen to, below a twentieth of its highest: nothing is
  // learned after them, or little. 0 if it has no such end.
  std::int64_t length() const { return length_; }

 private:
  std::function<double(std::int64_t)> at_;
  std::string text_;
  std::int64_t length_ = 0;
};

// lr(i) = then(0) (i + 1) / (steps + 1) for i < steps, afterwards then(i - steps).
struct LinearWarmup {
  std::int64_t steps = 0;
  Schedule then = Constant{};
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
  std::int64_t length() const;
};

// lr factor^k after k times `every` steps; as torch's StepLR.
struct StepDecay {
  double lr = 1e-3;
  std::int64_t every = 1;
  double factor = 0.1;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
};

// lr factor^k once k of the steps in `at` are reached; as torch's MultiStepLR. `at` rises.
struct MultiStep {
  double lr = 1e-3;
  std::vector<std::int64_t> at = {};
  double factor = 0.1;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
};

// lr factor^step; as torch's ExponentialLR.
struct Exponential {
  double lr = 1e-3;
  double factor = 0.999;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
};

// lr (1 - step / steps)^power, 0 from `steps` on; as torch's PolynomialLR.
struct Polynomial {
  double lr = 1e-3;
  std::int64_t steps = 1;
  double power = 1;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
  std::int64_t length() const;
};

// Linear from lr_start to lr_end, then constant; as torch's LinearLR, which takes factors.
struct Linear {
  double lr_start = 1e-3;
  double lr_end = 0;
  std::int64_t steps = 1;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
  std::int64_t length() const;
};

// Cosines from lr_max to lr_min, each `growth` times as long as the one before (Loshchilov & Hutter 2017); as
// torch's CosineAnnealingWarmRestarts.
struct CosineRestarts {
  double lr_max = 1e-3;
  double lr_min = 0;
  std::int64_t period = 1;
  std::int64_t growth = 1;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
};

// Up from lr_max / start_divisor to lr_max over the share `rise` of the steps, then down to the start divided
// by end_divisor (Smith & Topin 2018); as torch's OneCycleLR without its cycle of momentum. three_phases:
// down to the start as fast as up, then on to the end.
struct OneCycle {
  double lr_max = 1e-3;
  std::int64_t steps = 1;
  double rise = 0.3;
  double start_divisor = 25;
  double end_divisor = 1e4;
  bool linear = false;  // lines rather than cosines
  bool three_phases = false;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
  std::int64_t length() const;
};

// A sequence of schedules: part i + 1 counts from step at[i]; as torch's SequentialLR.
struct Sequence {
  std::vector<Schedule> parts = {};
  std::vector<std::int64_t> at = {};
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
  std::int64_t length() const;
};

// The product of all parts at each step; as torch's ChainedScheduler, where all parts except one start at 1:
//   optim::Product{{optim::Exponential{.lr = 1e-3}, optim::Linear{.lr_start = 0.1, .lr_end = 1, .steps = 5}}}
struct Product {
  std::vector<Schedule> parts = {};
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
  std::int64_t length() const;
};

}  // namespace veldt::optim
