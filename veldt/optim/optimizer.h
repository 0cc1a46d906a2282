// What all optimizers share: the slab of parameters, the rate, gradient norms and clipping, and saving.
#pragma once

#include <optional>

#include "veldt/optim/slab.h"

namespace veldt::optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Changes the parameters by one step along the gradients that backward() left. A parameter without a
  // gradient stays as it is, its state too, as in torch.optim. Throws Error if a parameter was moved since
  // construction.
  void step();
  // Forgets the gradients, without freeing their memory.
  void zero_grad();

  // The rate of the next step. set_lr throws ConfigError below 0 or not finite.
  double lr() const { return lr_; }
  void set_lr(double lr);
  // How many steps were taken, before a load_state() included.
  std::int64_t steps() const { return steps_; }

  const std::vector<Tensor>& parameters() const { return slab_.parameters(); }
  const std::vector<std::string>& names() const { return slab_.names(); }
  // Values and gradients side by side, for an all-reduce or a look at all of them.
  const Slab& slab() const { return slab_; }

  // The Euclidean norm of all gradients together.
  double gradient_norm();
  // Scales the gradients so that their norm is at most `max_norm`; returns the norm before. Throws
  // DivergedError naming the first parameter whose gradient is not finite, ConfigError for max_norm <= 0.
  double clip_gradients(double max_norm);
  // The name of the first parameter whose gradient / values hold a NaN or an infinity. One pass if there is
  // none.
  std::optional<std::string> first_bad_gradient();
  std::optional<std::string> first_bad_parameter() const;

  // What a resumed run needs to go on with the same bits: "step" (i64), "lr" (f64) and the optimizer's own,
  // such as "exp_avg.0.weight". Shares memory.
  NamedTensors state() const;
  // Copies a state() back. Throws Error listing what is missing, unexpected or of another shape; then nothing
  // changed. Options other than the rate are the constructor's.
  void load_state(const NamedTensors& state);

 protected:
  // `kinds`: the names of the optimizer's state slabs. Throws as Slab does, and ConfigError for a bad rate.
  Optimizer(const NamedTensors& parameters, double lr, const std::vector<std::string>& kinds);

  // One step over part of the slab; steps() counts this one already.
  virtual void update(Slab::Range range) = 0;
  const Tensor& state_slab(std::size_t kind) const { return states_[kind].tensor; }

 private:
  std::optional<std::string> first_bad(const Tensor& slab) const;

  Slab slab_;
  NamedTensors states_;  // slabs by kind
  double lr_ = 0;
  std::int64_t steps_ = 0;
};

// Parameters under the names "0", "1", ..., for lists without any.
NamedTensors numbered(const std::vector<Tensor>& parameters);
// Throws ConfigError unless low <= value < high.
void check_option(const char* name, double value, double low, double high);

}  // namespace veldt::optim
