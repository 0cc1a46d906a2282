// Fits a signal: from samples to a Field.
// Tests: tests/field/fit_test.cpp, tests/field/ranks_test.cpp, tests/field/golden_test.cpp,
// tests/field/device_test.cpp, tests/field/sound_field_test.cpp, tests/field/out_of_memory_test.cpp
#pragma once

#include <memory>
#include <string>

#include "veldt/core/error.h"
#include "veldt/field/image_field.h"
#include "veldt/field/lessons.h"
#include "veldt/field/choices.h"
#include "veldt/field/signal.h"
#include "veldt/field/sound_field.h"
#include "veldt/tensor/plan.h"
#include "veldt/train/events.h"
#include "veldt/train/loop.h"

namespace veldt::field {

// Where and how often a fit keeps checkpoints; see train::RunOptions.
struct CheckpointOptions {
  std::string directory;  // empty: none
  double every = 30;      // seconds
  int keep = 3;
  bool resume = false;
};

// A fit in progress: the field can be drawn (from Events) while it learns.
class Fitter {
 public:
  Fitter(const Signal& signal, const FitChoices& choices);
  ~Fitter();

  const FitChoices& choices() const;
  const Field& field() const;
  // The work and memory of one step, without taking it.
  StepFacts step_facts();
  // Seconds per step, measured for `seconds` on dummy data. Only for estimates: the field is useless
  // afterwards.
  double measure_step(double seconds);
  // What a resumed run, and every rank of one, must have alike: a JSON object of the choices, with digests of
  // the signal and of what the fit begins with.
  std::string config() const;
  // The size of a checkpoint in bytes, without parameters and optimizer state.
  std::int64_t own_state_bytes() const;
  // The expected gain of the redraw over Lanczos3 between the pixels, in dB, after run(); none if it cannot
  // be estimated, or was stopped by `watch`.
  std::optional<double> expected_gain(const Watch& watch = {}) const;
  // Trains to the end. `teaching` gets the progress of the teacher, which runs before the first step and
  // counts as time of the run; if it is stopped, no step is taken. `closing` gets the progress of the closing
  // after the last step. Throws as train::run does.
  train::RunResult run(const CheckpointOptions& checkpoints, const train::Events& events,
                       const Watch& teaching = {}, const Heard& closing = {});

 private:
  class Job;
  // Throws an error with the batch that fits, if there is one.
  static void say_what_fits(const OutOfMemory& full, const Signal& signal, const FitChoices& choices);
  train::RunOptions run_options(const CheckpointOptions& checkpoints, double spent) const;
  std::unique_ptr<Job> job_;
  mutable std::string config_;  // which takes a while
};

// How well the field draws the signal it was fitted to, in dB: PSNR of a picture, SNR of a sound. Needs
// little additional memory. Several ranks that have the same field and signal share the drawing.
double quality_of(const Field& field, const Signal& signal, dist::Communicator* ranks = nullptr);

// Fits `picture`, [height, width, channels] in 0..1 or in bytes, with the best choices for it. Throws
// ShapeError or ConfigError as Signal and choices_for(), DivergedError if training diverges.
//   const ImageField cub = field::fit(io::read_image("cub.png"), {.seconds = 10, .seed = 7});
ImageField fit(const Tensor& picture, const FitOptions& options = {}, const train::Events& events = {});
// The same for a sound: samples [frames, channels], `rate` frames a second.
SoundField fit_sound(const Tensor& samples, std::int64_t rate, const FitOptions& options = {},
                     const train::Events& events = {});

}  // namespace veldt::field
