// The film of a fit: what the field draws while it learns, as an animated PNG.
// Tests: tests/app/film_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/core/size.h"
#include "veldt/field/field.h"

namespace veldt::app {

// Looks at the picture after some steps, ever more of them apart, and keeps it where it has changed since the
// last one: the beginning, where most happens, is shown step by step. So the film depends on the steps alone,
// and that of a run which was stopped and resumed is the same, unless frames were left out of it before. The
// longer side of a frame has 160 to 320 pixels; there are at most 240 frames, and 24 MiB. A clip is shown at
// the moment in its middle.
class FilmMaker {
 public:
  // Keeps a reference to the field. Throws UsageError for a sound.
  FilmMaker(std::string path, const field::Field& field);

  // Before the first step of this run, at `step`. A run that goes on has its earlier frames in the film that
  // its last process left; without one (false) the film begins here.
  bool begin(std::int64_t step);
  void on_step(std::int64_t step);
  // Writes what there is so far, for a run that goes on later. Throws IoError.
  void save() const;
  // The last frame is the field as it is now, and is shown for longer. Throws IoError.
  void finish();
  std::int64_t frames() const { return static_cast<std::int64_t>(frames_.size()); }

  static constexpr std::int64_t kMostFrames = 240;

 private:
  using Pixels = std::vector<std::uint8_t>;
  Pixels draw() const;
  void keep(Pixels picture);

  std::string path_;
  const field::Field& field_;
  Size size_;
  std::vector<Pixels> frames_;
  std::int64_t next_ = 1;         // step to look at
  double least_change_ = 0.0025;  // mean difference of levels, as a share of white
};

}  // namespace veldt::app
