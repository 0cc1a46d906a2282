// Gradient descent.
#pragma once

#include "veldt/optim/optimizer.h"

namespace veldt::optim {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

// torch.optim.SGD without dampening: g += decay p;  v = momentum v + g;  p -= lr (nesterov ? g + momentum v :
// v). Momentum: Polyak 1964; Nesterov's in the form of Sutskever et al. 2013. State: "momentum_buffer".
class Sgd : public Optimizer {
 public:
  // Throws ConfigError for a negative or unbounded option, momentum outside [0, 1), or nesterov without
  // momentum.
  explicit Sgd(const std::vector<Tensor>& parameters, SgdOptions options = {});
  explicit Sgd(const NamedTensors& parameters, SgdOptions options = {});

 protected:
  void update(Slab::Range range) override;

 private:
  SgdOptions options_;
};

}  // namespace veldt::optim
