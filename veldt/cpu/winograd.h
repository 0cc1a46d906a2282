// Convolutions of 3x3 by Winograd's minimal filtering F(4x4, 3x3): a quarter of the multiplications (Winograd
// 1980; Lavin & Gray 2016). Each 6x6 window of x, and the weights, are transformed; then there are 36 matrix
// products over the channels. Rounding errors are some times larger than those of the plain sums, and
// a NaN or an infinity of x makes NaN of all that lies in its windows, up to five pixels away.
// Tests: tests/cpu/winograd_test.cpp
#pragma once

#include "veldt/core/convolution.h"

namespace veldt::cpu {

// The part of a convolution from the two others; the bias, or null, is for y. Returns false and does nothing
// for another kernel, stride, dilation or number of groups, and where it would not be faster. The bits do not
// depend on the number of threads.
bool winograd_convolve(const ConvSizes& sizes, ConvPart part, float* x, float* w, const float* bias,
                       float* y);

}  // namespace veldt::cpu
