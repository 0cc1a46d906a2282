// The spectrum of a signal that is in memory, or that was seen while it was read.
#include "veldt/field/spectrum.h"

#include "veldt/field/survey.h"

namespace veldt::field {

Spectrum spectrum_of(const Signal& signal, Axis axis) {
  if (const Survey* const survey = signal.survey(); survey != nullptr)
    return axis == Axis::across ? survey->across : survey->down;
  return spectrum_of_samples(signal.samples(), axis, signal.is_sound() ? kSoundSegment : kPictureSegment);
}

}  // namespace veldt::field
