// The losses of nn/losses.h that compare probabilities.
#include <algorithm>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/nn/loss_parts.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using nn::check_loss;
using nn::constant;
using nn::number_like;
using nn::reduced;

// Reshapes [classes] and [] to [1, classes] and [1], and checks classes and rows.
struct Rows {
  const char* name;  // of the loss
  Tensor x, target;
  bool single = false, by_index = false;

  Rows(const char* loss, const Tensor& scores, const Tensor& wanted, const Tensor& weights)
      : name(loss), x(scores), target(wanted), by_index(!is_float(wanted.dtype())) {
    if (x.rank() == 0 || x.numel() == 0)
      throw ShapeError(str(name, " has nothing to compare"), str("the scores are ", x.shape()),
                       "give [n, classes], [n, classes, ..] or [classes]");
    single = x.rank() == 1;
    if (single) {
      x = unsqueeze(x, 0);
      target = unsqueeze(target, 0);
    }
    const Shape rows = x.shape().without(1);
    if (target.shape() != (by_index ? rows : x.shape()))
      throw ShapeError(
          str(name, " cannot compare ", scores.shape(), " with ", wanted.shape(), " of ", wanted.dtype()),
          str("the target holds an index for each row, ", single ? Shape{} : rows,
              ", or probabilities of the scores' shape"),
          "reshape the target, or convert indices with to(target, DType::i64)");
    if (weights.defined() && weights.shape() != Shape{x.size(1)})
      throw ShapeError(str(name, " cannot weight ", x.size(1), " classes by ", weights.shape()),
                       "it needs one weight for each class", str("give weights of [", x.size(1), "]"));
  }
  // [n, ..] in the caller's shape.
  Tensor each(const Tensor& loss) const { return single ? squeeze(loss, 0) : loss; }
  // Moves [classes] to dimension 1.
  Tensor along_classes(const Tensor& weights) const {
    Shape shape = Shape::filled(x.rank(), 1);
    shape[1] = weights.numel();
    return reshape(weights, shape);
  }
};

// The mean is over the weights of the rows that count.
Tensor reduced_by(const Rows& rows, const Tensor& loss, const Tensor& counts, Reduction reduction) {
  if (reduction == Reduction::mean) return sum(loss) / sum(counts);
  return reduction == Reduction::sum ? sum(loss) : rows.each(loss);
}

// The loss of rows whose target is an index. log_p [n, classes, ..].
Tensor by_index(const Rows& rows, const Tensor& log_p, const ClassOptions& o) {
  const Tensor wanted = to(rows.target, DType::i64);
  const Tensor ignored = equal(wanted, full({}, o.ignore_index, DType::i64, wanted.device()));
  const Tensor index = unsqueeze(where(ignored, zeros_like(wanted), wanted), 1);
  check_index(rows.name, log_p, 1, index);  // once, and in the loss's name
  const Tensor zero = number_like(log_p, 0);
  Tensor counts = number_like(log_p, 1);
  if (o.weights.defined()) {
    Shape shape = log_p.shape();
    counts = squeeze(gather_within(expand(rows.along_classes(o.weights), shape), 1, index), 1);
  }
  counts = where(ignored, zero, expand(counts, wanted.shape()));
  const Tensor log_wanted = where(ignored, zero, squeeze(gather_within(log_p, 1, index), 1));
  Tensor loss = -(log_wanted * counts);
  if (o.label_smoothing > 0) {
    const Tensor all = o.weights.defined() ? log_p * rows.along_classes(o.weights) : log_p;
    const Tensor spread = where(ignored, zero, -sum(all, {1}));
    const double share = o.label_smoothing / static_cast<double>(log_p.size(1));
    loss = loss * (1 - o.label_smoothing) + spread * share;
  }
  return reduced_by(rows, loss, counts, o.reduction);
}

Tensor by_probability(const Rows& rows, const Tensor& log_p, const ClassOptions& o) {
  Tensor target = rows.target;
  if (o.label_smoothing > 0)
    target = target * (1 - o.label_smoothing) + o.label_smoothing / static_cast<double>(log_p.size(1));
  if (o.weights.defined()) target = target * rows.along_classes(o.weights);
  const Tensor loss = -sum(target * log_p, {1});
  return o.reduction == Reduction::none ? rows.each(loss) : reduced(loss, o.reduction);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target, ClassOptions options) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ConfigError(str("cross_entropy cannot smooth labels by ", options.label_smoothing),
                      "the share must be from 0 to 1", "give a share such as 0.1");
  const Rows rows("cross_entropy", logits, target, options.weights);
  if (rows.x.size(1) == 1)
    throw ShapeError("cross_entropy cannot learn one class",
                     str("the scores are ", logits.shape(), ", and the softmax of one score is always 1"),
                     "use mse_loss() for numbers, binary_cross_entropy_with_logits() for yes or no, or give "
                     "a score for each class");
  const Tensor log_p = log_softmax(rows.x, 1);
  return rows.by_index ? by_index(rows, log_p, options) : by_probability(rows, log_p, options);
}

