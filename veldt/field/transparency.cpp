// Puts a picture on black and on white, and recovers its alpha from the difference of the two.
#include "veldt/field/transparency.h"

#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {

Tensor on_two_grounds(const Tensor& picture) {
  NoGrad off;
  const std::int64_t colours = picture.size(2) - 1;
  const Tensor alpha = slice(picture, 2, colours, colours + 1);
  const Tensor over_black = slice(picture, 2, 0, colours) * alpha;
  return cat({over_black, over_black + (1 - alpha)}, 2);
}

Tensor alpha_of(const Tensor& seen) {
  NoGrad off;
  const std::int64_t colours = seen.size(2) / 2;
  const Tensor over_black = slice(seen, 2, 0, colours), over_white = slice(seen, 2, colours, 2 * colours);
  return clamp(1 - mean(over_white - over_black, {2}, true), 0, 1);
}

}  // namespace veldt::field
