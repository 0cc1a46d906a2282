// Class activation maps: where in a picture a layer's channels are that an output depends on.
// Tests: tests/explain/cam_test.cpp, tests/explain/peers_test.cpp
#pragma once

#include <string>

#include "veldt/explain/target.h"

namespace veldt::explain {

struct CamOptions {
  bool relu = true;  // only what speaks for the target
};

// Both: the channels of what `layer` gives for x, [n, channels, h, w], weighted by their gradients and added
// up: [n, 1, h, w]; enlarge it to the picture by interpolate(). Throw ConfigError for a layer that the
// network does not call, or calls more than once, ShapeError for one that gives no planes, and as
// explain/gradients.h.
//
// The weight of a channel is the mean of its gradients (Selvaraju et al. 2017, "Grad-CAM").
Tensor grad_cam(const nn::Module& model, nn::Module& layer, const Tensor& x, const Targets& targets = {},
                const CamOptions& options = {});
// Places weigh by powers of the gradients that are above 0 (Chattopadhay et al. 2018, "Grad-CAM++"), which
// finds several objects of a class better.
Tensor grad_cam_plus_plus(const nn::Module& model, nn::Module& layer, const Tensor& x,
                          const Targets& targets = {}, const CamOptions& options = {});

// The layer for it, unless you know better: what the last convolution gives, after the norms, activations and
// sums behind it that leave its shape. Only those that give more than one place count. Throws ConfigError for
// a network that calls none for x.
nn::NamedModule last_convolution(const nn::Module& model, const Tensor& x);

}  // namespace veldt::explain
