// Histograms that grow with what they are shown, and the search for a range within them.
#include "veldt/compress/observer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::compress {
namespace {

constexpr std::array<std::string_view, 4> kCalibrations = {"min-max", "percentile", "mse", "entropy"};
constexpr double kCutShare = 1e-4;  // of a percentile, both sides together
constexpr double kLevels = 255;

}  // namespace

const std::vector<std::string_view>& calibration_names() {
  static const std::vector<std::string_view> names(kCalibrations.begin(), kCalibrations.end());
  return names;
}
std::optional<Calibration> calibration_named(std::string_view name) {
  const auto* const found = std::find(kCalibrations.begin(), kCalibrations.end(), name);
  if (found == kCalibrations.end()) return std::nullopt;
  return static_cast<Calibration>(found - kCalibrations.begin());
}

void Observer::see(const Tensor& x) {
  const std::vector<float> numbers = to(to(x.detach(), DType::f32), Device{}).values<float>();
  double low = least_, high = most_;
  for (const float v : numbers) {
    if (!std::isfinite(v)) continue;
    low = std::min<double>(low, v), high = std::max<double>(high, v);
  }
  least_ = low, most_ = high;
  if (low < low_ || high > high_ || bins_.empty()) widen(low, high);
  const double scale = high_ > low_ ? 1 / width() : 0;
  for (const float v : numbers) {
    if (!std::isfinite(v)) continue;
    const auto bin = static_cast<std::int64_t>((v - low_) * scale);
    bins_[static_cast<std::size_t>(std::clamp<std::int64_t>(bin, 0, kBins - 1))] += 1;
    count_ += 1;
  }
}

// A histogram of at least this range: twice as wide as needed, so that it seldom grows.
void Observer::widen(double low, double high) {
  const double before_low = low_, before_width = bins_.empty() ? 0 : width();
  const std::vector<double> before = std::exchange(bins_, std::vector<double>(kBins, 0.0));
  low_ = before.empty() ? low : std::min(low_, 2 * low);
  high_ = before.empty() ? high : std::max(high_, 2 * high);
  if (!(high_ > low_)) high_ = low_ + 1e-30;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double middle = before_low + (static_cast<double>(i) + 0.5) * before_width;
    const auto bin = static_cast<std::int64_t>((middle - low_) / width());
    bins_[static_cast<std::size_t>(std::clamp<std::int64_t>(bin, 0, kBins - 1))] += before[i];
  }
}

NumberRange Observer::range(Calibration how) const {
  if (!has_seen())
    throw Error("there is no range to calibrate", "no number was seen", "show the network some examples");
  switch (how) {
    case Calibration::min_max: break;
    case Calibration::percentile: return percentile();
    case Calibration::mse: return best([this](double low, double high) { return squared_error(low, high); });
    case Calibration::entropy: return best([this](double low, double high) { return divergence(low, high); });
  }
  return {static_cast<float>(least_), static_cast<float>(most_)};
}

NumberRange Observer::percentile() const {
  const double cut = count_ * kCutShare / 2;
  double below = 0, above = 0;
  std::int64_t first = 0, last = kBins - 1;
  while (first < last && below + bins_[static_cast<std::size_t>(first)] <= cut)
    below += bins_[static_cast<std::size_t>(first++)];
  while (last > first && above + bins_[static_cast<std::size_t>(last)] <= cut)
    above += bins_[static_cast<std::size_t>(last--)];
  const double low = low_ + width() * static_cast<double>(first),
               high = low_ + width() * static_cast<double>(last + 1);
  return {static_cast<float>(std::clamp(low, least_, 0.0)), static_cast<float>(std::clamp(high, 0.0, most_))};
}

// Each end is drawn in by itself, twice, because the best one depends on the other.
template <class Cost> NumberRange Observer::best(const Cost& cost) const {
  constexpr int kSteps = 60;
  double low = 1, high = 1;  // factors
  for (int round = 0; round < 2; ++round)
    for (double* const end : {&high, &low}) {
      double least = std::numeric_limits<double>::infinity(), found = 1;
      for (int i = 0; i < kSteps; ++i) {
        *end = std::pow(0.96, i);
        const double c = cost(least_ * low, most_ * high);
        if (c < least) least = c, found = *end;
      }
      *end = found;
    }
  return {static_cast<float>(least_ * low), static_cast<float>(most_ * high)};
}

// Of numbers at the middle of their bins; within a bin wider than a step the error is that of any number.
double Observer::squared_error(double low, double high) const {
  const double step = (high - low) / kLevels;
  double sum = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i] == 0) continue;
    const double x = low_ + (static_cast<double>(i) + 0.5) * width();
    const double beyond = x < low ? low - x : x > high ? x - high : 0;
    sum += bins_[i] * (beyond * beyond + (beyond > 0 ? 0 : step * step / 12));
  }
  return sum;
}

double Observer::divergence(double low, double high) const {
  const double step = (high - low) / kLevels;
  if (!(step > 0)) return 0;
  // Of the numbers: those beyond the range count to its ends. Of the bytes: each spread over the bins of its
  // level that hold anything.
  std::vector<double> of_level(256, 0), bins_of_level(256, 0), shown(bins_.size(), 0);
  const auto level_of = [&](double x) {
    return static_cast<std::size_t>(std::clamp((x - low) / step, 0.0, kLevels));
  };
  double first_beyond = 0, last_beyond = 0;
  std::size_t first = bins_.size(), last = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const double x = low_ + (static_cast<double>(i) + 0.5) * width();
    if (x < low) {
      first_beyond += bins_[i];
    } else if (x > high) {
      last_beyond += bins_[i];
    } else {
      first = std::min(first, i), last = i;
      shown[i] = bins_[i];
      if (bins_[i] == 0) continue;
      of_level[level_of(x)] += bins_[i], bins_of_level[level_of(x)] += 1;
    }
  }
  if (first > last) return std::numeric_limits<double>::infinity();
  shown[first] += first_beyond, shown[last] += last_beyond;
  double kept = 0;
  for (const double n : of_level) kept += n;
  if (kept == 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t i = first; i <= last; ++i) {
    if (shown[i] == 0) continue;
    const std::size_t level = level_of(low_ + (static_cast<double>(i) + 0.5) * width());
    const double p = shown[i] / count_;
    const double q = bins_of_level[level] > 0 ? of_level[level] / bins_of_level[level] / kept : 0;
    sum += p * std::log(p / std::max(q, 1e-9));
  }
  return sum;
}

}  // namespace veldt::compress
