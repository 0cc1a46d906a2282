// One number of each rank decides for all.
#include "veldt/dist/clip.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"

namespace veldt::dist {

double clip_to_norm(optim::Optimizer& optimizer, double squares, Communicator& ranks, double max_norm) {
  if (!(max_norm > 0))
    throw ConfigError(str("gradients cannot be clipped to a norm of ", max_norm), "it must be above 0",
                      "give a positive norm, or do not clip");
  const Tensor sum = full({}, squares, DType::f64);
  ranks.all_reduce(sum);
  const double norm = std::sqrt(sum.item());
  if (!std::isfinite(norm))
    throw DivergedError(
        str("the gradient of ", optimizer.first_bad_gradient().value_or("another rank"), " is not finite"),
        str("after ", optimizer.steps(), " steps the gradient norm is ", norm), "lower the learning rate");
  if (norm > max_norm) optimizer.unscale_gradients(norm / max_norm);
  return norm;
}

}  // namespace veldt::dist
