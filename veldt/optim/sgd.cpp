#include "veldt/optim/sgd.h"

#include <limits>

#include "veldt/core/error.h"

namespace veldt::optim {
namespace {

using Kinds = std::vector<std::string>;

Kinds kinds_of(const SgdOptions& options) {
  return options.momentum == 0 ? Kinds{} : Kinds{"momentum_buffer"};
}

// Before anything is moved.
const SgdOptions& checked(const SgdOptions& options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  check_option("lr", options.lr, 0, kInfinity);
  check_option("momentum", options.momentum, 0, 1);
  check_option("weight_decay", options.weight_decay, 0, kInfinity);
  if (options.nesterov && options.momentum == 0)
    throw ConfigError("Nesterov's descent needs a momentum", "momentum is 0", "set a momentum such as 0.9");
  return options;
}

}  // namespace

Sgd::Sgd(const std::vector<Tensor>& parameters, SgdOptions options) : Sgd(numbered(parameters), options) {}

Sgd::Sgd(const NamedTensors& parameters, SgdOptions options)
    : Optimizer(parameters, checked(options).lr, kinds_of(options)), options_(options) {}

void Sgd::update(Slab::Range range) {
  // The velocity starts as zeros, so the first step needs no case of its own.
  const SgdStep step{lr(), options_.momentum, options_.weight_decay, options_.nesterov, false};
  const View parameter = Slab::view(slab().values(), range), gradient = Slab::view(slab().gradients(), range);
  const bool moving = options_.momentum != 0;
  const View velocity = moving ? Slab::view(state_slab(0), range) : View{};
  kernels(slab().values()).sgd(step, parameter, gradient, moving ? &velocity : nullptr, nullptr);
}

}  // namespace veldt::optim
