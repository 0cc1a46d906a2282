// How good a redraw is between the pixels, told without the truth.
// Tests: tests/field/gain_test.cpp
#pragma once

#include <optional>

#include "veldt/field/prior.h"
#include "veldt/field/signal.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

// The PSNR between the pixels that `drawn` is expected to have over Lanczos3, in dB, by how much nearer than
// Lanczos3 it is to `redraw`, the prior's own. That one's gain is told by what the prior gains when it
// redraws the picture from half its size, and by how many of the steps are hard. Both are f32 at
// Prior::kScale times the picture's size. Found on 95 pictures of bench/redraw, where it is off by 1.7 dB
// (root of mean square) and ranks them with 0.89 (Spearman). None for a picture too small to be halved, or
// one that nobody sees.
std::optional<double> expected_gain(const Signal& picture, const Prior& prior, const Tensor& redraw,
                                    const Tensor& drawn);

}  // namespace veldt::field
