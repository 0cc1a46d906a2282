// Adam (Kingma and Ba 2015) on the networks of a packed photograph.
// Tests: tests/pack/learner_test.cpp
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "veldt/codec/networks.h"

namespace veldt::pack {

class NetworkAdam {
 public:
  void step(codec::Networks<float>& networks, const codec::Networks<float>& gradient, double rate) {
    ++steps_;
    const auto n = static_cast<double>(steps_);
    const auto first = static_cast<float>(rate / (1 - std::pow(static_cast<double>(kBeta1), n)));
    const auto second = static_cast<float>(1 / (1 - std::pow(static_cast<double>(kBeta2), n)));
    for (std::size_t i = 0; i < codec::kNumbers; ++i) {
      const float g = gradient.numbers()[i];
      mean_[i] += (1 - kBeta1) * (g - mean_[i]);
      square_[i] += (1 - kBeta2) * (g * g - square_[i]);
      networks.numbers()[i] -= first * mean_[i] / (std::sqrt(square_[i] * second) + 1e-12f);
    }
  }

 private:
  static constexpr float kBeta1 = 0.9f, kBeta2 = 0.95f;

  std::vector<float> mean_ = std::vector<float>(codec::kNumbers), square_ = mean_;
  std::int64_t steps_ = 0;
};

}  // namespace veldt::pack
