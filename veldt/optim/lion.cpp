// Checks the options of Lion and Adan, and computes the constants of a step.
#include "veldt/optim/lion.h"

namespace veldt::optim {

void LionOptions::check(DType) const {
  check_option("lr", lr, 0, kInfinity);
  check_option("beta1", beta1, 0, 1);
  check_option("beta2", beta2, 0, 1);
  check_option("weight_decay", weight_decay, 0, kInfinity);
}

void Lion::update(std::size_t group, Slab::Range range) {
  const LionOptions& o = options(group);
  optimize({LionStep{group_lr(group), o.beta1, o.beta2, o.weight_decay}}, range, {"exp_avg"});
}

void AdanOptions::check(DType dtype) const {
  check_option("lr", lr, 0, kInfinity);
  check_option("beta1", beta1, 0, 1);
  check_option("beta2", beta2, 0, 1);
  check_option("beta3", beta3, 0, 1);
  check_option("weight_decay", weight_decay, 0, kInfinity);
  check_eps(eps, dtype);
}

void Adan::update(std::size_t group, Slab::Range range) {
  const AdanOptions& o = options(group);
  const AdanStep step{group_lr(group), o.beta1, o.beta2, o.beta3, o.eps, o.weight_decay, steps()};
  optimize({step}, range, {"exp_avg", "exp_avg_diff", "exp_avg_sq", "previous_grad"});
}

}  // namespace veldt::optim
