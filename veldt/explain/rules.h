// Explanations that go back through a network by rules other than calculus's. They change what each op hands
// back, whichever module called it, so they work on any network that Veldt runs; x, targets and errors as in
// explain/gradients.h.
// Tests: tests/explain/rules_test.cpp, tests/explain/peers_test.cpp
#pragma once

#include "veldt/explain/target.h"

namespace veldt::explain {

// The gradient, of which each relu lets only what is above 0 pass (Springenberg et al. 2015,
// "Striving for simplicity"). Shape of x. Throws ConfigError for a network without one.
Tensor guided_backprop(const nn::Module& model, const Tensor& x, const Targets& targets = {});

struct LrpOptions {
  double epsilon = 1e-9;  // added to what is divided by, away from 0
};
// Layer-wise relevance propagation by the epsilon rule (Bach et al. 2015, "On pixel-wise explanations"):
// each op shares out the relevance of its result among the numbers that it was added up from, in proportion.
// What biases and shifts contributed stays with them; without any, the relevances add up to the output.
// Activations, and the largest of a pool, hand theirs on. Shape of x. Throws ConfigError, naming the op, for
// a network with one that has no rule: attention, norms of lines, products of two activations.
Tensor lrp(const nn::Module& model, const Tensor& x, const Targets& targets = {},
           const LrpOptions& options = {});

}  // namespace veldt::explain
