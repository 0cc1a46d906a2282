// The formulas of the schedules, the checks of their options, and their descriptions.
#include "veldt/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "veldt/core/error.h"

namespace veldt::optim {
namespace {

void check_rate(const char* name, double lr) {
  if (std::isfinite(lr) && lr >= 0) return;
  throw ConfigError(str("the schedule's ", name, " cannot be ", lr), "a rate is a finite number of 0 or more",
                    "give a rate such as 0.001");
}

void check_count(const char* name, std::int64_t count) {
  if (count >= 1) return;
  throw ConfigError(str("the schedule's ", name, " cannot be ", count), "it must be 1 or more",
                    "give a number of steps");
}

void check_positive(const char* name, double value) {
  if (std::isfinite(value) && value > 0) return;
  throw ConfigError(str("the schedule's ", name, " cannot be ", value), "it must be above 0 and finite",
                    str("give a positive ", name));
}

void check_rising(const std::vector<std::int64_t>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i] < (i == 0 ? 0 : steps[i - 1]))
      throw ConfigError(str("the schedule cannot change at step ", steps[i]),
                        "its steps must be 0 or more, and none below the one before", "sort them");
}

// From `high` at 0 to `low` at 1.
double half_cosine(double high, double low, double share) {
  return low + (high - low) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

// What length() is of a rate that falls from `high` to `low` in `steps`, and stays there.
std::int64_t end_of(double high, double low, std::int64_t steps) { return low < high / 20 ? steps : 0; }

std::string joined(const std::vector<Schedule>& parts, const char* between) {
  std::string out;
  for (const Schedule& part : parts) out += (out.empty() ? "" : between) + part.text();
  return out;
}

}  // namespace

double Constant::operator()(std::int64_t) const { return lr; }
std::string Constant::text() const { return str("constant ", lr); }
void Constant::check() const { check_rate("lr", lr); }

double CosineAnnealing::operator()(std::int64_t step) const {
  const double period = static_cast<double>(steps) + static_cast<double>(offset);
  const double i = static_cast<double>(step);
  if (i >= period) return lr_min;
  return lr_min + (lr_max - lr_min) * (1 + std::cos(std::numbers::pi * i / period)) / 2;
}

std::string CosineAnnealing::text() const {
  return str("cosine from ", lr_max, " to ", lr_min, " over ", steps,
             offset == 0 ? std::string() : str(" with offset ", offset));
}

void CosineAnnealing::check() const {
  check_rate("lr_max", lr_max);
  check_rate("lr_min", lr_min);
  if (steps < 1 || offset < 0)
    throw ConfigError(str("cosine annealing cannot last ", steps, " steps with an offset of ", offset),
                      "it needs one step or more, and an offset of 0 or more",
                      "give the number of steps of the whole run");
}

std::int64_t CosineAnnealing::length() const {
  const double both = static_cast<double>(steps) + static_cast<double>(offset);
  return end_of(lr_max, lr_min, static_cast<std::int64_t>(std::min(both, 9e18)));
}

double LinearWarmup::operator()(std::int64_t step) const {
  if (step >= steps) return then(step - steps);
  return then(0) * (static_cast<double>(step) + 1) / (static_cast<double>(steps) + 1);
}

std::string LinearWarmup::text() const { return str("warm-up over ", steps, ", then ", then.text()); }

void LinearWarmup::check() const {
  if (steps < 0)
    throw ConfigError(str("a warm-up cannot last ", steps, " steps"), "it must be 0 or more",
                      "give 0 for no warm-up");
}

std::int64_t LinearWarmup::length() const {
  const std::int64_t rest = then.length();
  return rest > 0 ? rest + std::min(steps, std::numeric_limits<std::int64_t>::max() - rest) : 0;
}

double StepDecay::operator()(std::int64_t step) const {
  return lr * std::pow(factor, static_cast<double>(step / every));
}

std::string StepDecay::text() const { return str(lr, " times ", factor, " every ", every); }

void StepDecay::check() const {
  check_rate("lr", lr);
  check_count("every", every);
  check_positive("factor", factor);
}

double MultiStep::operator()(std::int64_t step) const {
  const auto reached = std::upper_bound(at.begin(), at.end(), step) - at.begin();
  return lr * std::pow(factor, static_cast<double>(reached));
}

std::string MultiStep::text() const {
  std::string steps;
  for (const std::int64_t step : at) steps += (steps.empty() ? "" : ", ") + std::to_string(step);
  return str(lr, " times ", factor, " at ", steps);
}

void MultiStep::check() const {
  check_rate("lr", lr);
  check_positive("factor", factor);
  check_rising(at);
}

double Exponential::operator()(std::int64_t step) const {
  return lr * std::pow(factor, static_cast<double>(step));
}

std::string Exponential::text() const { return str(lr, " times ", factor, " every step"); }

void Exponential::check() const {
  check_rate("lr", lr);
  check_positive("factor", factor);
}

