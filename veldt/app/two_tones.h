// Pictures of two colours: on which side of the two a pixel is.
// Tests: tests/app/verbs_test.cpp, tests/app/fit_test.cpp
#pragma once

#include <cstdint>
#include <optional>

#include "veldt/field/signal.h"
#include "veldt/tensor/tensor.h"

namespace veldt::app {

// The colours of a picture that has two and no others, as a picture of two pixels: f32 [1, 2, channels].
std::optional<Tensor> two_tones_of(const field::Signal& picture);

// The number of pixels that are nearer to one of `tones` in one picture and nearer to the other tone in the
// other. The pictures are f32 [rows, width, channels].
std::int64_t wrong_pixels(const Tensor& a, const Tensor& b, const Tensor& tones);

}  // namespace veldt::app
