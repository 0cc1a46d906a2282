// Losses, as in torch.nn.functional. Prediction and target have the same shape unless noted; they are not
// broadcast, because [n] against [n, 1] would silently compare every pair. Dtypes are promoted as ops promote
// them. Throws ShapeError naming both shapes, and if there are no elements.
// Tests: tests/nn/losses_test.cpp, tests/nn/golden_losses_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

// mean and sum give one number, none the contribution of each element (for classes: of each row).
enum class Reduction : std::uint8_t { mean, sum, none };

struct LossOptions {
  Reduction reduction = Reduction::mean;
};

// (p - t)^2
Tensor mse_loss(const Tensor& prediction, const Tensor& target, LossOptions options = {});
// |p - t|; slope 0 where they are equal
Tensor l1_loss(const Tensor& prediction, const Tensor& target, LossOptions options = {});

struct HuberOptions {
  double delta = 1;  // ConfigError unless above 0
  Reduction reduction = Reduction::mean;
};
// (p - t)^2 / 2 up to a distance of delta, then delta (|p - t| - delta / 2). Huber 1964.
Tensor huber_loss(const Tensor& prediction, const Tensor& target, HuberOptions options = {});

struct SmoothL1Options {
  double beta = 1;  // 0: l1_loss. ConfigError below
  Reduction reduction = Reduction::mean;
};
// (p - t)^2 / (2 beta) up to a distance of beta, then |p - t| - beta / 2. Girshick 2015.
Tensor smooth_l1_loss(const Tensor& prediction, const Tensor& target, SmoothL1Options options = {});

// max(0, 1 - t p)^2, t = -1 or 1: the squared error, but none once the output is past its target (the
// squared hinge of Tang 2013). For pictures of two levels, drawn by clamping.
Tensor hinge_mse(const Tensor& prediction, const Tensor& target, LossOptions options = {});

struct MarginOptions {
  double margin = 1;
  Reduction reduction = Reduction::mean;
};
// x where t = 1, max(0, margin - x) where t = -1: for distances x.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, MarginOptions options = {});
// a, b [n, d], target [n]: 1 - cos(a, b) where t = 1, max(0, cos(a, b) - margin) where t = -1. `none`: [n].
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                             MarginOptions options = {.margin = 0});

// a, b and targets of one shape: max(0, margin - t (a - b)), for a to be the larger where t = 1, b where t =
// -1.
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                           MarginOptions options = {.margin = 0});

struct TripletOptions {
  double margin = 1;  // ConfigError unless above 0
  double p = 2;       // of the norm
  double eps = 1e-6;  // added to each difference
  bool swap = false;  // the negative is compared with the positive too, and the smaller distance counts
  Reduction reduction = Reduction::mean;
};
// max(0, d(anchor, positive) - d(anchor, negative) + margin), d the pairwise_distance() of ops/distance.h.
// All [.., d]; `none`: [..]. Balntas et al. 2016.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           TripletOptions options = {});

struct PoissonOptions {
  bool log_input = true;  // the prediction x is the logarithm of the rate: e^x - t x; else x - t log(x + eps)
  bool full = false;      // with Stirling's approximation of log t! where t > 1
  double eps = 1e-8;
  Reduction reduction = Reduction::mean;
};
// -log of the probability of counts t under a Poisson distribution, less log t!.
Tensor poisson_nll_loss(const Tensor& prediction, const Tensor& target, PoissonOptions options = {});

struct GaussianOptions {
  bool full = false;  // with log(2 pi) / 2
  double eps =
      1e-6;  // the minimum of a variance, for the value; its gradient passes. ConfigError unless above 0
  Reduction reduction = Reduction::mean;
};
// (log v + (p - t)^2 / v) / 2: -log of the density of t under a normal distribution of mean p and variance v,
// which has the shape of p, is one for each row of p ([..] for [.., n]), or broadcasts to p. Nix & Weigend
// 1994.
Tensor gaussian_nll_loss(const Tensor& prediction, const Tensor& target, const Tensor& variance,
                         GaussianOptions options = {});

// -(t log p + (1 - t) log(1 - p)), p in 0..1; logarithms end at -100, and the gradient stays finite.
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& targets, LossOptions options = {});

struct BceLogitsOptions {
  Tensor pos_weight = {};  // of t = 1, broadcast to the logits: [classes] for [n, classes]
  Reduction reduction = Reduction::mean;
};
// softplus(x) - x t: the cross entropy of sigmoid(x) against t in [0, 1], finite for every finite x.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                        BceLogitsOptions options = {});

struct FocalOptions {
  double alpha = 0.25;  // the weight of t = 1, and 1 - alpha that of t = 0; below 0: none
  double gamma = 2;
  Reduction reduction = Reduction::none;  // as in torchvision's sigmoid_focal_loss
};
// bce_with_logits times (1 - q)^gamma, q the probability given to the target: correct predictions count
// little. Lin et al. 2017.
Tensor sigmoid_focal_loss(const Tensor& logits, const Tensor& targets, FocalOptions options = {});

struct ClassOptions {
  Tensor weights = {};               // [classes], of the logits' dtype
  std::int64_t ignore_index = -100;  // rows of this class contribute nothing; of a target of indices
  double label_smoothing = 0;        // the share that is spread over all classes; only in cross_entropy
  Reduction reduction = Reduction::mean;
};
// -log softmax(x)[t] over dimension 1 of the logits [n, classes, ..] (dimension 0 of [classes]). The target
// holds indices, integers [n, ..], or probabilities of the logits' shape. The mean is weighted as torch's is:
// over the weights of the targets that count (NaN if none does); of probabilities over the rows. `none`: [n,
// ..]. Throws ShapeError for an index outside of the classes, ConfigError for a smoothing outside [0, 1].
Tensor cross_entropy(const Tensor& logits, const Tensor& target, ClassOptions options = {});
// The same for the output of log_softmax; indices only, and no smoothing.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, ClassOptions options = {});

struct KlOptions {
  bool log_target = false;  // the target holds logarithms too
  bool batch_mean = false;  // the sum over size(0), which is the divergence; the reduction must be mean
  Reduction reduction = Reduction::mean;  // over the elements, as in torch
};
// t (log t - x), x a logarithm and t a probability; 0 where t is 0. Kullback & Leibler 1951.
Tensor kl_div(const Tensor& log_prediction, const Tensor& target, KlOptions options = {});

}  // namespace veldt
