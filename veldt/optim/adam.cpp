#include "veldt/optim/adam.h"

#include <limits>

#include "veldt/core/error.h"

namespace veldt::optim {
namespace {

// Before anything is moved.
const AdamOptions& checked(const AdamOptions& options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  check_option("lr", options.lr, 0, kInfinity);
  check_option("beta1", options.beta1, 0, 1);
  check_option("beta2", options.beta2, 0, 1);
  check_option("eps", options.eps, std::numeric_limits<double>::min(),
               kInfinity);  // 0 / 0 where no gradient was yet
  check_option("weight_decay", options.weight_decay, 0, kInfinity);
  return options;
}

AdamOptions coupled(const AdamWOptions& o) { return {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay}; }

}  // namespace

Adam::Adam(const NamedTensors& parameters, AdamOptions options, bool decoupled)
    : Optimizer(parameters, checked(options).lr, {"exp_avg", "exp_avg_sq"}),
      options_(options),
      decoupled_(decoupled) {}

Adam::Adam(const std::vector<Tensor>& parameters, AdamOptions options)
    : Adam(numbered(parameters), options, false) {}
Adam::Adam(const NamedTensors& parameters, AdamOptions options) : Adam(parameters, options, false) {}

void Adam::update(Slab::Range range) {
  const AdamStep step{lr(),       options_.beta1, options_.beta2, options_.eps, options_.weight_decay,
                      decoupled_, steps()};
  kernels(slab().values())
      .adam(step, Slab::view(slab().values(), range), Slab::view(slab().gradients(), range),
            Slab::view(state_slab(0), range), Slab::view(state_slab(1), range), nullptr);
}

AdamW::AdamW(const std::vector<Tensor>& parameters, AdamWOptions options)
    : Adam(numbered(parameters), coupled(options), true) {}
AdamW::AdamW(const NamedTensors& parameters, AdamWOptions options)
    : Adam(parameters, coupled(options), true) {}

}  // namespace veldt::optim
