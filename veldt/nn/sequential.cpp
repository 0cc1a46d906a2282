// A list of modules that are called in order, and named by their indices.
#include "veldt/nn/sequential.h"

#include "veldt/core/error.h"

namespace veldt::nn {

void Sequential::append(std::shared_ptr<Module> layer, Copy copy) {
  if (!layer) throw Error("cannot add a null layer", "the pointer holds no module", "make the module first");
  layers_.push_back({std::move(layer), copy});
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const Layer& layer : layers_) y = (*layer.module)(y);
  return y;
}

void Sequential::fields(Fields& f) {
  for (std::size_t i = 0; i < layers_.size(); ++i) f(std::to_string(i), layers_[i].module);
}

void Sequential::unshare() {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    std::shared_ptr<Module> copy = layers_[i].copy(*layers_[i].module);
    if (!copy)
      throw Error(str("cannot clone layer ", i, ", a ", layers_[i].module->title()),
                  "it was added as a type other than its own, or cannot be copied",
                  "add it by value, or as a shared_ptr to its own type");
    layers_[i].module = std::move(copy);
  }
}

Module& Sequential::operator[](std::size_t i) const {
  if (i >= layers_.size())
    throw Error(str("there is no layer ", i), str("the Sequential has ", layers_.size()), "count from 0");
  return *layers_[i].module;
}

}  // namespace veldt::nn
