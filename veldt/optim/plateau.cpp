// Lowers a rate when a measure has not improved for some time, and saves its state.
#include "veldt/optim/plateau.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/optim/optimizer.h"

namespace veldt::optim {

Plateau::Plateau(PlateauOptions options) : options_(options), lr_(options.lr) {
  check_option("lr", options.lr, 0, kInfinity);
  check_option("factor", options.factor, std::numeric_limits<double>::min(), 1);
  check_option("patience", static_cast<double>(options.patience), 0, kInfinity);
  check_option("cooldown", static_cast<double>(options.cooldown), 0, kInfinity);
  check_option("threshold", options.threshold, 0, kInfinity);
  check_option("lr_min", options.lr_min, 0, kInfinity);
}

bool Plateau::is_better(double measure) const {
  if (!has_best_) return !std::isnan(measure);
  const double sign = options_.larger_is_better ? 1 : -1;
  if (options_.relative) {
    const double bar = best_ * (1 + sign * options_.threshold);
    return options_.larger_is_better ? measure > bar : measure < bar;
  }
  return sign * (measure - best_) > options_.threshold;
}

double Plateau::update(double measure) {
  if (is_better(measure)) {
    best_ = measure;
    has_best_ = true;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (bad_ > options_.patience) {
    constexpr double kNoticeable = 1e-8;  // torch's: smaller changes of the rate are not made
    const double next = std::max(lr_ * options_.factor, options_.lr_min);
    if (lr_ - next > kNoticeable) lr_ = next;
    cooling_ = options_.cooldown;
    bad_ = 0;
  }
  return lr_;
}

NamedTensors Plateau::state_dict() const {
  const double numbers[] = {lr_, has_best_ ? 1.0 : 0.0, best_, static_cast<double>(bad_),
                            static_cast<double>(cooling_)};
  return {{"plateau", Tensor::from<double>({5}, numbers)}};
}

void Plateau::load_state_dict(const NamedTensors& state) {
  const Tensor saved = matched("plateau", this->state_dict(), state).at("plateau");
  if (saved.dtype() != DType::f64)
    throw Error("the state does not fit the plateau", str("it is ", saved.dtype(), ", not f64"),
                "use the file that it was saved in");
  const std::vector<double> numbers = saved.values<double>();
  const auto is_count = [](double x) { return x >= 0 && x < 0x1p53 && x == std::floor(x); };
  if (!(numbers[0] >= 0 && std::isfinite(numbers[0]) && is_count(numbers[3]) && is_count(numbers[4])))
    throw Error("the state does not fit the plateau",
                str("it holds a rate of ", numbers[0], " and counts of ", numbers[3], " and ", numbers[4]),
                "use the file that it was saved in");
  lr_ = numbers[0];
  has_best_ = numbers[1] != 0;
  best_ = numbers[2];
  bad_ = static_cast<std::int64_t>(numbers[3]);
  cooling_ = static_cast<std::int64_t>(numbers[4]);
}

}  // namespace veldt::optim
