// The display of a training run: a line for each evaluation, and on a terminal its loss curves above a live
// line.
// Tests: tests/app/train_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/app/progress_line.h"
#include "veldt/train/trainer.h"

namespace veldt::app {

// A curve of braille dots, `width` by `height` characters, below a line with its name and last value; at its
// left the greatest and the least value. Each column shows the mean of its share of the values.
std::vector<std::string> curve_of_dots(const std::string& name, const std::vector<double>& values, int width,
                                       int height);

class TrainingView {
 public:
  TrainingView(bool quiet, double steps_per_epoch);
  void update(const train::Progress& progress);
  void update(const train::Evaluation& evaluation);
  void warn(const std::string& text) { line_.warn(text); }
  void note(const std::string& text) { line_.note(text); }
  void finish() { line_.finish(); }

 private:
  ProgressLine line_;
  void draw_panel();

  double steps_per_epoch_;
  std::vector<double> losses_, watched_;  // of training; the first score of each evaluation
  std::int64_t heard_ = 0, every_ = 1;    // updates, and how many of them per kept one
  std::string watched_name_;
};

}  // namespace veldt::app
