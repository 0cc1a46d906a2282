// Adam and AdamW.
#pragma once

#include "veldt/optim/optimizer.h"

namespace veldt::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2: added to the gradient
};

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // decoupled: p is first multiplied by 1 - lr decay
};

// Kingma & Ba 2015, as torch.optim.Adam. State: "exp_avg" and "exp_avg_sq".
// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  p -= lr mhat / (sqrt(vhat) + eps), where the
// hats divide by 1 - beta^t. t counts the optimizer's steps, also for a parameter that received no gradient
// in some.
class Adam : public Optimizer {
 public:
  // Throws ConfigError for a negative rate or decay, betas outside [0, 1), or eps <= 0.
  explicit Adam(const std::vector<Tensor>& parameters, AdamOptions options = {});
  explicit Adam(const NamedTensors& parameters, AdamOptions options = {});

 protected:
  Adam(const NamedTensors& parameters, AdamOptions options, bool decoupled);
  void update(Slab::Range range) override;

 private:
  AdamOptions options_;
  bool decoupled_;
};

// Adam with decoupled weight decay (Loshchilov & Hutter 2019), as torch.optim.AdamW.
class AdamW : public Adam {
 public:
  explicit AdamW(const std::vector<Tensor>& parameters, AdamWOptions options = {});
  explicit AdamW(const NamedTensors& parameters, AdamWOptions options = {});
};

}  // namespace veldt::optim