double Polynomial::operator()(std::int64_t step) const {
  if (step >= steps) return 0;
  return lr * std::pow(1 - static_cast<double>(step) / static_cast<double>(steps), power);
}

std::string Polynomial::text() const { return str(lr, " to 0 over ", steps, " with power ", power); }

void Polynomial::check() const {
  check_rate("lr", lr);
  check_count("steps", steps);
  check_positive("power", power);
}

std::int64_t Polynomial::length() const { return steps; }

double Linear::operator()(std::int64_t step) const {
  if (step >= steps) return lr_end;
  return lr_start + (lr_end - lr_start) * static_cast<double>(step) / static_cast<double>(steps);
}

std::string Linear::text() const { return str("linear from ", lr_start, " to ", lr_end, " over ", steps); }

void Linear::check() const {
  check_rate("lr_start", lr_start);
  check_rate("lr_end", lr_end);
  check_count("steps", steps);
}

std::int64_t Linear::length() const { return end_of(lr_start, lr_end, steps); }

double CosineRestarts::operator()(std::int64_t step) const {
  std::int64_t length = period;
  if (growth == 1) {
    step %= period;
  } else {
    // At least doubled each time, so any step is found within 63 rounds.
    while (step >= length) {
      step -= length;
      length = length > std::numeric_limits<std::int64_t>::max() / growth
                   ? std::numeric_limits<std::int64_t>::max()
                   : length * growth;
    }
  }
  return half_cosine(lr_max, lr_min, static_cast<double>(step) / static_cast<double>(length));
}

std::string CosineRestarts::text() const {
  return str("cosines from ", lr_max, " to ", lr_min, " over ", period,
             growth == 1 ? std::string() : str(", each ", growth, " times as long"));
}

void CosineRestarts::check() const {
  check_rate("lr_max", lr_max);
  check_rate("lr_min", lr_min);
  check_count("period", period);
  check_count("growth", growth);
}

double OneCycle::operator()(std::int64_t step) const {
  const double i = static_cast<double>(step), last = static_cast<double>(steps) - 1;
  const double start = lr_max / start_divisor, end = start / end_divisor;
  const auto between = [&](double from, double to, double begin, double finish) {
    const double share = finish > begin ? std::min(1.0, (i - begin) / (finish - begin)) : 1;
    return linear ? from + (to - from) * share : half_cosine(from, to, share);
  };
  const double top = rise * static_cast<double>(steps) - 1;
  if (i <= top) return between(start, lr_max, 0, top);
  if (!three_phases) return between(lr_max, end, top, last);
  const double bottom = 2 * rise * static_cast<double>(steps) - 2;
  if (i <= bottom) return between(lr_max, start, top, bottom);
  return between(start, end, bottom, last);
}

std::string OneCycle::text() const {
  return str("one cycle to ", lr_max, " over ", steps, three_phases ? " in three phases" : "");
}

void OneCycle::check() const {
  check_rate("lr_max", lr_max);
  check_count("steps", steps);
  check_positive("start_divisor", start_divisor);
  check_positive("end_divisor", end_divisor);
  const double most = three_phases ? 0.5 : 1;
  if (!(rise * static_cast<double>(steps) >= 1 && rise <= most))
    throw ConfigError(
        str("one cycle of ", steps, " steps cannot rise for a share of ", rise),
        str("the rise needs a whole step, and a share of ", most, " at most"),
        rise > 0 && rise <= most ? "take more steps, or another schedule" : "leave rise at 0.3");
}

std::int64_t OneCycle::length() const { return end_of(lr_max, lr_max / start_divisor / end_divisor, steps); }

double Sequence::operator()(std::int64_t step) const {
  const auto i = std::upper_bound(at.begin(), at.end(), step) - at.begin();
  const std::int64_t begin = i == 0 ? 0 : at[static_cast<std::size_t>(i - 1)];
  return parts[static_cast<std::size_t>(i)](step - begin);
}

std::string Sequence::text() const { return joined(parts, ", then "); }

void Sequence::check() const {
  if (parts.size() != at.size() + 1)
    throw ConfigError(
        str("a sequence of ", parts.size(), " schedules cannot change at ", at.size(), " steps"),
        "each change begins the next schedule", "give one step less than schedules");
  check_rising(at);
}

std::int64_t Sequence::length() const {
  const std::int64_t last = parts.back().length(), before = at.empty() ? 0 : at.back();
  return last > 0 ? last + std::min(before, std::numeric_limits<std::int64_t>::max() - last) : 0;
}

double Product::operator()(std::int64_t step) const {
  double lr = 1;
  for (const Schedule& part : parts) lr *= part(step);
  return lr;
}

std::string Product::text() const { return joined(parts, " times "); }

void Product::check() const {
  if (parts.empty())
    throw ConfigError("a product of no schedules has no rate", "it has no parts", "give one");
}

std::int64_t Product::length() const {
  std::int64_t first = 0;
  for (const Schedule& part : parts)
    if (const std::int64_t end = part.length(); end > 0) first = first > 0 ? std::min(first, end) : end;
  return first;
}

}  // namespace veldt::optim
