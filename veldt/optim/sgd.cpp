// Checks the options of gradient descent, and computes the constants of a step.
#include "veldt/optim/sgd.h"

#include "veldt/core/error.h"

namespace veldt::optim {

void SGDOptions::check(DType) const {
  check_option("lr", lr, 0, kInfinity);
  check_option("momentum", momentum, 0, 1);
  check_option("weight_decay", weight_decay, 0, kInfinity);
  if (nesterov && momentum == 0)
    throw ConfigError("Nesterov's descent needs a momentum", "momentum is 0", "set a momentum such as 0.9");
}

std::vector<std::string> SGDOptions::kinds() const {
  return momentum == 0 ? std::vector<std::string>{} : std::vector<std::string>{"momentum_buffer"};
}

// The velocity starts at 0, so the first step needs no special case.
void SGD::update(std::size_t group, Slab::Range range) {
  const SGDOptions& o = options(group);
  const OptimizerStep step{SgdStep{group_lr(group), o.momentum, o.weight_decay, o.nesterov}};
  if (o.momentum == 0) return optimize(step, range, {});
  optimize(step, range, {"momentum_buffer"});
}

}  // namespace veldt::optim
