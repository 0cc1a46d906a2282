// Layers that normalise; parameters, defaults, buffers and initial values are those of torch.nn. Variances
// are biased, and those of bf16 and f16 are computed in f32.
// Tests: tests/nn/norm_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "veldt/nn/module.h"

namespace veldt {
struct BatchParts;
}

namespace veldt::nn {

// The base of BatchNorm and InstanceNorm: the statistics of each channel, over a whole batch or one example.
class ChannelNorm : public Module {
 public:
  // Throws ShapeError for another rank, number of channels or dtype, and if training has less than two
  // numbers per channel.
  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override;
  std::string title() const override;

  // Undefined in a layer that has none.
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }
  const Tensor& running_mean() const { return running_mean_; }
  const Tensor& running_var() const { return running_var_; }

  double eps() const { return eps_; }
  // Whether it is a batch norm that uses its running statistics now: then it multiplies and adds fixed
  // numbers.
  bool is_fixed() const;
  // It gives its input and has no members, because another layer does its work (compress/fold.h); or again
  // what it did before.
  void leave_out(bool on = true) { left_out_ = on; }
  bool is_left_out() const { return left_out_; }

  // From now on, in training, a batch norm's batch is a part of a larger one, of which other processes have
  // the rest: `parts` adds up over all of them, so that mean, variance and running statistics are those of
  // the whole (torch.nn.SyncBatchNorm). All processes call forward() and backward() in the same order. Null
  // ends that; an instance norm ignores it. Used by dist::SyncBatchNorm.
  void share_batch(std::shared_ptr<const BatchParts> parts) { parts_ = std::move(parts); }

 protected:
  struct Options {
    bool of_examples;
    double eps;
    std::optional<double> momentum;
    bool affine, track_running_stats;
    DType dtype;
    Device device;
  };
  ChannelNorm(int dims, std::int64_t channels, const Options& options);

 private:
  std::string name() const;
  std::int64_t channels() const;
  void check(const Tensor& x) const;
  void track(const Tensor& mean, const Tensor& unbiased) const;

  int dims_;
  std::int64_t channels_;
  bool of_examples_, left_out_ = false;
  double eps_;
  std::optional<double> momentum_;
  Tensor weight_, bias_, running_mean_, running_var_, num_batches_tracked_;
  std::shared_ptr<const BatchParts> parts_;
};

struct BatchNormOptions {
  double eps = 1e-5;
  // The weight of a batch in the running statistics; none: they are the mean over all batches.
  std::optional<double> momentum = 0.1;
  bool affine = true;               // weight and bias
  bool track_running_stats = true;  // else evaluation uses the batch's own
  DType dtype = DType::f32;
  Device device = {};
};

// y = (x - mean) / sqrt(variance + eps) weight + bias for each channel of x [n, channels, spatial ..], or of
// [n, channels] for one dimension: in training by the batch's mean and variance, in evaluation, and after
// freeze(), by the running ones (Ioffe & Szegedy 2015). "weight" (1), "bias" (0) [channels]; buffers
// "running_mean" (0), "running_var" (1, of unbiased variances) [channels], "num_batches_tracked" [] (i64),
// which a call in training updates.
template <int kDims> class BatchNorm : public ChannelNorm {
 public:
  // Throws ConfigError for no channels, an eps below 0 and a momentum outside [0, 1].
  explicit BatchNorm(std::int64_t channels, BatchNormOptions o = {})
      : ChannelNorm(kDims, channels,
                    {false, o.eps, o.momentum, o.affine, o.track_running_stats, o.dtype, o.device}) {}
};

using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

struct InstanceNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = false;
  bool track_running_stats = false;
  DType dtype = DType::f32;
  Device device = {};
};

// The same by the mean and variance of each example's channel (Ulyanov et al. 2016), for x [n, channels,
// spatial ..] or [channels, spatial ..]. Parameters and buffers exist only if the options enable them; the
// running statistics are of the batch's means, and as in torch num_batches_tracked stays 0.
template <int kDims> class InstanceNorm : public ChannelNorm {
 public:
  explicit InstanceNorm(std::int64_t channels, InstanceNormOptions o = {})
      : ChannelNorm(kDims, channels,
                    {true, o.eps, o.momentum, o.affine, o.track_running_stats, o.dtype, o.device}) {}
};

using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  // weight and bias
  bool bias = true;
  DType dtype = DType::f32;
  Device device = {};
};

// layer_norm() of ops/norm.h over the last dimensions; "weight" (1) and "bias" (0) of their shape.
class LayerNorm : public Module {
 public:
  // Throws ConfigError for no sizes, or sizes below 1; a call, as layer_norm().
  explicit LayerNorm(const Shape& normalized_shape, LayerNormOptions options = {});
  explicit LayerNorm(std::int64_t size, LayerNormOptions options = {}) : LayerNorm(Shape{size}, options) {}

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override { f("weight", weight_)("bias", bias_); }
  std::string title() const override;

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }

 private:
  Shape normalized_shape_;
  double eps_;
  Tensor weight_, bias_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  DType dtype = DType::f32;
  Device device = {};
};

// group_norm() of ops/norm.h: x [n, channels, ..]; "weight" (1) and "bias" (0) [channels].
class GroupNorm : public Module {
 public:
  // Throws ConfigError for groups that do not divide the channels; a call, as group_norm().
  GroupNorm(std::int64_t groups, std::int64_t channels, GroupNormOptions options = {});

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override { f("weight", weight_)("bias", bias_); }
  std::string title() const override;

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }

 private:
  std::int64_t groups_, channels_;
  double eps_;
  Tensor weight_, bias_;
};

struct RMSNormOptions {
  std::optional<double> eps = {};  // none: that of the input's dtype, see rms_norm()
  bool elementwise_affine = true;
  DType dtype = DType::f32;
  Device device = {};
};

// rms_norm() of ops/norm.h over the last dimensions; "weight" (1) of their shape.
class RMSNorm : public Module {
 public:
  // Throws ConfigError for no sizes, or sizes below 1; a call, as rms_norm().
  explicit RMSNorm(const Shape& normalized_shape, RMSNormOptions options = {});
  explicit RMSNorm(std::int64_t size, RMSNormOptions options = {}) : RMSNorm(Shape{size}, options) {}

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override { f("weight", weight_); }
  std::string title() const override;

  const Tensor& weight() const { return weight_; }

 private:
  Shape normalized_shape_;
  std::optional<double> eps_;
  Tensor weight_;
};

}  // namespace veldt::nn
