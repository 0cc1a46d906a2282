// Checks the options of RMSprop and Adagrad, and computes the constants of a step.
#include "veldt/optim/rmsprop.h"

namespace veldt::optim {

void RMSpropOptions::check(DType dtype) const {
  check_option("lr", lr, 0, kInfinity);
  check_option("alpha", alpha, 0, 1);
  check_option("momentum", momentum, 0, 1);
  check_option("weight_decay", weight_decay, 0, kInfinity);
  check_eps(eps, dtype);
}

std::vector<std::string> RMSpropOptions::kinds() const {
  std::vector<std::string> kinds{"square_avg"};
  if (momentum != 0) kinds.push_back("momentum_buffer");
  if (centered) kinds.push_back("grad_avg");
  return kinds;
}

void RMSprop::update(std::size_t group, Slab::Range range) {
  const RMSpropOptions& o = options(group);
  const OptimizerStep step{
      RmspropStep{group_lr(group), o.alpha, o.eps, o.weight_decay, o.momentum, o.centered}};
  if (o.momentum == 0 && !o.centered) return optimize(step, range, {"square_avg"});
  if (o.momentum == 0) return optimize(step, range, {"square_avg", "grad_avg"});
  if (!o.centered) return optimize(step, range, {"square_avg", "momentum_buffer"});
  optimize(step, range, {"square_avg", "momentum_buffer", "grad_avg"});
}

void AdagradOptions::check(DType dtype) const {
  check_option("lr", lr, 0, kInfinity);
  check_option("lr_decay", lr_decay, 0, kInfinity);
  check_option("weight_decay", weight_decay, 0, kInfinity);
  check_option("initial_sum", initial_sum, 0, kInfinity);
  check_eps(eps, dtype);
}

void Adagrad::update(std::size_t group, Slab::Range range) {
  const AdagradOptions& o = options(group);
  const double lr = group_lr(group) / (1 + static_cast<double>(steps() - 1) * o.lr_decay);
  optimize({AdagradStep{lr, o.eps, o.weight_decay, o.initial_sum}}, range, {"sum"});
}

}  // namespace veldt::optim
