// Dropout.
#pragma once

#include "veldt/nn/init.h"
#include "veldt/nn/module.h"

namespace veldt::nn {

// Sets each number to 0 with probability p and divides the others by 1 - p; in evaluation it does nothing
// (Srivastava et al. 2014). Each call in training draws from the module's own stream, "rng" [2] (i64: seed
// and position), which state() saves: a resumed run drops what the whole run would have. Copies share the
// stream; a clone() has its own, at the same place.
class Dropout : public Module {
 public:
  // The stream's seed is drawn from `rng`. Throws ConfigError for p outside [0, 1].
  explicit Dropout(double p = 0.5, Rng& rng = default_rng());

  Tensor forward(const Tensor& x) const override;  // f32 or f64, any shape
  void fields(Fields& f) override { f("rng", stream_); }
  std::string title() const override;

 private:
  double p_;
  Tensor stream_;
};

}  // namespace veldt::nn
