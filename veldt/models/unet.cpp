// U-Net (Ronneberger et al. 2015, "Convolutional networks for biomedical image segmentation") in the form
// that is taught most, with padding and batch norms; names are those of github.com/milesial/Pytorch-UNet.
#include <algorithm>
#include <cmath>
#include <optional>

#include "veldt/models/architecture.h"
#include "veldt/models/vision_parts.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/resize.h"
#include "veldt/ops/arrange.h"

namespace veldt::models {
namespace {

// Two times a convolution, a norm and relu: "double_conv".
class DoubleConv : public nn::Module {
 public:
  DoubleConv(std::int64_t in, std::int64_t inside, std::int64_t out, Rng& rng) {
    for (const auto& [from, to] : {std::pair{in, inside}, {inside, out}}) {
      double_conv_.add(nn::Conv2d(from, to, 3, {.padding = 1, .bias = false}, rng));
      double_conv_.add(nn::BatchNorm2d(to));
      double_conv_.add(nn::ReLU());
    }
  }
  Tensor forward(const Tensor& x) const override { return double_conv_(x); }
  void fields(nn::Fields& f) override { f("double_conv", double_conv_); }

 private:
  nn::Sequential double_conv_;
};

// To half the size: "maxpool_conv".
class Down : public nn::Module {
 public:
  Down(std::int64_t in, std::int64_t out, Rng& rng) {
    maxpool_conv_.add(nn::MaxPool2d(2));
    maxpool_conv_.add(DoubleConv(in, out, out, rng));
  }
  Tensor forward(const Tensor& x) const override { return maxpool_conv_(x); }
  void fields(nn::Fields& f) override { f("maxpool_conv", maxpool_conv_); }

 private:
  nn::Sequential maxpool_conv_;
};

// {deep, side}: the deep one enlarged to the side one's size, and both through "conv".
class Up : public nn::Module {
 public:
  Up(std::int64_t in, std::int64_t out, bool bilinear, Rng& rng)
      : conv_(in, bilinear ? in / 2 : out, out, rng) {
    if (!bilinear) up_.emplace(in, in / 2, 2, nn::ConvTransposeLayerOptions{.stride = 2}, rng);
  }

  TensorList forward_list(const TensorList& inputs) const override {
    const Tensor &deep = inputs.at(0), &side = inputs.at(1);
    const Tensor large =
        up_ ? (*up_)(deep)
            : interpolate(deep, {.scale_factor = {2}, .mode = Interpolation::linear, .align_corners = true});
    // Sides that two does not divide lost a line on the way down.
    const std::int64_t rows = side.size(2) - large.size(2), columns = side.size(3) - large.size(3);
    return {
        conv_(cat({side, pad(large, {columns / 2, columns - columns / 2, rows / 2, rows - rows / 2})}, 1))};
  }
  void fields(nn::Fields& f) override { f("up", up_)("conv", conv_); }

 private:
  std::optional<nn::ConvTranspose2d> up_;
  DoubleConv conv_;
};

// A convolution of kernel 1: "conv".
class OutConv : public nn::Module {
 public:
  OutConv(std::int64_t in, std::int64_t out, Rng& rng) : conv_(in, out, 1, rng) {}
  Tensor forward(const Tensor& x) const override { return conv_(x); }
  void fields(nn::Fields& f) override { f("conv", conv_); }

 private:
  nn::Conv2d conv_;
};

class UNet : public nn::Module {
 public:
  UNet(const Options& options, Rng& rng)
      : first_(std::max<std::int64_t>(2, std::llround(64 * options.at("width")) / 2 * 2)),
        inc_(count_of(options, "in_channels"), first_, first_, rng),
        outc_(first_, count_of(options, "classes"), rng) {
    const bool bilinear = options.at("bilinear") != 0;
    const std::int64_t part = bilinear ? 2 : 1;
    for (std::int64_t level = 1; level <= kLevels; ++level)
      down_.emplace_back(channels(level - 1), channels(level) / (level == kLevels ? part : 1), rng);
    for (std::int64_t level = kLevels; level >= 1; --level)
      up_.emplace_back(channels(level), channels(level - 1) / (level > 1 ? part : 1), bilinear, rng);
  }

  // x [n, in_channels, height, width] -> [n, classes, height, width]
  Tensor forward(const Tensor& x) const override {
    std::vector<Tensor> sides{inc_(x)};
    for (const Down& down : down_) sides.push_back(down(sides.back()));
    Tensor y = sides.back();
    for (std::size_t i = 0; i < up_.size(); ++i) {
      sides.pop_back();
      y = up_[i](TensorList{y, sides.back()})[0];
    }
    return outc_(y);
  }
  void fields(nn::Fields& f) override {
    f("inc", inc_);
    for (std::size_t i = 0; i < down_.size(); ++i) f("down" + std::to_string(i + 1), down_[i]);
    for (std::size_t i = 0; i < up_.size(); ++i) f("up" + std::to_string(i + 1), up_[i]);
    f("outc", outc_);
  }

 private:
  static constexpr std::int64_t kLevels = 4;
  std::int64_t channels(std::int64_t level) const { return first_ << level; }

  std::int64_t first_;
  DoubleConv inc_;
  std::vector<Down> down_;
  std::vector<Up> up_;
  OutConv outc_;
};

}  // namespace

std::vector<Architecture> unets() {
  About about{
      .title = "U-Net (Ronneberger et al. 2015), the names of milesial/Pytorch-UNet",
      .options = picture_options(2),
      .head = "outc.conv",
      .preprocessing = {
          .shorter_side = 512, .height = 512, .width = 512, .mean = {0, 0, 0}, .deviation = {1, 1, 1}}};
  about.options.push_back(width_option());
  about.options.push_back({"bilinear", 0, 0, 1});
  return {{"unet", about, [](const Options& options, Rng& rng) -> std::unique_ptr<nn::Module> {
             return std::make_unique<UNet>(options, rng);
           }}};
}

}  // namespace veldt::models
