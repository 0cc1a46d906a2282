#include "veldt/optim/schedule.h"

#include <cmath>
#include <numbers>

#include "veldt/core/error.h"

namespace veldt::optim {
namespace {

void check_rate(const char* name, double lr) {
  if (std::isfinite(lr) && lr >= 0) return;
  throw ConfigError(str("the schedule's ", name, " cannot be ", lr), "a rate is a finite number of 0 or more",
                    "give a rate such as 0.001");
}

}  // namespace

double Constant::operator()(std::int64_t) const { return lr; }
std::string Constant::text() const { return str("constant ", lr); }
void Constant::check() const { check_rate("lr", lr); }

double CosineAnnealing::operator()(std::int64_t step) const {
  const double period = static_cast<double>(epochs) + static_cast<double>(epoch_offset);
  const double i = static_cast<double>(step);
  if (i >= period) return lr_min;
  return lr_min + (lr_max - lr_min) * (1 + std::cos(std::numbers::pi * i / period)) / 2;
}

std::string CosineAnnealing::text() const {
  return str("cosine from ", lr_max, " to ", lr_min, " over ", epochs,
             epoch_offset == 0 ? std::string() : str(" with offset ", epoch_offset));
}

void CosineAnnealing::check() const {
  check_rate("lr_max", lr_max);
  check_rate("lr_min", lr_min);
  if (epochs < 1 || epoch_offset < 0)
    throw ConfigError(
        str("cosine annealing cannot last ", epochs, " epochs with an offset of ", epoch_offset),
        "it needs one epoch or more, and an offset of 0 or more", "give the length of the whole run");
}

double LinearWarmup::operator()(std::int64_t step) const {
  if (step >= steps) return then(step - steps);
  return then(0) * static_cast<double>(step + 1) / static_cast<double>(steps + 1);
}

std::string LinearWarmup::text() const { return str("warm-up over ", steps, ", then ", then.text()); }

void LinearWarmup::check() const {
  if (steps < 0)
    throw ConfigError(str("a warm-up cannot last ", steps, " steps"), "it must be 0 or more",
                      "give 0 for no warm-up");
}

}  // namespace veldt::optim
