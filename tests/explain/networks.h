// Small networks that the tests of explanations share.
#pragma once

#include "veldt/nn/activations.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/random.h"
#include "veldt/ops/unary.h"

namespace veldt::explain {

// Of pictures [n, 3, 12, 12], five outputs; its norm is as after some training.
inline nn::Sequential picture_network(Rng& rng) {
  nn::Sequential net;
  net.add(nn::Conv2d(3, 6, 3, {.padding = 1}, rng));
  net.add(nn::BatchNorm2d(6));
  net.add(nn::ReLU());
  net.add(nn::Conv2d(6, 8, 3, {.padding = 1}, rng));
  net.add(nn::ReLU());
  net.add(nn::MaxPool2d(2));
  net.add(nn::Flatten());
  net.add(nn::Linear(288, 16, rng));
  net.add(nn::ReLU());
  net.add(nn::Linear(16, 5, rng));
  for (const auto& [name, tensor] : net.state_dict()) {
    if (name == "1.weight" || name == "1.running_var")
      tensor.detach().assign(rand(tensor.shape(), rng, 0.5, 1.5));
    if (name == "1.bias" || name == "1.running_mean")
      tensor.detach().assign(randn(tensor.shape(), rng, 0, 0.3));
  }
  return net;
}

}  // namespace veldt::explain
