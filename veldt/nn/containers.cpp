// What modules of others compute.
#include "veldt/nn/containers.h"

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"

namespace veldt::nn {

Tensor Lambda::forward(const Tensor& x) const {
  if (one_) return one_(x);
  const TensorList all = list_({x});
  if (all.size() != 1)
    throw Error(str(title_, " gave ", all.size(), " tensors"), "one was asked for",
                "call it with a list: module(TensorList{x})");
  return all[0];
}

TensorList Lambda::forward_list(const TensorList& inputs) const {
  return list_ ? list_(inputs) : Module::forward_list(inputs);
}

Tensor Residual::forward(const Tensor& x) const {
  const Tensor y = (*body_)(x), z = (*shortcut_)(x);
  if (y.shape() != z.shape())
    throw ShapeError(str("Residual cannot add ", y.shape(), " and ", z.shape()),
                     "the body's output has another shape than the shortcut's",
                     "give a shortcut that changes x as the body does, such as a Conv2d of kernel 1");
  return y + z;
}

void Residual::fields(Fields& f) {
  body_.list(f, "body");
  shortcut_.list(f, "shortcut");
}

void Residual::unshare() {
  body_.unshare("body");
  shortcut_.unshare("shortcut");
}

Branches::Branches(const std::vector<AnyModule>& branches) {
  for (const AnyModule& branch : branches) branches_.add(std::to_string(size()), branch);
}

Branches::Branches(const std::vector<NamedLayer>& branches) {
  for (const NamedLayer& branch : branches) branches_.add(branch.name, branch.module);
}

Tensor Concat::forward(const Tensor& x) const {
  std::vector<Tensor> all;
  for (const NamedLayer& branch : branches()) all.push_back((*branch.module)(x));
  return cat(all, dim_);
}

std::string Concat::title() const { return str("Concat(", dim_, ')'); }

TensorList Parallel::forward_list(const TensorList& inputs) const {
  if (inputs.size() != 1 && inputs.size() != size())
    throw Error(str("Parallel cannot take ", inputs.size(), " inputs"), str("it has ", size(), " branches"),
                "give one input for all, or one for each");
  TensorList all;
  for (const NamedLayer& branch : branches())
    all.push_back((*branch.module)(inputs.size() == 1 ? inputs[0] : inputs[all.size()]));
  return all;
}

}  // namespace veldt::nn
