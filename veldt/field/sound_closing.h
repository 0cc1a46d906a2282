// Makes a sound's field exact: its error at each frame is stored, and between the frames a windowed sinc
// interpolates. The field itself is never evaluated between frames.
// Tests: tests/field/sound_field_test.cpp
#pragma once

#include "veldt/field/closing.h"
#include "veldt/field/field.h"
#include "veldt/field/signal.h"

namespace veldt::field {

// The error of `open`, a field without a closing, at each frame: rounded to f16, and if that is worse than 16
// bits the rounding error as well.
Closing close_sound(const Signal& sound, const Field& open);

// Field::render_bands() of a sound with a closing.
void play_closed(const Field& field, std::int64_t frames, const RenderOptions& how, const Field::Band& band);

// Frames of the fitted sound for each of those that are drawn.
double fitted_a_frame(const FieldOptions& options, std::int64_t frames, const Region& region);

}  // namespace veldt::field
