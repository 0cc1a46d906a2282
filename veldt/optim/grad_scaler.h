// Keeps gradients in half precision within their range, like torch.amp.GradScaler: the loss is multiplied by
// a scale, the gradients are divided by it again.
// Tests: tests/optim/grad_scaler_test.cpp
#pragma once

#include <cstdint>

#include "veldt/optim/optimizer.h"

namespace veldt::optim {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;     // after growth_interval steps without an overflow
  double backoff_factor = 0.5;  // after each overflow
  std::int64_t growth_interval = 2000;
};

// Micikevicius et al. 2018. For f16 under an Autocast; bf16 has the range of f32 and needs none.
//   scaler.scale(loss).backward();
//   scaler.step(adam);
class GradScaler {
 public:
  // Throws ConfigError for a scale that is not above 0 and finite, a growth below 1, a backoff outside (0,
  // 1], and an interval below 1.
  explicit GradScaler(GradScalerOptions options = {}, Device device = {});
  // A recorded step keeps a reference to it.
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;

  // loss times the scale, in f32: call backward() on it. Until step() the gradients are larger by this
  // factor, so clip by the optimizer's option, not by hand.
  Tensor scale(const Tensor& loss) const;
  // Divides the gradients by the scale, then takes the optimizer's step, with its clipping; if one of them is
  // not finite the step is skipped and not counted. Then updates the scale. Call it once for each scale(): a
  // second optimizer needs its own scaler. May be part of a Plan; waits for a GPU.
  void step(Optimizer& optimizer);

  double factor() const;                             // the current scale
  std::int64_t skipped() const { return skipped_; }  // steps left out by this object
  // "scale" (f32) and "growth_tracker" (i64), steps since its last change: the state for a resumed run.
  NamedTensors state_dict() const;
  // Throws Error for another state and for impossible numbers; then nothing has changed.
  void load_state_dict(const NamedTensors& state);

 private:
  bool unscale(Optimizer& optimizer);
  void set_factor(double factor);

  GradScalerOptions options_;
  Tensor scale_;  // [], f32, where the loss is
  double factor_ = 1;
  std::int64_t since_ = 0, skipped_ = 0;
};

}  // namespace veldt::optim
