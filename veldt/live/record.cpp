// Curves that stay short, and what a resumed run keeps of a record.
#include "veldt/live/record.h"

#include <algorithm>
#include <limits>

namespace veldt::live {

void Series::add(std::int64_t step, double at_seconds, double value) {
  if (!steps.empty() && step <= steps.back()) return;
  newest = value;
  sum += value;
  if (++waiting < merged) return;
  steps.push_back(step);
  seconds.push_back(at_seconds);
  values.push_back(sum / static_cast<double>(waiting));
  sum = 0;
  waiting = 0;
  if (steps.size() < kMostPoints) return;
  const std::size_t half = steps.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    steps[i] = steps[2 * i + 1];
    seconds[i] = seconds[2 * i + 1];
    values[i] = (values[2 * i] + values[2 * i + 1]) / 2;
  }
  steps.resize(half);
  seconds.resize(half);
  values.resize(half);
  merged *= 2;
}

void Series::cut_after(std::int64_t step) {
  const auto end = std::upper_bound(steps.begin(), steps.end(), step) - steps.begin();
  const auto kept = static_cast<std::size_t>(end);
  steps.resize(kept);
  seconds.resize(kept);
  values.resize(kept);
  newest = values.empty() ? std::numeric_limits<double>::quiet_NaN() : values.back();
  sum = 0;
  waiting = 0;
}

Series Series::from(std::size_t first) const {
  Series part{.name = name, .unit = unit, .group = group, .newest = newest, .merged = merged};
  const auto skip = static_cast<std::ptrdiff_t>(first);
  part.steps.assign(steps.begin() + skip, steps.end());
  part.seconds.assign(seconds.begin() + skip, seconds.end());
  part.values.assign(values.begin() + skip, values.end());
  return part;
}

void Record::cut_after(std::int64_t last) {
  const auto is_later = [last](const auto& part) { return part.step > last; };
  for (Series& s : series) s.cut_after(last);
  std::erase_if(series, [](const Series& s) { return s.steps.empty(); });
  std::erase_if(pictures, is_later);
  std::erase_if(texts, is_later);
  std::erase_if(notes, is_later);
  confusion.reset();
  worst.clear();
  step = std::min(step, last);
}

}  // namespace veldt::live
