// The target of a fit's steps, made before the first one, and the correction after the last.
// Tests: tests/field/fit_test.cpp, tests/field/closing_test.cpp, tests/field/transparency_test.cpp
#pragma once

#include <optional>

#include "veldt/field/closing.h"
#include "veldt/field/field.h"
#include "veldt/field/choices.h"
#include "veldt/field/signal.h"
#include "veldt/field/watch.h"

namespace veldt::field {

// The choices for the steps: with a teacher, those of a signal at footprint times the size, without a
// footprint.
FitChoices choices_of_lessons(const FitChoices& choices);
// The signal to learn: the teacher's redraw, or the signal itself. None if it was stopped.
std::optional<Signal> lessons_of(const Signal& signal, const FitChoices& choices, const Watch& watch);
// One of the same size without content, to measure a step.
Signal blank_lessons(const Signal& signal, const FitChoices& choices);

// The approximate cost of a fit besides its steps: the work of teacher and closing, the memory during the
// steps and at most, and the size of the closing in the file.
struct Beside {
  double flops = 0, held_bytes = 0, peak_bytes = 0, closing_bytes = 0;
};
Beside beside_steps(const FitChoices& choices);

// The expected PSNR gain of `field` over Lanczos3 between the pixels, in dB: see gain.h. `lessons`: the
// signal that it learned. None without a judge, or if it was stopped.
std::optional<double> expected_gain(const Field& field, const Signal& signal, const FitChoices& choices,
                                    const Signal& lessons, const Watch& watch);

// The closing that makes the trained `field` exact at the pixels; none if the fit needs none.
Closing closing_for(const Field& field, const Signal& signal, const FitChoices& choices, const Heard& heard);

}  // namespace veldt::field
