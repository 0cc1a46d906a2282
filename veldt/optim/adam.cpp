// Checks the options of Adam and its variants, and computes the constants of a step.
#include "veldt/optim/adam.h"

namespace veldt::optim {
namespace {

template <class Options> void check_adam(const Options& o, DType dtype) {
  check_option("lr", o.lr, 0, kInfinity);
  check_option("beta1", o.beta1, 0, 1);
  check_option("beta2", o.beta2, 0, 1);
  check_eps(o.eps, dtype);
  check_option("weight_decay", o.weight_decay, 0, kInfinity);
}

}  // namespace

AdamStep adam_step(const AdamOptions& o, double lr, std::int64_t step) {
  return {lr, o.beta1, o.beta2, o.eps, o.weight_decay, false, step, o.lazy};
}

void AdamOptions::check(DType dtype) const { check_adam(*this, dtype); }
void AdamWOptions::check(DType dtype) const { check_adam(*this, dtype); }

void RAdamOptions::check(DType dtype) const { check_adam(*this, dtype); }

void RAdam::update(std::size_t group, Slab::Range range) {
  const RAdamOptions& o = options(group);
  const RadamStep step{group_lr(group), o.beta1, o.beta2, o.eps, o.weight_decay, steps()};
  optimize({step}, range, {"exp_avg", "exp_avg_sq"});
}

void Adam::update(std::size_t group, Slab::Range range) {
  optimize({adam_step(options(group), group_lr(group), steps())}, range, {"exp_avg", "exp_avg_sq"});
}

void AdamW::update(std::size_t group, Slab::Range range) {
  const AdamWOptions& o = options(group);
  const AdamStep step{group_lr(group), o.beta1, o.beta2, o.eps, o.weight_decay, true, steps()};
  optimize({step}, range, {"exp_avg", "exp_avg_sq"});
}

}  // namespace veldt::optim
