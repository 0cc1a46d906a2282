// What an explanation is of: one output of a network for each example, and how it is computed so that only
// the input has a gradient.
// Tests: tests/explain/gradients_test.cpp
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "veldt/nn/evaluating.h"
#include "veldt/nn/module.h"
#include "veldt/tensor/graph.h"

namespace veldt::explain {

// Which output of [n, outputs] is explained: one for all examples, or one for each; none given: the largest
// of each example.
using Targets = std::vector<std::int64_t>;

// The number of the largest output of each example. Throws ShapeError as scores_of().
Targets largest_outputs(const nn::Module& model, const Tensor& x);

// The targets' outputs, [n]. `outputs`: [n, outputs], or [n], whose only target is 0. Throws ShapeError for
// another rank, and ConfigError for a target that is no output, and for a number of targets that is neither 1
// nor n.
Tensor scores_of(const Tensor& outputs, const Targets& targets);

// While it exists the network is in evaluation, and none of its parameters wants a gradient: ops record what
// depends on the input, and nothing else. Afterwards all is as before.
class OnlyInputs {
 public:
  explicit OnlyInputs(const nn::Module& model);
  ~OnlyInputs();
  OnlyInputs(const OnlyInputs&) = delete;
  OnlyInputs& operator=(const OnlyInputs&) = delete;

 private:
  nn::Evaluating evaluating_;
  EnableGrad recording_;
  std::vector<Tensor> trained_;
};

// x as a leaf of its own that wants a gradient. Throws ShapeError unless it is floats with a dimension of
// examples.
Tensor explained_input(const Tensor& x);

// The targets' outputs of model(x), and their gradient with respect to x, of x's shape.
std::pair<Tensor, Tensor> score_and_gradient(const nn::Module& model, const Tensor& x,
                                             const Targets& targets);

}  // namespace veldt::explain
