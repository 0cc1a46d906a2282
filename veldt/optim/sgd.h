// Gradient descent.
// Tests: tests/optim/golden_test.cpp, tests/optim/optimizer_test.cpp, tests/cpu/optimizer_test.cpp
#pragma once

#include "veldt/optim/group.h"

namespace veldt::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  Clip clip = {};
  void check(DType dtype) const;
  std::vector<std::string> kinds() const;
};

// torch.optim.SGD without dampening: g += decay p;  v = momentum v + g;  p -= lr (nesterov ? g + momentum v :
// v). Momentum: Polyak 1964; Nesterov's in the form of Sutskever et al. 2013. State: "momentum_buffer".
// Throws ConfigError for a negative or unbounded option, momentum outside [0, 1), or nesterov without
// momentum.
class SGD : public GroupedOptimizer<SGDOptions> {
  using GroupedOptimizer::GroupedOptimizer;
  void update(std::size_t group, Slab::Range range) override;
};

}  // namespace veldt::optim
