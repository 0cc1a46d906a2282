// The choices that make a fit good without flags, from the content of the picture. The measurements behind
// them are in bench/RESULTS.md.
// Tests: tests/field/fit_test.cpp, tests/field/reasons_test.cpp, tests/field/kind_test.cpp
#pragma once

#include "veldt/field/choices.h"
#include "veldt/field/spectrum.h"

namespace veldt::field {

// Sets the field's facts about the signal itself: its size, its channels, its rate.
void describe(const Signal& signal, FieldOptions& field);

// The measurements of a signal, shared by all choices.
struct Traits {
  PictureFacts facts;     // of a picture
  PictureKind kind;       // the wished one, if one is wished
  PictureKind seen;       // whatever was requested
  Spectrum down, across;  // a sound has only the first
};
Traits traits_of(const Signal& signal, std::optional<Style> wish);

// Everything except sizes, wishes and seed.
FitChoices automatic_picture(const Signal& signal, const Traits& traits, const FitOptions& wishes);
FitChoices automatic_clip(const Signal& clip, const FitOptions& wishes);
FitChoices automatic_sound(const Signal& sound, const FitOptions& wishes);

// The choices of the original story, exactly: 3-128-128-256-128-64-64-64-1 without biases but with a constant
// third input, tanh, sigmoid at the end, coordinates i / (N - 1), 1 for ink, all pixels in every step, plain
// gradient descent on the mean squared error, cosine annealing to 1e-6, 1.2 million steps.
FitChoices simba_choices();

}  // namespace veldt::field
