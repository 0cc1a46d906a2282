// From pixels to the coordinates of a field, and from its output to levels.
// Tests: tests/field/network_test.cpp
#pragma once

#include "veldt/field/options.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

// Turns a position (u from the left of a picture, v from its top or from the start of a sound, t from the
// start of a clip, each 0..1) into the network's inputs.
class CoordinateMap {
 public:
  explicit CoordinateMap(const FieldOptions& options);
  float x(double u) const { return static_cast<float>(x_scale_ * u + x_shift_); }
  float y(double v) const { return static_cast<float>(y_scale_ * v + y_shift_); }
  float time(double t) const { return static_cast<float>(time_scale_ * (2 * t - 1)); }
  // x(u) = x_scale u + x_shift, before it is rounded to f32.
  double x_scale() const { return x_scale_; }
  double x_shift() const { return x_shift_; }
  double y_scale() const { return y_scale_; }
  double y_shift() const { return y_shift_; }
  int inputs() const { return inputs_; }
  bool has_x() const { return has_x_; }
  bool has_time() const { return has_time_; }
  // Writes the inputs of one point; returns the place of the next point's.
  float* put(double u, double v, double t, float* to) const {
    if (has_x_) *to++ = x(u);
    *to++ = y(v);
    if (has_time_) *to++ = time(t);
    if (constant_input_) *to++ = 1;
    return to;
  }

 private:
  double x_scale_, x_shift_, y_scale_, y_shift_, time_scale_;
  int inputs_;
  bool has_x_, has_time_, constant_input_;
};

// The network's output [.., channels] as levels: 0..1 of a picture.
Tensor levels_from(const Tensor& output, Head head);
// The outputs that represent given levels: the target of a loss. clamp -> -1..1, sigmoid and plain -> as they
// are, ink -> 1 - level.
Tensor targets_from(const Tensor& levels, Head head);

}  // namespace veldt::field
