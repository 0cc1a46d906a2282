// metrics.csv, and the same as JSON lines beside it: a line for each evaluation of a fit, whole after each of
// them.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veldt::train {

class MetricsFile {
 public:
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}

  // For a run that goes on from `step`: keeps the lines up to there of a file that is there. Without one, or
  // from step 0, it begins anew. Throws IoError if it cannot be read.
  void begin(std::int64_t step);
  // Writes the file with one line more, which takes the place of one of the same step. The first of `values`
  // is the step; one that is not finite is null in JSON. Throws IoError unwritable.
  void add(const std::vector<std::string>& columns, const std::vector<double>& values);

 private:
  std::string path_, header_;
  std::vector<std::string> lines_;
};

}  // namespace veldt::train
