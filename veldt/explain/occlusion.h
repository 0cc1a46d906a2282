// What an output loses when a part of the picture is covered.
// Tests: tests/explain/occlusion_test.cpp, tests/explain/peers_test.cpp
#pragma once

#include <functional>

#include "veldt/explain/target.h"

namespace veldt::explain {

struct OcclusionOptions {
  std::int64_t window = 0;  // pixels of a side of what is covered; 0: an eighth of the shorter one
  std::int64_t stride = 0;  // from one window to the next; 0: half a window
  Tensor cover = {};        // what it is covered with, of a shape that broadcasts to x's; undefined: 0
  std::int64_t at_once = 16;
  std::function<bool(std::int64_t done, std::int64_t all)> heard = {};  // returns false to stop
};

// The mean loss of the target's output over the windows that cover a pixel, with its sign (Zeiler & Fergus
// 2014, "Visualizing and understanding convolutional networks"): x [n, channels, height, width] -> [n, 1,
// height, width]. It asks the network once for each window, and no gradient. Undefined if `heard` stopped it.
// Throws ShapeError for another x, ConfigError for a window larger than the picture, and for a stride larger
// than the window, which would leave pixels out.
Tensor occlusion(const nn::Module& model, const Tensor& x, const Targets& targets = {},
                 const OcclusionOptions& options = {});

}  // namespace veldt::explain
