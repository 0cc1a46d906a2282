// Normalising layers: parameters, running statistics, and checks.
#include "veldt/nn/norm.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/norm.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/recompute.h"

namespace veldt::nn {
namespace {

void check_eps(const std::string& layer, double eps) {
  if (!(eps >= 0))
    throw ConfigError(str("cannot build ", layer, " with an eps of ", eps),
                      "a variance below it would have no root", "use 0 or a small positive number");
}

void check_sizes(const std::string& layer, const Shape& sizes) {
  bool positive = sizes.rank() > 0;
  for (const std::int64_t s : sizes) positive = positive && s >= 1;
  if (!positive)
    throw ConfigError("cannot build " + layer, "it needs something to normalise", "give positive sizes");
}

// "4" or "[4, 5]"
std::string sizes_text(const Shape& sizes) { return sizes.rank() == 1 ? str(sizes[0]) : str(sizes); }

std::string unless(bool by_default, const std::string& text) { return by_default ? "" : ", " + text; }

// [c] reshaped to broadcast with [n, c, spatial ..].
Tensor as_column(const Tensor& list, int dims) {
  Shape column = Shape::filled(dims + 1, 1);
  column[0] = list.size(0);
  return reshape(list, column);
}

// Each example by itself: its channels as those of a single example.
BatchNormed norm_of_examples(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const std::int64_t n = x.size(0), channels = x.size(1);
  const auto repeated = [&](const Tensor& list) {
    return list.defined() ? reshape(expand(list, {n, channels}), {n * channels}) : list;
  };
  BatchNormed r = batch_norm(reshape(x, {1, n * channels, -1}), repeated(weight), repeated(bias), eps);
  r.y = reshape(r.y, x.shape());
  return r;
}

}  // namespace

ChannelNorm::ChannelNorm(int dims, std::int64_t channels, const Options& o)
    : dims_(dims), channels_(channels), of_examples_(o.of_examples), eps_(o.eps), momentum_(o.momentum) {
  const std::string layer = str(name(), '(', channels, ')');
  check_sizes(layer, {channels});
  check_eps(layer, eps_);
  if (momentum_ && !(*momentum_ >= 0 && *momentum_ <= 1))
    throw ConfigError(str("cannot build ", layer, " with a momentum of ", *momentum_),
                      "it is the share of a batch in the running statistics", "use one from 0 to 1");
  if (o.affine) {
    weight_ = parameter(ones({channels}, o.dtype, o.device));
    bias_ = parameter(zeros({channels}, o.dtype, o.device));
  }
  if (!o.track_running_stats) return;
  running_mean_ = zeros({channels}, o.dtype, o.device);
  running_var_ = ones({channels}, o.dtype, o.device);
  num_batches_tracked_ = zeros({}, DType::i64, o.device);
}

std::string ChannelNorm::name() const { return str(of_examples_ ? "Instance" : "Batch", "Norm", dims_, 'd'); }

// Of its tensors, where it has any: they may have been cut (compress/channels.h).
std::int64_t ChannelNorm::channels() const {
  if (weight_.defined()) return weight_.size(0);
  return running_mean_.defined() ? running_mean_.size(0) : channels_;
}

void ChannelNorm::fields(Fields& f) {
  if (left_out_) return;
  f("weight", weight_)("bias", bias_)("running_mean", running_mean_)("running_var", running_var_);
  f("num_batches_tracked", num_batches_tracked_);
}

bool ChannelNorm::is_fixed() const {
  return !of_examples_ && !left_out_ && running_mean_.defined() && (!training() || frozen());
}

std::string ChannelNorm::title() const {
  std::string text = str(name(), '(', channels(), unless(eps_ == 1e-5, str("eps ", eps_)));
  if (running_mean_.defined())
    text += unless(momentum_ == 0.1, momentum_ ? str("momentum ", *momentum_) : "mean of all batches");
  text += unless(weight_.defined() != of_examples_, of_examples_ ? "affine" : "not affine");
  text += unless(running_mean_.defined() != of_examples_,
                 of_examples_ ? "running statistics" : "no running statistics");
  return text + (left_out_ ? ", left out)" : ")");
}

void ChannelNorm::check(const Tensor& x) const {
  // A batch norm of one dimension also takes [n, c], and an instance norm an example without a batch.
  const int less = dims_ + 1, full = dims_ + 2;
  const bool takes_less = of_examples_ || dims_ == 1;
  const int channel_dim = of_examples_ ? x.rank() - less : 1;
  if ((x.rank() != full && !(takes_less && x.rank() == less)) || x.size(channel_dim) != channels())
    throw ShapeError(str(name(), " cannot take ", x.shape()),
                     str("an input is [n, ", channels(), ", ..] of ", full, " dimensions",
                         !takes_less    ? ""
                         : of_examples_ ? str(", or [", channels(), ", ..]")
                                        : str(", or [n, ", channels(), ']')),
                     "reshape the input, or build the layer for its dimensions and channels");
  const DType wanted = weight_.defined() ? weight_.dtype() : x.dtype();
  if (!is_float(x.dtype()) || x.dtype() != wanted)
    throw ShapeError(str(name(), " cannot take ", x.dtype()),
                     weight_.defined() ? str("its parameters are ", wanted) : "it normalises fractions",
                     "convert the input or the layer with to()");
}

Tensor ChannelNorm::forward(const Tensor& input) const {
  if (left_out_) return input;
  const bool is_of_halves = weight_.defined() && is_half(weight_.dtype());
  const Tensor given = is_of_halves ? input : widened(input);
  check(given);
  if (of_examples_ && given.rank() == dims_ + 1) return squeeze(forward(unsqueeze(given, 0)), 0);
  const DType wide = is_half(given.dtype()) ? DType::f32 : given.dtype();
  const auto column = [&](const Tensor& list) {
    return list.defined() ? as_column(veldt::to(list, wide), given.rank() - 2) : list;
  };
  if ((!training() || frozen()) && running_mean_.defined())
    return standardise_by(column(running_mean_), column(running_var_), given, column(weight_), column(bias_),
                          eps_);
  std::int64_t count = of_examples_ ? std::min<std::int64_t>(1, given.size(0)) : given.size(0);
  for (int d = 2; d < given.rank(); ++d) count *= given.size(d);
  const auto tracks = [&] { return running_mean_.defined() && !recomputing(); };
  if (!of_examples_ && parts_ && parts_->sum && training()) {
    const PartNormed r = batch_norm_of_parts(given, weight_, bias_, eps_, *parts_);
    if (tracks()) {  // of fewer than two numbers nothing is learned
      const Tensor few = less(r.count, 2);
      const auto or_before = [&](const Tensor& running, const Tensor& batch) {
        return where(few, veldt::to(running, batch.dtype()), batch);
      };
      track(or_before(running_mean_, r.mean), or_before(running_var_, r.unbiased));
    }
    return r.y;
  }
  if (count < 2)
    throw ShapeError(str(name(), " cannot find a variance in ", given.shape()),
                     str("there is ", count == 0 ? "no number" : "one number", " of each channel"),
                     "give it two or more, or evaluate with running statistics: eval()");
  if (of_examples_ && !running_mean_.defined())  // each channel is a group
    return veldt::to(group_norm(given, channels(), weight_, bias_, eps_), given.dtype());
  const BatchNormed r = (of_examples_ ? norm_of_examples : batch_norm)(given, weight_, bias_, eps_);
  const auto n = static_cast<double>(count);
  if (tracks()) track(r.mean, r.variance * (n / (n - 1)));
  return r.y;
}

// mean, unbiased variance [c] or of n examples, [n c]. Reads no values on the host, so a Plan can record it.
void ChannelNorm::track(const Tensor& mean, const Tensor& unbiased) const {
  NoGrad off;
  if (!of_examples_) Tensor(num_batches_tracked_).assign(num_batches_tracked_ + 1);
  const auto blend = [&](Tensor running, const Tensor& batch) {
    const Tensor now = of_examples_ ? veldt::mean(reshape(batch, {-1, channels()}), {0}) : batch,
                 before = veldt::to(running, now.dtype());
    running.assign(momentum_ ? lerp(before, now, *momentum_)
                             : lerp(before, now, reciprocal(veldt::to(num_batches_tracked_, now.dtype()))));
  };
  blend(running_mean_, mean);
  blend(running_var_, unbiased);
}

LayerNorm::LayerNorm(const Shape& normalized_shape, LayerNormOptions o)
    : normalized_shape_(normalized_shape), eps_(o.eps) {
  check_sizes(str("LayerNorm(", sizes_text(normalized_shape), ')'), normalized_shape);
  check_eps("LayerNorm", eps_);
  if (!o.elementwise_affine) return;
  weight_ = parameter(ones(normalized_shape, o.dtype, o.device));
  if (o.bias) bias_ = parameter(zeros(normalized_shape, o.dtype, o.device));
}

Tensor LayerNorm::forward(const Tensor& x) const {
  return layer_norm(x, normalized_shape_, weight_, bias_, eps_);
}

std::string LayerNorm::title() const {
  return str("LayerNorm(", sizes_text(normalized_shape_), unless(eps_ == 1e-5, str("eps ", eps_)),
             unless(weight_.defined(), "not affine"),
             unless(bias_.defined() || !weight_.defined(), "no bias"), ')');
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, GroupNormOptions o)
    : groups_(groups), channels_(channels), eps_(o.eps) {
  const std::string layer = str("GroupNorm(", groups, ", ", channels, ')');
  check_sizes(layer, {groups, channels});
  check_eps(layer, eps_);
  if (channels % groups != 0)
    throw ConfigError("cannot build " + layer, str(groups, " groups do not divide ", channels, " channels"),
                      "choose a number of groups that does");
  if (!o.affine) return;
  weight_ = parameter(ones({channels}, o.dtype, o.device));
  bias_ = parameter(zeros({channels}, o.dtype, o.device));
}

Tensor GroupNorm::forward(const Tensor& x) const {
  if (x.rank() < 2 || x.size(1) != channels_)
    throw ShapeError(str("GroupNorm cannot take ", x.shape()), str("an input is [n, ", channels_, ", ..]"),
                     "reshape the input, or build the layer for its channels");
  return group_norm(x, groups_, weight_, bias_, eps_);
}

std::string GroupNorm::title() const {
  return str("GroupNorm(", groups_, ", ", channels_, unless(eps_ == 1e-5, str("eps ", eps_)),
             unless(weight_.defined(), "not affine"), ')');
}

RMSNorm::RMSNorm(const Shape& normalized_shape, RMSNormOptions o)
    : normalized_shape_(normalized_shape), eps_(o.eps) {
  check_sizes(str("RMSNorm(", sizes_text(normalized_shape), ')'), normalized_shape);
  if (eps_) check_eps("RMSNorm", *eps_);
  if (o.elementwise_affine) weight_ = parameter(ones(normalized_shape, o.dtype, o.device));
}

Tensor RMSNorm::forward(const Tensor& x) const { return rms_norm(x, normalized_shape_, weight_, eps_); }

std::string RMSNorm::title() const {
  return str("RMSNorm(", sizes_text(normalized_shape_), eps_ ? str(", eps ", *eps_) : "",
             unless(weight_.defined(), "not affine"), ')');
}

}  // namespace veldt::nn
