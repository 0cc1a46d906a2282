// The picture that a fit has learned so far, above its progress line on a terminal.
// Tests: tests/app/terminal_picture_test.cpp
#pragma once

#include <functional>
#include <string>

#include "veldt/app/frame.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/terminal_picture.h"
#include "veldt/field/field.h"

namespace veldt::app {

// Drawn at most twice a second, and so seldom that it takes at most a hundredth of the time. The last one
// stays when the line ends.
class PicturePanel {
 public:
  // Keeps references to both. `way` off: on_step() does nothing. `clock`: of tests.
  PicturePanel(ProgressLine& line, const field::Field& field, PictureWay way,
               std::function<double()> clock = {});
  // After a step, at any rate.
  void on_step();

 private:
  void draw();

  ProgressLine& line_;
  const field::Field& field_;
  PictureWay way_;
  std::function<double()> clock_;
  double next_at_ = 0;
};

}  // namespace veldt::app
