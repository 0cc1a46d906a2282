// What the evaluations of a fit leave in its folder: metrics.csv and best.safetensors. They are written once
// a second at most, since each file waits for the disk and short epochs are over in less, and before each
// checkpoint, so that one never knows of more than the files.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veldt/train/best_weights.h"
#include "veldt/train/metrics_file.h"

namespace veldt::train {

class FitFiles {
 public:
  // As BestWeights. Without a folder nothing is written.
  FitFiles(nn::Module& model, Averages& average, const BestOptions& options, const Events& events);

  // Call before the first step of a new or resumed run.
  void begin(std::int64_t step);
  // As BestWeights::judge().
  bool judge(std::int64_t step, double score, FitState& state);
  // Call after each evaluation, and after it was judged: a line of metrics.csv, as MetricsFile::add().
  void add(const std::vector<std::string>& columns, const std::vector<double>& values);
  // Writes what has not been written. A file that cannot be is a warning.
  void write();
  // As BestWeights::restore().
  void restore(std::int64_t step, const FitState& state) { best_weights_.restore(step, state); }

 private:
  using Clock = std::chrono::steady_clock;
  bool is_time() const;

  const Events& events_;
  BestWeights best_weights_;
  std::optional<MetricsFile> metrics_;
  std::optional<Clock::time_point> written_at_;
};

}  // namespace veldt::train
