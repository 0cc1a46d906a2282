// ResNet-18, -34 and -50 (He et al. 2016, "Deep residual learning for image recognition"), as torchvision has
// them: the 3x3 convolution of a bottleneck has the stride (its "v1.5").
#include <array>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/models/architecture.h"
#include "veldt/models/vision_parts.h"
#include "veldt/nn/linear.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"

namespace veldt::models {
namespace {

constexpr std::int64_t kBottleneckGrowth = 4;  // of channels, from a bottleneck's inside to its output

// relu(norms of convolutions + x): "conv1", "bn1", .., and "downsample" where x has another shape.
class ResidualBlock : public nn::Module {
 public:
  ResidualBlock(std::int64_t in, std::int64_t inside, std::int64_t stride, bool bottleneck, Rng& rng) {
    const std::int64_t out = bottleneck ? kBottleneckGrowth * inside : inside;
    const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t kernel, std::int64_t step) {
      convolutions_.emplace_back(
          from, to, kernel, nn::ConvLayerOptions{.stride = step, .padding = kernel / 2, .bias = false}, rng);
      norms_.emplace_back(to);
    };
    if (bottleneck) {
      add(in, inside, 1, 1), add(inside, inside, 3, stride), add(inside, out, 1, 1);
    } else {
      add(in, inside, 3, stride), add(inside, out, 3, 1);
    }
    if (stride != 1 || in != out)
      downsample_ = conv_norm(in, out, 1, {.stride = stride, .act = Act::none}, rng);
  }

  Tensor forward(const Tensor& x) const override {
    Tensor y = x;
    for (std::size_t i = 0; i < convolutions_.size(); ++i) {
      if (i > 0) y = relu(y);
      y = norms_[i](convolutions_[i](y));
    }
    return relu(y + (downsample_ ? (*downsample_)(x) : x));
  }
  void fields(nn::Fields& f) override {
    for (std::size_t i = 0; i < convolutions_.size(); ++i)
      f(str("conv", i + 1), convolutions_[i])(str("bn", i + 1), norms_[i]);
    f("downsample", downsample_);
  }

 private:
  std::vector<nn::Conv2d> convolutions_;
  std::vector<nn::BatchNorm2d> norms_;
  std::optional<nn::Sequential> downsample_;
};

struct ResNetKind {
  const char* title;
  std::array<std::int64_t, 4> blocks;  // of each stage
  bool bottleneck;
};
constexpr ResNetKind kResNet18{"ResNet-18", {2, 2, 2, 2}, false}, kResNet34{"ResNet-34", {3, 4, 6, 3}, false},
    kResNet50{"ResNet-50", {3, 4, 6, 3}, true};

class ResNet : public nn::Module {
 public:
  ResNet(const ResNetKind& kind, const Options& options, Rng& rng)
      : title_(kind.title),
        conv1_(count_of(options, "in_channels"), 64, 7, {.stride = 2, .padding = 3, .bias = false}, rng),
        bn1_(64) {
    std::int64_t in = 64, inside = 64;
    for (std::size_t stage = 0; stage < kind.blocks.size(); ++stage, inside *= 2) {
      nn::Sequential layer;
      for (std::int64_t i = 0; i < kind.blocks[stage]; ++i) {
        layer.add(ResidualBlock(in, inside, stage > 0 && i == 0 ? 2 : 1, kind.bottleneck, rng));
        in = kind.bottleneck ? kBottleneckGrowth * inside : inside;
      }
      layers_.push_back(std::move(layer));
    }
    fc_.emplace(in, count_of(options, "classes"), rng);
    draw_as_torchvision(*this, -1, rng);
  }

  Tensor forward(const Tensor& x) const override {
    Tensor y = max_pool2d(relu(bn1_(conv1_(x))), 3, {.stride = 2, .padding = 1});
    for (const nn::Sequential& layer : layers_) y = layer(y);
    return (*fc_)(mean(y, {2, 3}));
  }
  void fields(nn::Fields& f) override {
    f("conv1", conv1_)("bn1", bn1_);
    for (std::size_t i = 0; i < layers_.size(); ++i) f(str("layer", i + 1), layers_[i]);
    f("fc", fc_);
  }
  std::string title() const override { return title_; }

 private:
  std::string title_;
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  std::vector<nn::Sequential> layers_;
  std::optional<nn::Linear> fc_;
};

template <const ResNetKind& kKind> std::unique_ptr<nn::Module> make_resnet(const Options& options, Rng& rng) {
  return std::make_unique<ResNet>(kKind, options, rng);
}

}  // namespace

std::vector<Architecture> resnets() {
  const auto told = [](const char* title) {
    return About{.title = str(title, " (He et al. 2016), torchvision's names"),
                 .options = picture_options(),
                 .head = "fc",
                 .preprocessing = imagenet_pixels()};
  };
  return {{"resnet18", told("ResNet-18"), make_resnet<kResNet18>},
          {"resnet34", told("ResNet-34"), make_resnet<kResNet34>},
          {"resnet50", told("ResNet-50"), make_resnet<kResNet50>}};
}

}  // namespace veldt::models
