// How much better than Lanczos3 a prior redraws what was shrunk.
#pragma once

#include <cstdint>

#include "veldt/field/prior.h"

namespace veldt::prior {

// In dB of PSNR.
struct Gain {
  double four = 0, two = 0;  // at 4x and 2x, from the same pixels
};

// Shrinks the truth, [height, width, channels], by areas, rounds it to 8 bits (or one) and redraws it. What
// does not come in squares of four pixels is cut off at the end.
Gain gain_over_lanczos(const field::Prior& prior, const Tensor& truth, int turns = 1);

// The middle of a picture, at most side x side pixels.
Tensor centre(const Tensor& picture, std::int64_t side);

}  // namespace veldt::prior
