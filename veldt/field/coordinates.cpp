// Maps pixels to coordinates in -1..1, and levels to the network's outputs and back.
#include "veldt/field/coordinates.h"

#include <algorithm>

#include "veldt/ops/binary.h"
#include "veldt/ops/unary.h"

namespace veldt::field {

CoordinateMap::CoordinateMap(const FieldOptions& o)
    : time_scale_(o.time_scale),
      inputs_(o.inputs()),
      has_x_(!o.is_sound()),
      has_time_(o.is_clip()),
      constant_input_(o.constant_input) {
  const auto w = static_cast<double>(o.width), h = static_cast<double>(o.height);
  if (o.coordinates == Coordinates::corners) {
    // i / (N - 1) at the centre u = (i + 0.5) / N of pixel i
    x_scale_ = o.width > 1 ? w / (w - 1) : 0;
    x_shift_ = o.width > 1 ? -0.5 / (w - 1) : 0;
    y_scale_ = o.height > 1 ? h / (h - 1) : 0;
    y_shift_ = o.height > 1 ? -0.5 / (h - 1) : 0;
    return;
  }
  // The longer side spans -1..1, so a unit is as long across as down and omega means one frequency.
  const double side = std::max(w, h);
  x_scale_ = 2 * w / side;
  x_shift_ = -w / side;
  y_scale_ = 2 * h / side;
  y_shift_ = -h / side;
}

Tensor levels_from(const Tensor& output, Head head) {
  switch (head) {
    case Head::clamp: return clamp(affine(output, 0.5, 0.5), 0, 1);
    case Head::sigmoid: return sigmoid(output);
    case Head::ink: return 1 - sigmoid(output);
    case Head::plain: return output;
  }
  return output;
}

Tensor targets_from(const Tensor& levels, Head head) {
  switch (head) {
    case Head::clamp: return affine(levels, 2, -1);
    case Head::sigmoid:
    case Head::plain: return levels;
    case Head::ink: return 1 - levels;
  }
  return levels;
}

}  // namespace veldt::field
