// Losses over classes.
#include <limits>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/softmax.h"

namespace veldt::onnx {

namespace {

// The mean weighs each example as its class is weighed; an ignored one counts nothing.
Tensor likelihood_loss(const Call& c, const Tensor& log_p) {
  if (log_p.rank() < 2) c.fail("its scores have no dimension of classes");
  const Tensor target = to(c.tensor(1), DType::i64);
  if (!(target.shape() == log_p.shape().without(1)))
    c.fail(str("its targets are ", target.shape(), ", its scores ", log_p.shape()));
  const bool ignores = c.has("ignore_index");
  const Tensor kept = ignores ? not_equal(target, c.integer("ignore_index")) : Tensor();
  const Tensor classes = ignores ? where(kept, target, zeros_like(target)) : target;
  Tensor loss = neg(squeeze(gather(log_p, 1, unsqueeze(classes, 1)), 1));
  Tensor weight;
  if (c.has(2)) {
    const Tensor& each = c.tensor(2);
    if (each.rank() != 1 || each.size(0) != log_p.size(1)) c.fail("it has not one weight for each class");
    weight = reshape(index_select(to(each, log_p.dtype()), 0, reshape(classes, {classes.numel()})),
                     classes.shape());
  }
  if (ignores) weight = weight.defined() ? where(kept, weight, zeros_like(weight)) : to(kept, log_p.dtype());
  if (weight.defined()) loss = mul(where(equal(weight, 0), zeros_like(loss), loss), weight);
  const std::string reduction = c.text("reduction", "mean");
  if (reduction == "none") return loss;
  if (reduction == "sum") return sum(loss);
  if (reduction != "mean") c.fail("its reduction is \"" + reduction + "\", which ONNX does not have");
  return weight.defined() ? div(sum(loss), sum(weight)) : mean(loss);
}

Values negative_log_likelihood(const Call& c) { return {likelihood_loss(c, c.tensor(0))}; }

Values softmax_cross_entropy(const Call& c) {
  if (c.tensor(0).rank() < 2) c.fail("its scores have no dimension of classes");
  const Tensor log_p = log_softmax(c.tensor(0), 1);
  return {likelihood_loss(c, log_p), log_p};
}

}  // namespace

void add_losses(OperatorTable& t) {
  t.add("NegativeLogLikelihoodLoss", negative_log_likelihood, 1);
  t.add("SoftmaxCrossEntropyLoss", softmax_cross_entropy, 1);
}

}  // namespace veldt::onnx
