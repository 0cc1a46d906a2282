// From pixels to the coordinates that a field is a function of, and from its output to levels.
#pragma once

#include "veldt/field/options.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

// Turns a position in the picture (u from the left, v from the top, both 0..1) into the network's
// coordinates.
class CoordinateMap {
 public:
  explicit CoordinateMap(const FieldOptions& options);
  float x(double u) const { return static_cast<float>(x_scale_ * u + x_shift_); }
  float y(double v) const { return static_cast<float>(y_scale_ * v + y_shift_); }
  int inputs() const { return constant_input_ ? 3 : 2; }
  bool constant_input() const { return constant_input_; }

 private:
  double x_scale_, x_shift_, y_scale_, y_shift_;
  bool constant_input_;
};

// The network's output [.., channels] as levels 0..1.
Tensor levels_from(const Tensor& output, Head head);
// Levels as the output that stands for them: what a loss compares with. clamp -> -1..1, sigmoid -> as they
// are, ink -> 1 - level.
Tensor targets_from(const Tensor& levels, Head head);

}  // namespace veldt::field
