// --dry-run: the time, memory and files of a run, estimated without writing anything.
// Tests: tests/app/fit_test.cpp, tests/app/render_test.cpp, tests/app/sound_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"
#include "veldt/app/drawing.h"
#include "veldt/field/reasons.h"
#include "veldt/field/fit.h"

namespace veldt::app {

struct FitOutputs {
  std::string output, preview, film;  // empty for none
  std::int64_t preview_every = 100;
  field::CheckpointOptions checkpoints;
};

// Trains for half a second to measure the rate, unless a step alone would take longer. `reasons` go into the
// JSON, if there are any.
int dry_run_fit(field::Fitter& fitter, const FitOutputs& outputs, const std::vector<field::Reason>& reasons,
                Context& context);

// Draws for half a second to measure the rate and the memory, at least one band of rows.
// `pictures` of them: the frames of an animation.
int dry_run_render(const Drawing& drawing, int bits, const std::string& output, Context& context,
                   std::int64_t pictures = 1);

// The note for a drawing that will take that many seconds, and keeps nothing if it is stopped.
std::string long_drawing(const Drawing& drawing, int bits, const std::string& output, double seconds);

}  // namespace veldt::app
