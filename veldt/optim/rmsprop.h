// RMSprop and Adagrad: a rate for each number, by the size of its gradients.
// Tests: tests/optim/golden_test.cpp, tests/optim/optimizer_test.cpp, tests/cpu/optimizer_test.cpp
#pragma once

#include "veldt/optim/group.h"

namespace veldt::optim {

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;  // divides by the deviation rather than the root of the mean square
  Clip clip = {};
  void check(DType dtype) const;
  std::vector<std::string> kinds() const;
};

// Hinton's lecture 6e of 2012; centered: Graves 2013; as torch.optim.RMSprop. s = alpha s + (1 - alpha) g^2;
// u = g / (sqrt(s) + eps);  p -= lr u, or with momentum v = momentum v + u;  p -= lr v. State: "square_avg",
// "momentum_buffer", "grad_avg". Throws ConfigError for alpha or momentum outside [0, 1), or an eps that is 0
// in the parameters' dtype.
class RMSprop : public GroupedOptimizer<RMSpropOptions> {
  using GroupedOptimizer::GroupedOptimizer;
  void update(std::size_t group, Slab::Range range) override;
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;  // the rate of step t is lr / (1 + (t - 1) lr_decay)
  double eps = 1e-10;
  double weight_decay = 0;
  double initial_sum = 0;  // the initial sum of squares; not part of the state
  Clip clip = {};
  void check(DType dtype) const;
  std::vector<std::string> kinds() const { return {"sum"}; }
};

// Duchi, Hazan & Singer 2011, as torch.optim.Adagrad: s += g^2;  p -= lr g / (sqrt(s) + eps). State: "sum".
// Throws ConfigError for a negative option, or an eps that is 0 in the parameters' dtype.
class Adagrad : public GroupedOptimizer<AdagradOptions> {
  using GroupedOptimizer::GroupedOptimizer;
  void update(std::size_t group, Slab::Range range) override;
};

}  // namespace veldt::optim
