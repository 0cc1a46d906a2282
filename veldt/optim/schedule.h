// Learning rates as functions of the step alone: nothing is remembered, so a resumed run has the same rates.
//   optim::Schedule lr = optim::LinearWarmup{.steps = 100, .then = optim::CosineAnnealing{.lr_max = 1e-3,
//   ...}}; adam.set_lr(lr(step));
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace veldt::optim {

// The same rate at every step.
struct Constant {
  double lr = 1e-3;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;  // throws ConfigError for a bad option, as do the others
};

// lr(i) = lr_min + (lr_max - lr_min) (1 + cos(pi i / (epochs + epoch_offset))) / 2 (Loshchilov & Hutter 2017,
// without restarts), and lr_min from there on. An epoch is what the caller counts, a step unless said
// otherwise; the offset stretches the curve, so that a run of `epochs` ends above lr_min.
struct CosineAnnealing {
  double lr_max = 1e-3;
  double lr_min = 0;
  std::int64_t epochs = 1;
  std::int64_t epoch_offset = 0;
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
};

// Any of these, or one of your own with the same three members.
class Schedule {
 public:
  // Throws ConfigError if the schedule's check() does.
  template <class S>
  requires requires(const S& s) {
    { s.text() } -> std::convertible_to<std::string>;
    { s(std::int64_t{0}) } -> std::convertible_to<double>;
    s.check();
  } &&(!std::same_as<S, Schedule>)Schedule(S schedule) : text_(schedule.text()) {
    schedule.check();
    at_ = std::move(schedule);
  }
  Schedule(double lr = 1e-3) : Schedule(Constant{lr}) {}

  // The rate of step i, counted from 0; that of step 0 below.
  double operator()(std::int64_t step) const { return at_(step < 0 ? 0 : step); }
  // "cosine from 0.001 to 1e-06 over 1000"
  const std::string& text() const { return text_; }

 private:
  std::function<double(std::int64_t)> at_;
  std::string text_;
};

// lr(i) = then(0) (i + 1) / (steps + 1) for i < steps, afterwards then(i - steps).
struct LinearWarmup {
  std::int64_t steps = 0;
  Schedule then = Constant{};
  double operator()(std::int64_t step) const;
  std::string text() const;
  void check() const;
};

}  // namespace veldt::optim
