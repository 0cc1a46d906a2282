// Losses between tensors of one shape, each a few ops and a reduction.
#include "veldt/nn/losses.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "veldt/core/error.h"
#include "veldt/nn/loss_parts.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/distance.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

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

Tensor constant(const Tensor& x) { return x.alias(x.shape(), x.strides(), 0); }

Tensor number_like(const Tensor& x, double value) { return full({}, value, x.dtype(), x.device()); }

}  // namespace nn

using nn::check_loss;
using nn::constant;
using nn::number_like;
using nn::reduced;

Tensor mse_loss(const Tensor& given, const Tensor& given_target, LossOptions options) {
  const Tensor prediction = widened(given), target = widened(given_target);
  check_loss("mse_loss", prediction, target);
  return reduced(square(prediction - target), options.reduction);
}

Tensor l1_loss(const Tensor& given, const Tensor& given_target, LossOptions options) {
  const Tensor prediction = widened(given), target = widened(given_target);
  check_loss("l1_loss", prediction, target);
  return reduced(abs(prediction - target), options.reduction);
}

Tensor huber_loss(const Tensor& given, const Tensor& given_target, HuberOptions options) {
  const Tensor prediction = widened(given), target = widened(given_target);
  check_loss("huber_loss", prediction, target);
  const double delta = options.delta;
  if (!(delta > 0 && std::isfinite(delta)))
    throw ConfigError(str("huber_loss cannot change at a distance of ", delta),
                      "delta must be above 0 and finite", "give a positive delta, such as 1");
  return reduced(huber_of(prediction - target, delta, 1), options.reduction);
}

Tensor smooth_l1_loss(const Tensor& given, const Tensor& given_target, SmoothL1Options options) {
  const Tensor prediction = widened(given), target = widened(given_target);
  check_loss("smooth_l1_loss", prediction, target);
  const double beta = options.beta;
  if (!(beta >= 0 && std::isfinite(beta)))
    throw ConfigError(str("smooth_l1_loss cannot change at a distance of ", beta), "beta must be 0 or more",
                      "give 0 for l1_loss, or a distance");
  // Below the smallest normal float 1 / beta would be infinite.
  if (beta < static_cast<double>(std::numeric_limits<float>::min()))
    return l1_loss(prediction, target, {options.reduction});
  return reduced(huber_of(prediction - target, beta, 1 / beta), options.reduction);
}

Tensor hinge_mse(const Tensor& given, const Tensor& given_target, LossOptions options) {
  const Tensor prediction = widened(given), target = widened(given_target);
  check_loss("hinge_mse", prediction, target);
  return reduced(square(relu(1.0 - target * prediction)), options.reduction);
}

Tensor hinge_embedding_loss(const Tensor& given, const Tensor& given_target, MarginOptions options) {
  const Tensor x = widened(given), target = widened(given_target);
  check_loss("hinge_embedding_loss", x, target);
  const Tensor alike = greater(target, number_like(target, 0));
  return reduced(where(alike, x, relu(options.margin - x)), options.reduction);
}

Tensor cosine_embedding_loss(const Tensor& given, const Tensor& given_b, const Tensor& target,
                             MarginOptions options) {
  const Tensor a = widened(given), b = widened(given_b);
  check_loss("cosine_embedding_loss", a, b);
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

Tensor margin_ranking_loss(const Tensor& given, const Tensor& given_b, const Tensor& target,
                           MarginOptions options) {
  const Tensor a = widened(given), b = widened(given_b);
  check_loss("margin_ranking_loss", a, b);
  check_loss("margin_ranking_loss", a, target);
  return reduced(relu(options.margin - target * (a - b)), options.reduction);
}

Tensor triplet_margin_loss(const Tensor& given, const Tensor& given_positive, const Tensor& given_negative,
                           TripletOptions o) {
  const Tensor anchor = widened(given), positive = widened(given_positive),
               negative = widened(given_negative);
  check_loss("triplet_margin_loss", anchor, positive);
  check_loss("triplet_margin_loss", anchor, negative);
  if (anchor.rank() == 0)
    throw ShapeError("triplet_margin cannot compare numbers", "it takes vectors along the last dimension",
                     "unsqueeze() them");
  if (!(o.margin > 0))
    throw ConfigError(str("triplet_margin cannot have a margin of ", o.margin), "it must be above 0",
                      "give a distance, such as 1");
  const Tensor near = pairwise_distance(anchor, positive, o.p, o.eps);
  Tensor far = pairwise_distance(anchor, negative, o.p, o.eps);
  if (o.swap) far = minimum(far, pairwise_distance(positive, negative, o.p, o.eps));
  return reduced(relu(near - far + o.margin), o.reduction);
}

Tensor poisson_nll_loss(const Tensor& given, const Tensor& given_target, PoissonOptions o) {
  const Tensor prediction = widened(given), target = widened(given_target);
  check_loss("poisson_nll_loss", prediction, target);
  Tensor loss =
      o.log_input ? exp(prediction) - target * prediction : prediction - target * log(prediction + o.eps);
  if (o.full) {
    const Tensor large = greater(target, number_like(target, 1));
    const Tensor t = where(large, target, ones_like(target));  // log of nothing below 1
    const Tensor stirling = t * log(t) - t + 0.5 * log(t * (2 * std::numbers::pi));
    loss = loss + where(large, stirling, zeros_like(stirling));
  }
  return reduced(loss, o.reduction);
}

Tensor gaussian_nll_loss(const Tensor& given, const Tensor& given_target, const Tensor& given_variance,
                         GaussianOptions o) {
  const Tensor prediction = widened(given), target = widened(given_target);
  check_loss("gaussian_nll_loss", prediction, target);
  // With one dimension less than the prediction it is a variance for each row, as in torch.
  const int rank = prediction.rank();
  const bool of_rows = rank > 0 && given_variance.shape() == prediction.shape().without(rank - 1);
  const Tensor variance = widened(of_rows ? unsqueeze(given_variance, -1) : given_variance);
  if (!(o.eps > 0))
    throw ConfigError(str("gaussian_nll cannot have an eps of ", o.eps), "a variance of 0 would divide by it",
                      "give a small positive number");
  if (broadcast(prediction.shape(), variance.shape(), "gaussian_nll_loss") != prediction.shape())
    throw ShapeError(
        str("gaussian_nll cannot use variances of ", variance.shape(), " for ", prediction.shape()),
        "each number has one, or shares it", "give them a shape that broadcasts to the prediction's");
  // At least eps, with the gradient of the variance itself, as in torch.
  const Tensor low = less(variance, number_like(variance, o.eps));
  const Tensor v = where(low, (variance - constant(variance)) + o.eps, variance);
  Tensor loss = 0.5 * (log(v) + square(prediction - target) / v);
  if (o.full) loss = loss + 0.5 * std::log(2 * std::numbers::pi);
  return reduced(loss, o.reduction);
}

}  // namespace veldt
