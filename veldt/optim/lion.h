// Lion and Adan.
// Tests: tests/optim/golden_test.cpp, tests/optim/optimizer_test.cpp, tests/cpu/optimizer_test.cpp
#pragma once

#include "veldt/optim/group.h"

namespace veldt::optim {

struct LionOptions {
  double lr = 1e-4;  // the paper takes a third to a tenth of AdamW's
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;  // decoupled; the paper takes three to ten times AdamW's
  Clip clip = {};
  void check(DType dtype) const;
  std::vector<std::string> kinds() const { return {"exp_avg"}; }
};

// Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2:
// p -= lr (sign(beta1 m + (1 - beta1) g) + decay p);  m = beta2 m + (1 - beta2) g. State: "exp_avg".
// Throws ConfigError for betas outside [0, 1) or a negative option.
class Lion : public GroupedOptimizer<LionOptions> {
  using GroupedOptimizer::GroupedOptimizer;
  void update(std::size_t group, Slab::Range range) override;
};

struct AdanOptions {
  double lr = 1e-3;
  double beta1 = 0.98;  // the paper's betas are 1 minus these
  double beta2 = 0.92;
  double beta3 = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;  // proximal: p is last divided by 1 + lr decay
  Clip clip = {};
  void check(DType dtype) const;
  std::vector<std::string> kinds() const {
    return {"exp_avg", "exp_avg_diff", "exp_avg_sq", "previous_grad"};
  }
};

// Xie et al. 2022, "Adan: adaptive Nesterov momentum", with the bias corrections of the authors' program. d
// is the change of the gradient since the step before, 0 at the first step.
// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) d;  n = beta3 n + (1 - beta3) (g + beta2 d)^2;
// p = (p - lr (mhat + beta2 vhat) / (sqrt(nhat) + eps)) / (1 + lr decay). State: "exp_avg", "exp_avg_diff",
// "exp_avg_sq", "previous_grad". Throws ConfigError for betas outside [0, 1), a negative option, or an eps
// that is 0 in the parameters' dtype.
class Adan : public GroupedOptimizer<AdanOptions> {
  using GroupedOptimizer::GroupedOptimizer;
  void update(std::size_t group, Slab::Range range) override;
};

}  // namespace veldt::optim
