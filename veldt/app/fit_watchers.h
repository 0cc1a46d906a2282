// Those who look at a fit while it learns: previews, the picture on the terminal, the film.
// Tests: tests/app/fit_test.cpp, tests/app/film_test.cpp, tests/app/terminal_picture_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veldt/app/frame.h"
#include "veldt/app/film_maker.h"
#include "veldt/app/picture_panel.h"
#include "veldt/app/progress_line.h"
#include "veldt/field/field.h"

namespace veldt::app {

// "{step}" in the name becomes the step.
std::string preview_path(const std::string& name, std::int64_t step);

struct Previews {
  std::string path;  // empty for none
  std::int64_t every = 100;
};

class FitWatchers {
 public:
  // Keeps references to field and line.
  FitWatchers(Previews previews, std::optional<FilmMaker> film, PictureWay way, const field::Field& field,
              ProgressLine& line);

  // Before the first step, at `step` of a run that goes on.
  void begin(std::int64_t step);
  void on_step(std::int64_t step);
  // In this process, the first one of several.
  bool has_seen_a_step() const { return has_seen_a_step_; }
  // When a checkpoint was written: what is kept besides fits it. A failure is a warning, here and above.
  void saved();
  // After the run, which may go on later from a checkpoint. Throws IoError.
  void finish(bool goes_on);

 private:
  void preview(std::int64_t step);
  template <class Write> void write_or_warn(const Write& write);

  Previews previews_;
  std::optional<FilmMaker> film_;
  const field::Field& field_;
  ProgressLine& line_;
  PicturePanel panel_;
  bool has_seen_a_step_ = false;
};

}  // namespace veldt::app
