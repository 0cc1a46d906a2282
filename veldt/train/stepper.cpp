// Steps on the CPU, recorded and replayed steps, and several steps ahead on a device.
#include "veldt/train/stepper.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "veldt/ops/shape.h"

namespace veldt::train {
namespace {

using Clock = RunState::Clock;

bool by_time(const RunOptions& options) { return options.steps <= 0; }

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

bool Stepper::take() {
  const bool is_on_device = task_.optimizer().slab().values().device().kind != DeviceKind::cpu;
  if (prepared_ == 0) task_.prepare(at_.step, prepared_ = is_on_device ? count_ahead(at_.step) : 1);
  return is_on_device && task_.repeats() ? on_device() : one();
}

// Sets the rate of the next step; `later`: seconds from now.
void Stepper::set_rate(std::int64_t step, double later) {
  if (by_time(options_)) {
    const double now = at_.agreed_seconds ? *at_.agreed_seconds : at_.seconds();
    const double share = std::min(1.0, (now + later) / options_.seconds);
    step = std::llround(share * static_cast<double>(kTimePositions));
  }
  at_.rate = options_.rate(step);
  task_.optimizer().set_lr(at_.rate);
}

bool Stepper::one() {
  prepared_ = 0;
  set_rate(at_.step, 0);
  if (task_.repeats()) {
    if (!plan_) plan_.emplace([&] { return task_.differentiate(); });
    plan_->replay();
    at_.loss = plan_->output().item();
  } else {
    at_.loss = task_.differentiate().item();
  }
  if (!std::isfinite(at_.loss)) diverged_();
  task_.take_step();
  task_.stepped(at_.loss);
  ++at_.step;
  return tell_of_step();
}

// The rate and the optimizer are part of the plan, and losses are checked afterwards. The next data are
// prepared while the device works.
bool Stepper::on_device() {
  const std::int64_t count = std::exchange(prepared_, 0);
  if (!plan_)
    plan_.emplace([&] {
      const Tensor loss = task_.differentiate();
      const auto next_rate = [this](auto) {
        set_rate(next_, seconds_a_step_ * static_cast<double>(next_ - at_.step));
        ++next_;
      };
      host_work("rate", {}, next_rate, CallKind::numbers);
      task_.take_step();
      return loss;
    });
  const Tensor& loss = plan_->output();
  const Tensor losses = empty({count}, loss);
  const auto start = Clock::now();
  next_ = at_.step;
  plan_->replay(count, losses);
  if (task_.runs_ahead(at_.step + count) > 1) {
    prepared_ = count_ahead(at_.step + count);
    if (prepared_ > 0) task_.prepare(at_.step + count, prepared_);
  }
  const std::vector<double> seen = to(losses, DType::f64).values<double>();
  seconds_a_step_ = seconds_since(start) / static_cast<double>(count);
  bool asked = false;
  for (const double next : seen) {
    at_.loss = next;
    if (!std::isfinite(at_.loss)) {
      if (!by_time(options_)) at_.rate = options_.rate(at_.step);  // not that of the last step taken
      diverged_();
    }
    if (++at_.step == next_) task_.stepped(at_.loss);
    asked = tell_of_step() || asked;
  }
  return asked;
}

std::int64_t Stepper::count_ahead(std::int64_t step) const {
  if (seconds_a_step_ == 0) return 1;  // the first ones show how long a step takes
  const auto most = static_cast<std::int64_t>(std::min(options_.look_every / seconds_a_step_, 1e6));
  std::int64_t left = by_time(options_) ? most : options_.steps - step;
  if (options_.pause > step) left = std::min(left, options_.pause - step);
  return std::min({std::max<std::int64_t>(1, most), left, task_.runs_ahead(step)});
}

bool Stepper::tell_of_step() const {
  if (events_.on_step) events_.on_step(at_.step, at_.loss);
  return events_.should_stop && events_.should_stop();
}

}  // namespace veldt::train
