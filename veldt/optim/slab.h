// The parameters of one optimizer side by side in memory, and their gradients too: a step, a gradient
// norm or an all-reduce is one pass over an array.
// Tests: tests/optim/slab_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "veldt/tensor/named.h"

namespace veldt::optim {

class Slab {
 public:
  // Elements begin .. end of the slab.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  // Moves the leaves' values and gradients into two slabs; all handles to them use the slabs from then on.
  // Each one starts at a multiple of 64 bytes, with zeros between. A leaf that is listed twice is stored
  // once. Throws ConfigError for an empty list, two leaves of one name, leaves that require no gradient, or
  // dtypes or devices that differ; f32 and f64 only.
  explicit Slab(const NamedTensors& parameters);

  const std::vector<Tensor>& parameters() const { return parameters_; }
  const std::vector<std::string>& names() const { return names_; }
  // [size]
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  // Zeros in the layout of the parameters, for an optimizer's state.
  Tensor make_state() const;
  // Parameter i's part of values(), gradients() or a state, in the parameter's shape. Shares memory.
  Tensor part(const Tensor& slab, std::size_t i) const;
  // Parameter i's place, with the padding after it.
  Range range(std::size_t i) const { return ranges_[i]; }
  // The range of a slab as [end - begin]: for ops, and for kernels. Shares memory.
  static Tensor part(const Tensor& slab, Range range);
  static View view(const Tensor& slab, Range range);

  // Completes gradients(): copies those that are elsewhere, and writes zeros for parameters that have none.
  // Returns the ranges of parameters that have one, with neighbours merged; they are valid until the next
  // call. Throws Error if a parameter was moved away.
  const std::vector<Range>& collect();
  // Makes what gradients() holds for parameter i its gradient.
  void take_gradient(std::size_t i);
  // Informs backward() that values() were changed in place.
  void mark_changed();

 private:
  void bring_gradient(std::size_t i);

  std::vector<Tensor> parameters_;
  std::vector<std::string> names_;
  std::vector<Range> ranges_;   // padding included
  std::vector<Range> present_;  // the result of collect(); kept to reuse its memory
  Tensor values_, gradients_;
};

}  // namespace veldt::optim
