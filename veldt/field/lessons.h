// What the steps of a fit learn, made before the first of them; and what is put right after the last.
// Tests: tests/field/fit_test.cpp, tests/field/closing_test.cpp, tests/field/transparency_test.cpp
#pragma once

#include <optional>

#include "veldt/field/closing.h"
#include "veldt/field/field.h"
#include "veldt/field/choices.h"
#include "veldt/field/signal.h"
#include "veldt/field/watch.h"

namespace veldt::field {

// The choices as the steps see it: with a teacher, of a signal at footprint times the size, without a
// footprint.
FitChoices choices_of_lessons(const FitChoices& choices);
// That signal: the teacher's redraw, or the signal itself. None if it was stopped.
std::optional<Signal> lessons_of(const Signal& signal, const FitChoices& choices, const Watch& watch);
// One of the same size and no content, to find out what a step takes.
Signal blank_lessons(const Signal& signal, const FitChoices& choices);

// What a fit takes beside its steps, about: the work of teacher and closing, what lies in memory during the
// steps and at most, and how long the closing is in the file.
struct Beside {
  double flops = 0, held_bytes = 0, peak_bytes = 0, closing_bytes = 0;
};
Beside beside_steps(const FitChoices& choices);

// The PSNR between the pixels that `field` is expected to have over Lanczos3, in dB: see gain.h. `lessons`
// are what it learned. None where there is no judge, or where it was stopped.
std::optional<double> expected_gain(const Field& field, const Signal& signal, const FitChoices& choices,
                                    const Signal& lessons, const Watch& watch);

// What makes `field`, which has learned, right at the pixels; none where the fit has no need of one.
Closing closing_for(const Field& field, const Signal& signal, const FitChoices& choices, const Heard& heard);

}  // namespace veldt::field
