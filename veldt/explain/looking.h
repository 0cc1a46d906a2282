// What layers look for: the filters of the first one, and the inputs that drive a channel most.
// Tests: tests/explain/looking_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::explain {

// The weights of the first Conv2d among the modules, as a picture [height, width, 1 or 3] in 0..1: filters
// of one or three channels each as a tile, of other numbers of channels a tile for each channel; all on one
// scale, grey is 0, with a line of grey between them. Krizhevsky et al. 2012 show such a picture. Throws
// ConfigError for a network without one.
Tensor first_layer_filters(const nn::Module& model);

struct Activation {
  double value = 0;        // the channel's largest
  std::int64_t index = 0;  // of the input, counted over all batches
  std::int64_t place = 0;  // where it was, counted row by row over the layer's height and width
};
// The `count` inputs for which `channel` of what `layer` gives, [n, channels, ..], has its largest values,
// the largest first (Zeiler & Fergus 2014). `next` gives batches until one is undefined. Throws ConfigError
// for a layer that is not called, a channel that it does not have, and a count below 1.
std::vector<Activation> most_activating(const nn::Module& model, nn::Module& layer, std::int64_t channel,
                                        const std::function<Tensor()>& next, std::int64_t count = 9);

}  // namespace veldt::explain
