#include "veldt/nn/losses.h"

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"

namespace veldt {
namespace {

void check(const char* name, const Tensor& prediction, const Tensor& target) {
  if (prediction.shape() != target.shape())
    throw ShapeError(str(name, " cannot compare ", prediction.shape(), " with ", target.shape()),
                     "a loss broadcasts nothing", "reshape the target to the prediction's shape");
  if (prediction.numel() == 0)
    throw ShapeError(str(name, " has nothing to compare"), str("the shape is ", prediction.shape()),
                     "give it one element or more");
}

}  // namespace

Tensor mse(const Tensor& prediction, const Tensor& target) {
  check("mse", prediction, target);
  return mean(square(prediction - target));
}

Tensor l1(const Tensor& prediction, const Tensor& target) {
  check("l1", prediction, target);
  return mean(abs(prediction - target));
}

Tensor bce_with_logits(const Tensor& logits, const Tensor& targets) {
  check("bce_with_logits", logits, targets);
  return mean(softplus(logits) - logits * targets);
}

Tensor hinge_mse(const Tensor& prediction, const Tensor& target) {
  check("hinge_mse", prediction, target);
  return mean(square(relu(1 - target * prediction)));
}

}  // namespace veldt
