// A picture and one at an integer multiple of its size: means over the pixels, and enlargement. Pictures are
// f32 [height, width, channels].
// Tests: tests/field/areas_test.cpp, tests/field/device_test.cpp
#pragma once

#include <cstdint>

#include "veldt/data/resample.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

// The mean of each square of factor x factor. Both sides are multiples of factor.
Tensor means_of_squares(const Tensor& redraw, std::int64_t factor);

// As data::resample() to factor times the size, by bicubic or lanczos3, but in a fraction of its time, since
// the weights are the same in every pixel; the border's pixels extend beyond it.
Tensor enlarged(const Tensor& picture, std::int64_t factor, data::Filter filter);

// Each pixel as factor x factor equal ones.
Tensor repeated(const Tensor& picture, std::int64_t factor);

}  // namespace veldt::field
