// The distribution of a signal's energy over frequencies: a measure of its detail before it is fitted.
// Tests: tests/field/spectrum_test.cpp
#pragma once

#include "veldt/field/signal.h"
#include "veldt/field/spectrum_lines.h"

namespace veldt::field {

// By Welch's method (1967): the mean power of the discrete Fourier transforms of segments that overlap by
// half, under a Hann window, of all channels alike. Segments are of 256 samples (2048 of a sound) or the
// largest power of two that fits; a large signal is represented by 64 lines with 512 segments, spread evenly,
// so the cost is bounded.
Spectrum spectrum_of(const Signal& signal, Axis axis);

}  // namespace veldt::field
