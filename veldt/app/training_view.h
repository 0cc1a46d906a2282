// What a training run shows of itself: a live line with the curve of the loss, and a line for each
// evaluation.
#pragma once

#include <string>
#include <vector>

#include "veldt/app/progress_line.h"
#include "veldt/train/trainer.h"

namespace veldt::app {

// Values as a line of blocks, the lowest for the least: "█▆▄▃▂▂▁▁", at most `width` of them, each the mean of
// its share; of letters where the terminal has no blocks.
std::string sparkline(const std::vector<double>& values, std::size_t width, bool utf8);

class TrainingView {
 public:
  TrainingView(bool quiet, double steps_per_epoch);
  void update(const train::Progress& progress);
  void update(const train::Evaluation& evaluation);
  void warn(const std::string& text) { line_.warn(text); }
  void finish() { line_.finish(); }

 private:
  ProgressLine line_;
  double steps_per_epoch_;
  std::vector<double> losses_;
};

}  // namespace veldt::app