Tensor nll_loss(const Tensor& given, const Tensor& target, ClassOptions options) {
  const Tensor log_probabilities = widened(given);
  if (is_float(target.dtype()))
    throw ShapeError(str("nll_loss needs a target of whole numbers, not ", target.dtype()),
                     "it holds the rows' classes",
                     "convert it with to(target, DType::i64), or use cross_entropy() for probabilities");
  if (options.label_smoothing != 0)
    throw ConfigError("nll_loss does not smooth labels", str("label_smoothing is ", options.label_smoothing),
                      "use cross_entropy() on the logits");
  const Rows rows("nll_loss", log_probabilities, target, options.weights);
  return by_index(rows, rows.x, options);
}

Tensor kl_div(const Tensor& given, const Tensor& given_target, KlOptions options) {
  const Tensor log_prediction = widened(given), target = widened(given_target);
  check_loss("kl_div", log_prediction, target);
  if (options.batch_mean && options.reduction != Reduction::mean)
    throw ConfigError("kl_div cannot both take the mean over the batch and another reduction",
                      "batch_mean is set", "leave the reduction at mean");
  Tensor loss;
  if (options.log_target) {
    loss = exp(target) * (target - log_prediction);
  } else {
    const Tensor positive = greater(target, number_like(target, 0));
    loss = target * (log(where(positive, target, ones_like(target))) - log_prediction);
  }
  if (options.batch_mean) return sum(loss) / static_cast<double>(std::max<std::int64_t>(1, loss.size(0)));
  return reduced(loss, options.reduction);
}

// The gradient is explicit: that of the logarithms would be infinite, or 0 beyond their limit.
Tensor binary_cross_entropy(const Tensor& given, const Tensor& given_targets, LossOptions options) {
  const Tensor probabilities = widened(given), targets = widened(given_targets);
  check_loss("binary_cross_entropy", probabilities, targets);
  constexpr double kEnd = -100, kTiny = static_cast<double>(1e-12f);  // torch's
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto logarithm = [](const Tensor& x) { return clamp(log(x), kEnd, kInfinity); };
  const Tensor p = constant(probabilities), t = constant(targets);
  const Tensor loss =
      record("bce", -(t * logarithm(p) + (1.0 - t) * logarithm(1.0 - p)), {probabilities, targets},
             [p = probabilities, t = targets, logarithm](const Tensor& g) -> Grads {
               Grads grads(2);
               if (needs_grad(p)) grads[0] = g * (p - t) / clamp((1.0 - p) * p, kTiny, kInfinity);
               if (needs_grad(t)) grads[1] = g * (logarithm(1.0 - p) - logarithm(p));
               return grads;
             });
  return reduced(loss, options.reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& given, const Tensor& given_targets,
                                        BceLogitsOptions options) {
  const Tensor logits = widened(given), targets = widened(given_targets);
  check_loss("binary_cross_entropy_with_logits", logits, targets);
  if (!options.pos_weight.defined()) return reduced(softplus(logits) - logits * targets, options.reduction);
  const Tensor weight = (options.pos_weight - 1.0) * targets + 1.0;
  if (weight.shape() != logits.shape())
    throw ShapeError(
        str("bce_with_logits cannot weight ", logits.shape(), " by ", options.pos_weight.shape()),
        "the weights must broadcast to the logits", "give one weight for each class");
  return reduced((1.0 - targets) * logits + weight * softplus(-logits), options.reduction);
}

Tensor sigmoid_focal_loss(const Tensor& given, const Tensor& given_targets, FocalOptions options) {
  const Tensor logits = widened(given), targets = widened(given_targets);
  check_loss("sigmoid_focal_loss", logits, targets);
  if (!(options.gamma >= 0))
    throw ConfigError(str("sigmoid_focal_loss cannot have a gamma of ", options.gamma),
                      "it must be 0 or more", "give 2, as the paper does, or 0 for bce_with_logits");
  const Tensor p = sigmoid(logits), entropy = softplus(logits) - logits * targets;
  const Tensor missed = p + targets - 2.0 * (p * targets);  // 1 - q
  // Not of 0 itself: with gamma below 1 its slope is infinite, and 0 times that is NaN.
  const double least = missed.dtype() == DType::f64 ? std::numeric_limits<double>::min()
                                                    : static_cast<double>(std::numeric_limits<float>::min());
  const bool is_steep = options.gamma > 0 && options.gamma < 1;
  Tensor loss = entropy * pow(is_steep ? maximum(missed, number_like(missed, least)) : missed, options.gamma);
  if (options.alpha >= 0) loss = loss * (targets * (2 * options.alpha - 1) + (1 - options.alpha));
  return reduced(loss, options.reduction);
}

}  // namespace veldt
