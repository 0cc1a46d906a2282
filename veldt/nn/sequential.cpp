#include "veldt/nn/sequential.h"

#include "veldt/core/error.h"

namespace veldt::nn {

void Sequential::append(std::shared_ptr<Module> layer) {
  if (!layer) throw Error("cannot add a null layer", "the pointer holds no module", "make the module first");
  layers_.push_back(std::move(layer));
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const auto& layer : layers_) y = layer->forward(y);
  return y;
}

void Sequential::fields(Fields& f) {
  for (std::size_t i = 0; i < layers_.size(); ++i) f(std::to_string(i), layers_[i]);
}

Module& Sequential::operator[](std::size_t i) const {
  if (i >= layers_.size())
    throw Error(str("there is no layer ", i), str("the Sequential has ", layers_.size()), "count from 0");
  return *layers_[i];
}

}  // namespace veldt::nn
