// Options, blocks and initial values that several networks for pictures share.
#include "veldt/models/vision_parts.h"

#include <algorithm>
#include <cmath>

#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/ops/reduce.h"

namespace veldt::models {

std::vector<OptionInfo> picture_options(std::int64_t classes) {
  return {{"classes", static_cast<double>(classes), 1, 1 << 20}, {"in_channels", 3, 1, 1 << 10}};
}

OptionInfo dropout_option(double otherwise) { return {"dropout", otherwise, 0, 1, false}; }

OptionInfo width_option() { return {"width", 1, 1.0 / 64, 8, false}; }

Preprocessing imagenet_pixels() {
  return {.mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};
}

nn::Sequential conv_norm(std::int64_t in, std::int64_t out, std::int64_t kernel, const ConvNormOptions& o,
                         Rng& rng) {
  nn::Sequential block;
  block.add(nn::Conv2d(in, out, kernel,
                       {.stride = o.stride, .padding = (kernel - 1) / 2, .groups = o.groups, .bias = false},
                       rng));
  block.add(nn::BatchNorm2d(out, o.norm));
  if (o.act == Act::relu) block.add(nn::ReLU());
  if (o.act == Act::relu6) block.add(nn::ReLU6());
  if (o.act == Act::hardswish) block.add(nn::Hardswish());
  return block;
}

Tensor ClassifiedFeatures::forward(const Tensor& x) const { return classifier_(mean(features_(x), {2, 3})); }

std::int64_t divisible_by_8(double channels) {
  const auto nearest = static_cast<std::int64_t>(channels + 4) / 8 * 8;
  const std::int64_t least = std::max<std::int64_t>(nearest, 8);
  return static_cast<double>(least) < 0.9 * channels ? least + 8 : least;
}

void draw_as_torchvision(nn::Module& network, double linear_deviation, Rng& rng) {
  network.apply([&](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv2d*>(&module)) {
      const auto outputs = static_cast<double>(nn::init::fans_of(conv->weight()).out);
      nn::init::normal(conv->weight(), 0, std::sqrt(2 / outputs), rng);
      if (conv->bias().defined()) nn::init::constant(conv->bias(), 0);
    }
    if (const auto* linear = dynamic_cast<nn::Linear*>(&module); linear != nullptr && linear_deviation >= 0) {
      nn::init::normal(linear->weight(), 0, linear_deviation, rng);
      if (linear->bias().defined()) nn::init::constant(linear->bias(), 0);
    }
  });
}

}  // namespace veldt::models
