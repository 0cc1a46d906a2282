// Gradients against central differences, in double, to any order. The checker reports; it asserts nothing, so
// that a test can show that it catches what is planted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/support/layouts.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {

using Function = std::function<Tensor(const std::vector<Tensor>& inputs)>;

struct GradientReport {
  bool ok = true;
  std::string message;  // what is wrong, with the numbers; empty if ok
};

// The dtype of each input: f64 ones are differentiated, others are data.
struct GradientInput {
  Values values;
  DType dtype = DType::f64;
};

// For order 1: grad() of a random weighting of fn's elements against central differences, and the gradient
// with create_graph against the one without. For order k: the same of the k-1-th gradient, as a function of
// the inputs and of the weights, so that a gradient which drops out of the graph shows.
GradientReport check_gradients(const Function& fn, const std::vector<GradientInput>& inputs, int order,
                               Layout layout = Layout::contiguous);

}  // namespace veldt::test
