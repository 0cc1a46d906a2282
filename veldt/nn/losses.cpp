#include "veldt/nn/losses.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/nn/loss_parts.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"

namespace veldt {
namespace nn {

void check_loss(const char* name, const Tensor& prediction, const Tensor& target) {
  if (prediction.shape() != target.shape())
    throw ShapeError(str(name, " cannot compare ", prediction.shape(), " with ", target.shape()),
                     "a loss broadcasts nothing", "reshape the target to the prediction's shape");
  if (prediction.numel() == 0)
    throw ShapeError(str(name, " has nothing to compare"), str("the shape is ", prediction.shape()),
                     "give it one element or more");
}

Tensor reduced(const Tensor& loss, Reduction reduction) {
  switch (reduction) {
    case Reduction::mean: return mean(loss);
    case Reduction::sum: return sum(loss);
    case Reduction::none: break;
  }
  return loss;
}

Tensor number_like(const Tensor& x, double value) { return full({}, value, x.dtype(), x.device()); }

}  // namespace nn

using nn::check_loss;
using nn::number_like;
using nn::reduced;

Tensor mse(const Tensor& prediction, const Tensor& target, LossOptions options) {
  check_loss("mse", prediction, target);
  return reduced(square(prediction - target), options.reduction);
}

Tensor l1(const Tensor& prediction, const Tensor& target, LossOptions options) {
  check_loss("l1", prediction, target);
  return reduced(abs(prediction - target), options.reduction);
}

Tensor huber(const Tensor& prediction, const Tensor& target, HuberOptions options) {
  check_loss("huber", prediction, target);
  const double delta = options.delta;
  if (!(delta > 0 && std::isfinite(delta)))
    throw ConfigError(str("huber cannot change at a distance of ", delta), "delta must be above 0 and finite",
                      "give a positive delta, such as 1");
  const Tensor distance = abs(prediction - target);
  const Tensor inside = less_equal(distance, number_like(distance, delta));
  return reduced(where(inside, square(distance) * 0.5, (distance - delta / 2) * delta), options.reduction);
}

Tensor smooth_l1(const Tensor& prediction, const Tensor& target, SmoothL1Options options) {
  check_loss("smooth_l1", prediction, target);
  const double beta = options.beta;
  if (!(beta >= 0 && std::isfinite(beta)))
    throw ConfigError(str("smooth_l1 cannot change at a distance of ", beta), "beta must be 0 or more",
                      "give 0 for l1, or a distance");
  if (beta == 0) return l1(prediction, target, {options.reduction});
  const Tensor distance = abs(prediction - target);
  const Tensor inside = less(distance, number_like(distance, beta));
  return reduced(where(inside, square(distance) * (0.5 / beta), distance - beta / 2), options.reduction);
}

Tensor hinge_mse(const Tensor& prediction, const Tensor& target, LossOptions options) {
  check_loss("hinge_mse", prediction, target);
  return reduced(square(relu(1.0 - target * prediction)), options.reduction);
}

Tensor hinge_embedding(const Tensor& x, const Tensor& target, MarginOptions options) {
  check_loss("hinge_embedding", x, target);
  const Tensor alike = greater(target, number_like(target, 0));
  return reduced(where(alike, x, relu(options.margin - x)), options.reduction);
}

Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& target, MarginOptions options) {
  check_loss("cosine_embedding", a, b);
  if (a.rank() != 2 || target.shape() != Shape{a.size(0)})
    throw ShapeError(
        str("cosine_embedding cannot judge pairs of ", a.shape(), " by targets of ", target.shape()),
        "it takes pairs [n, d] and a target for each, [n]", "reshape them");
  constexpr double kTiny = 1e-12;  // torch's: the cosine with a vector of zeros is 0
  const Tensor lengths = sqrt((sum(square(a), {1}) + kTiny) * (sum(square(b), {1}) + kTiny));
  const Tensor cosine = sum(a * b, {1}) / lengths;
  const Tensor alike = greater(target, number_like(target, 0));
  return reduced(where(alike, 1.0 - cosine, relu(cosine - options.margin)), options.reduction);
}

}  // namespace veldt
