// Places parameters side by side, moves their values there, and collects gradients from elsewhere.
#include "veldt/optim/slab.h"

#include <map>
#include <set>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/graph.h"

namespace veldt::optim {
namespace {

constexpr std::int64_t kAlignment = 64;  // bytes: a cache line, and the widest register

void check_one(const std::string& name, const Tensor& t, const Tensor& first) {
  if (!t.defined())
    throw ConfigError(str("parameter ", name, " is undefined"), "an optimizer moves the parameters' values",
                      "give the parameter its first values");
  if (!t.requires_grad())
    throw ConfigError(str("parameter ", name, " of shape ", t.shape(), " requires no gradient"),
                      "backward() would never give it one, and it would stay as it is",
                      "unfreeze it, or leave it out of the optimizer's list");
  if (t.dtype() != first.dtype() || t.device() != first.device())
    throw ConfigError(str("parameter ", name, " is ", t.dtype(), " on ", t.device(), ", the first one ",
                          first.dtype(), " on ", first.device()),
                      "the parameters of an optimizer lie in one array",
                      "convert the model with to(), or use two optimizers");
  if (t.dtype() != DType::f32 && t.dtype() != DType::f64)
    throw ConfigError(str("parameter ", name, " is ", t.dtype()), "optimizers work on f32 and f64",
                      "keep the parameters in f32, and compute in halves by an Autocast");
}

void check(const NamedTensors& parameters) {
  if (parameters.empty())
    throw ConfigError("the optimizer was given no parameters", "the list is empty",
                      "pass model.parameters(), and name every member in fields()");
  std::map<std::string, const TensorImpl*> named;
  for (const auto& [name, tensor] : parameters) {
    check_one(name, tensor, parameters.front().tensor);
    if (named.emplace(name, tensor.impl()).first->second != tensor.impl())
      throw ConfigError(str("two parameters are named ", name), "an optimizer saves its state by name",
                        "give each its own name, as named_parameters() does");
  }
}

// Whether the tensor's elements are those of the slab's part, in order.
bool lies_in(const Tensor& t, const View& place) {
  return t.view().data == place.data && t.dtype() == place.dtype && t.is_contiguous();
}

}  // namespace

Slab::Slab(const NamedTensors& parameters) {
  check(parameters);
  const Tensor& first = parameters.front().tensor;
  const std::int64_t unit = kAlignment / static_cast<std::int64_t>(size_of(first.dtype()));
  std::set<const TensorImpl*> seen;
  std::int64_t end = 0;
  for (const auto& [name, tensor] : parameters) {
    if (!seen.insert(tensor.impl()).second) continue;
    parameters_.push_back(tensor);
    names_.push_back(name);
    const std::int64_t begin = end;
    end += (tensor.numel() + unit - 1) / unit * unit;
    ranges_.push_back({begin, end});
  }
  values_ = zeros({end}, first.dtype(), first.device());
  gradients_ = make_state();
  label_memory(values_, "parameters");
  label_memory(gradients_, "gradients");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    move_into_slab(parameters_[i], values_, ranges_[i].begin);
    bring_gradient(i);
  }
}

Tensor Slab::make_state() const {
  const Tensor state = zeros_like(values_);
  label_memory(state, "optimizer state");
  return state;
}

Tensor Slab::part(const Tensor& slab, std::size_t i) const {
  const Shape& shape = parameters_[i].shape();
  return slab.alias(shape, contiguous_strides(shape), ranges_[i].begin);
}

Tensor Slab::part(const Tensor& slab, Range range) {
  const Shape shape{range.end - range.begin};
  return slab.alias(shape, contiguous_strides(shape), range.begin);
}

View Slab::view(const Tensor& slab, Range range) {
  View v = slab.view();
  v.data = static_cast<char*>(v.data) + range.begin * static_cast<std::int64_t>(size_of(v.dtype));
  v.shape = {range.end - range.begin};
  v.strides = {1};
  return v;
}

// Makes the parameter's gradient a part of the slab, wherever it is now.
void Slab::bring_gradient(std::size_t i) {
  Tensor& p = parameters_[i];
  Tensor place = part(gradients_, i);
  const Tensor now = p.grad();
  if (now.defined()) place.assign(now);  // which may share its memory, in another order
  keep_grad_in(p, place);
  if (!now.defined()) p.zero_grad();
}

const std::vector<Slab::Range>& Slab::collect() {
  present_.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    const Range range = ranges_[i];
    if (!lies_in(p, view(values_, range)))
      throw Error(str("parameter ", names_[i], " was moved after the optimizer was built"),
                  "its values no longer lie where the optimizer changes them",
                  "build the optimizer last, and give a parameter to one optimizer only");
    const Tensor g = p.grad();
    const View place = view(gradients_, range);
    if (!g.defined()) {
      kernels(gradients_).fill(place, 0);
      continue;
    }
    if (!lies_in(g, place)) bring_gradient(i);
    if (!present_.empty() && present_.back().end == range.begin)
      present_.back().end = range.end;
    else
      present_.push_back(range);
  }
  return present_;
}

void Slab::take_gradient(std::size_t i) { keep_grad_in(parameters_[i], part(gradients_, i)); }

// assign() counts a change of its storage; an empty part costs no copy.
void Slab::mark_changed() { veldt::mark_changed(values_); }

}  // namespace veldt::optim
