// metrics.csv, and the same as JSON lines: a line for each evaluation of a fit; both files are complete after
// each write().
// Tests: tests/train/metrics_file_test.cpp, tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veldt::train {

class MetricsFile {
 public:
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}

  // For a run that continues from `step`: keeps the lines of an existing file up to there. Without a file, or
  // from step 0, it starts empty. Throws IoError if it cannot be read.
  void begin(std::int64_t step);
  // One more line, which replaces one of the same step. The first of `values` is the step; a value that is
  // not finite is null in JSON.
  void add(const std::vector<std::string>& columns, const std::vector<double>& values);
  // Writes the files if there are lines that they lack. Throws IoError unwritable.
  void write();

 private:
  std::string path_;
  std::vector<std::string> columns_;  // empty: all is written
  std::vector<std::string> lines_;
};

}  // namespace veldt::train
