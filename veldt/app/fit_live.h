// What a fit shows on its page: the picture as it is, what it learns from, and its choices.
// Tests: tests/app/live_test.cpp, tests/app/pages_test.py
#pragma once

#include <functional>

#include "veldt/app/live_run.h"
#include "veldt/app/score.h"
#include "veldt/field/fit.h"
#include "veldt/field/signal.h"

namespace veldt::app {

// Shows the field's pictures, at most 384 pixels along the longer side (of a sound the waveform around its
// loudest moment), the truth beside them, and the choices as facts. Keeps references. `save`: what to save
// when a viewer asks and there are no checkpoints.
void show_fit(LiveRun& live, const field::Fitter& fitter, const field::Signal& truth,
              std::function<void()> save);

void show_score(LiveRun& live, const FitScore& score, bool is_sound);

}  // namespace veldt::app
