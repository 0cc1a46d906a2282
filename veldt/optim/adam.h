// Adam, AdamW and RAdam.
// Tests: tests/optim/golden_test.cpp, tests/optim/optimizer_test.cpp, tests/cpu/optimizer_test.cpp
#pragma once

#include "veldt/optim/group.h"

namespace veldt::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2: added to the gradient
  // An element whose gradient is exactly 0 keeps its value, m and v: for tables of which a step reads a small
  // part. It is also faster if whole cache lines of the gradient are 0. Decay skips the elements as well; the
  // bias correction counts all steps.
  bool lazy = false;
  Clip clip = {};
  void check(DType dtype) const;
  std::vector<std::string> kinds() const { return {"exp_avg", "exp_avg_sq"}; }
};

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // decoupled: p is first multiplied by 1 - lr decay
  Clip clip = {};
  void check(DType dtype) const;
  std::vector<std::string> kinds() const { return {"exp_avg", "exp_avg_sq"}; }
};

// Kingma & Ba 2015, as torch.optim.Adam; lazy: as torch.optim.SparseAdam and TensorFlow's LazyAdam. State:
// "exp_avg" and "exp_avg_sq".
// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  p -= lr mhat / (sqrt(vhat) + eps), where the
// hats divide by 1 - beta^t. t counts the optimizer's steps, also for a parameter that received no gradient
// in some. Throws ConfigError for a negative rate or decay, betas outside [0, 1), or an eps that is 0 in the
// parameters' dtype.
class Adam : public GroupedOptimizer<AdamOptions> {
  using GroupedOptimizer::GroupedOptimizer;
  void update(std::size_t group, Slab::Range range) override;
};

// Step `step`, counted from 1, of an Adam with this rate: for optimizers that use it for some parameters.
AdamStep adam_step(const AdamOptions& options, double lr, std::int64_t step);

// Adam with decoupled weight decay (Loshchilov & Hutter 2019), as torch.optim.AdamW.
class AdamW : public GroupedOptimizer<AdamWOptions> {
  using GroupedOptimizer::GroupedOptimizer;
  void update(std::size_t group, Slab::Range range) override;
};

struct RAdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2: added to the gradient
  Clip clip = {};
  void check(DType dtype) const;
  std::vector<std::string> kinds() const { return {"exp_avg", "exp_avg_sq"}; }
};

// Liu et al. 2020, as torch.optim.RAdam: Adam that begins with plain momentum and uses its mean square as far
// as it is reliable; it replaces a warm-up.
class RAdam : public GroupedOptimizer<RAdamOptions> {
  using GroupedOptimizer::GroupedOptimizer;
  void update(std::size_t group, Slab::Range range) override;
};

}  // namespace veldt::optim
