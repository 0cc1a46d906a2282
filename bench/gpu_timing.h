// Times steps on a device that works asynchronously.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <type_traits>
#include <vector>

#include "veldt/veldt.h"

namespace veldt::bench {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Timing {
  std::vector<double> ms;  // of a step, a number for each sample
  double median() const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

// Three steps unmeasured; then samples of as many steps as take 10 ms, each up to the moment when the device
// has done them, for about `seconds` and at least three. step() takes one, or step(n) takes n.
template <class Step> Timing time_steps(const Step& step, Device device, double seconds) {
  const Backend& table = backend(device);
  const auto sample = [&](int steps) {
    const double start = seconds_now();
    if constexpr (std::is_invocable_v<const Step&, int>)
      step(steps);
    else
      for (int i = 0; i < steps; ++i) step();
    table.synchronize();
    return seconds_now() - start;
  };
  sample(2);
  const double one = sample(1);
  const int steps = static_cast<int>(std::clamp(std::ceil(std::min(0.01, seconds / 3) / one), 1.0, 1e4));
  Timing timing;
  const double end = seconds_now() + seconds;
  while (timing.ms.size() < 3 || (seconds_now() < end && timing.ms.size() < 1000))
    timing.ms.push_back(1e3 * sample(steps) / steps);
  return timing;
}

}  // namespace veldt::bench
