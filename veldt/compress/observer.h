// What numbers a layer is given, as a histogram, and the range that bytes should have for them.
// Tests: tests/compress/observer_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::compress {

// min_max: all that was seen. percentile: all but a share of 1e-4. mse: the least sum of squared errors of
// rounding and cutting off. entropy: the least Kullback-Leibler divergence of the histogram of bytes from
// that of numbers (Migacz 2017).
enum class Calibration : std::uint8_t { min_max, percentile, mse, entropy };
std::optional<Calibration> calibration_named(std::string_view name);
const std::vector<std::string_view>& calibration_names();

struct NumberRange {
  float low = 0, high = 0;  // 0 lies in it
};

class Observer {
 public:
  // Of any shape; NaN and infinite numbers count as not seen.
  void see(const Tensor& x);
  bool has_seen() const { return count_ > 0; }
  // Throws Error if nothing was seen.
  NumberRange range(Calibration how) const;

 private:
  static constexpr std::int64_t kBins = 4096;
  double width() const { return (high_ - low_) / static_cast<double>(kBins); }
  void widen(double low, double high);
  NumberRange percentile() const;
  template <class Cost> NumberRange best(const Cost& cost) const;
  double squared_error(double low, double high) const;
  double divergence(double low, double high) const;

  double low_ = 0, high_ = 0;    // of the histogram
  double least_ = 0, most_ = 0;  // seen
  double count_ = 0;
  std::vector<double> bins_;
};

}  // namespace veldt::compress
