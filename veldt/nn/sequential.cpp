// A list of modules that are called in order.
#include "veldt/nn/sequential.h"

namespace veldt::nn {

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const NamedLayer& layer : layers_) y = (*layer.module)(y);
  return y;
}

TensorList Sequential::forward_list(const TensorList& inputs) const {
  TensorList all = inputs;
  for (const NamedLayer& layer : layers_) all = (*layer.module)(all);
  return all;
}

}  // namespace veldt::nn
