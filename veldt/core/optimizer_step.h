// The arguments of Backend::optimize: one step of an optimizer over slabs, with everything that varies from
// step to step. The formulas are in kernels/optimizer-inl.h. `step` counts from 1.
// Tests: tests/cpu/optimizer_test.cpp, tests/cuda/optimizer_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <variant>

namespace veldt {

// Arrays: parameter, m, v; gradient. decoupled: AdamW's decay, else L2 added to the gradient. lazy: an
// element whose gradient is 0 stays unchanged in all arrays, and for a cache line of zeros the other arrays
// are not read.
struct AdamStep {
  static constexpr const char* name = "adam";
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;
  std::int64_t step;
  bool lazy = false;
};

// Arrays as Adam's.
struct RadamStep {
  static constexpr const char* name = "radam";
  double lr, beta1, beta2, eps, weight_decay;
  std::int64_t step;
};

// Arrays: parameter, velocity if the momentum is not 0; gradient.
struct SgdStep {
  static constexpr const char* name = "sgd";
  double lr, momentum, weight_decay;
  bool nesterov;
};

// Arrays: parameter, mean square, velocity if the momentum is not 0, mean gradient if centered; gradient.
struct RmspropStep {
  static constexpr const char* name = "rmsprop";
  double lr, alpha, eps, weight_decay, momentum;
  bool centered;
};

// Arrays: parameter, sum of squares; gradient. The sum begins at `initial`, which is not part of the array.
struct AdagradStep {
  static constexpr const char* name = "adagrad";
  double lr, eps, weight_decay, initial;
};

// Arrays: parameter, m; gradient.
struct LionStep {
  static constexpr const char* name = "lion";
  double lr, beta1, beta2, weight_decay;
};

// Arrays: parameter, mean gradient, mean difference, mean square, previous gradient; gradient.
struct AdanStep {
  static constexpr const char* name = "adan";
  double lr, beta1, beta2, beta3, eps, weight_decay;
  std::int64_t step;
};

// Array: x = clamp(scale x, -limit, limit).
struct ClipStep {
  static constexpr const char* name = "clip";
  double scale = 1, limit = std::numeric_limits<double>::infinity();
};

// Arrays: x; target.  x += share (target - x): a moving average.
struct LerpStep {
  static constexpr const char* name = "lerp";
  double share;
};

struct OptimizerStep {
  std::variant<AdamStep, RadamStep, SgdStep, RmspropStep, AdagradStep, LionStep, AdanStep, ClipStep, LerpStep>
      rule;

  const char* name() const {
    return std::visit([](const auto& step) { return step.name; }, rule);
  }
  // All except the gradient, which is last; a rule of one array changes that array.
  static bool writes(std::size_t array, std::size_t arrays) { return array + 1 < arrays || arrays == 1; }
};

}  // namespace veldt
