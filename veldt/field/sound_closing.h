// How a sound's field becomes exact: what it lacks at each frame is kept beside it, and between the frames
// the sound is what a windowed sinc makes of them. What the field itself would be there is never asked for.
// Tests: tests/field/sound_field_test.cpp
#pragma once

#include "veldt/field/closing.h"
#include "veldt/field/field.h"
#include "veldt/field/signal.h"

namespace veldt::field {

// What `open`, a field without a closing, lacks of the sound at each frame: rounded to f16, and where that is
// not as good as 16 bits what the rounding lost as well.
Closing close_sound(const Signal& sound, const Field& open);

// Field::render_bands() of a sound with a closing.
void play_closed(const Field& field, std::int64_t frames, const Region& region, const Field::Band& band);

// Frames of the fitted sound for each of those that are drawn.
double fitted_a_frame(const FieldOptions& options, std::int64_t frames, const Region& region);

}  // namespace veldt::field
