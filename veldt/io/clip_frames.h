// All frames of an animated picture, and how long each is shown.
// Tests: tests/io/clip_test.cpp
#pragma once

#include <numeric>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

struct Clip {
  Tensor frames;                // u8 [frames, height, width, channels], channels as of read_image()
  std::vector<double> seconds;  // that each frame is shown, above 0

  double duration() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }  // of all
};

}  // namespace veldt::io
