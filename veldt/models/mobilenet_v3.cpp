// MobileNetV3, large and small (Howard et al. 2019, "Searching for MobileNetV3").
#include <optional>
#include <span>

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

constexpr nn::BatchNormOptions kNormV3{.eps = 1e-3, .momentum = 0.01};

// x times a number in 0..1 of each channel, made from all channels' means (Hu et al. 2018).
class SqueezeExcitation : public nn::Module {
 public:
  SqueezeExcitation(std::int64_t channels, std::int64_t squeezed, Rng& rng)
      : fc1_(channels, squeezed, 1, rng), fc2_(squeezed, channels, 1, rng) {}

  Tensor forward(const Tensor& x) const override {
    return x * hardsigmoid(fc2_(relu(fc1_(mean(x, {2, 3}, true)))));
  }
  void fields(nn::Fields& f) override { f("fc1", fc1_)("fc2", fc2_); }

 private:
  nn::Conv2d fc1_, fc2_;
};

// A row of the paper's tables 1 and 2.
struct Row {
  std::int64_t kernel, inside, out;
  bool squeezes, hardswish;
  std::int64_t stride;
};
constexpr Row kLarge[] = {
    {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
    {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
    {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
    {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
    {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1}};
constexpr Row kSmall[] = {
    {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
    {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
    {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
    {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};

class Bottleneck : public nn::Module {
 public:
  Bottleneck(std::int64_t in, const Row& row, double width, Rng& rng)
      : adds_(row.stride == 1 && in == wide(row.out, width)) {
    const std::int64_t inside = wide(row.inside, width);
    const Act act = row.hardswish ? Act::hardswish : Act::relu;
    if (inside != in) block_.add(conv_norm(in, inside, 1, {.act = act, .norm = kNormV3}, rng));
    block_.add(conv_norm(inside, inside, row.kernel,
                         {.stride = row.stride, .groups = inside, .act = act, .norm = kNormV3}, rng));
    if (row.squeezes)
      block_.add(SqueezeExcitation(inside, divisible_by_8(static_cast<double>(inside / 4)), rng));
    block_.add(conv_norm(inside, wide(row.out, width), 1, {.act = Act::none, .norm = kNormV3}, rng));
  }

  Tensor forward(const Tensor& x) const override { return adds_ ? block_(x) + x : block_(x); }
  void fields(nn::Fields& f) override { f("block", block_); }

  static std::int64_t wide(std::int64_t channels, double width) {
    return divisible_by_8(static_cast<double>(channels) * width);
  }

 private:
  bool adds_;
  nn::Sequential block_;
};

class MobileNetV3 : public ClassifiedFeatures {
 public:
  // `hidden`: the channels between the two Linear layers.
  MobileNetV3(std::span<const Row> rows, std::int64_t hidden, const Options& options, Rng& rng) {
    const double width = options.at("width");
    std::int64_t in = Bottleneck::wide(16, width);
    const ConvNormOptions stem{.stride = 2, .act = Act::hardswish, .norm = kNormV3};
    features_.add(conv_norm(count_of(options, "in_channels"), in, 3, stem, rng));
    for (const Row& row : rows) {
      features_.add(Bottleneck(in, row, width, rng));
      in = Bottleneck::wide(row.out, width);
    }
    features_.add(conv_norm(in, 6 * in, 1, {.act = Act::hardswish, .norm = kNormV3}, rng));
    hidden = Bottleneck::wide(hidden, width);
    classifier_.add(nn::Linear(6 * in, hidden, rng));
    classifier_.add(nn::Hardswish());
    classifier_.add(nn::Dropout(options.at("dropout"), rng));
    classifier_.add(nn::Linear(hidden, count_of(options, "classes"), rng));
    draw_as_torchvision(*this, 0.01, rng);
  }
};

}  // namespace

std::vector<Architecture> mobilenets_v3() {
  const auto told = [](const char* title) {
    About about{.title = title,
                .options = picture_options(),
                .head = "classifier.3",
                .preprocessing = imagenet_pixels()};
    about.options.push_back(width_option());
    about.options.push_back(dropout_option(0.2));
    return about;
  };
  using Made = std::unique_ptr<nn::Module>;
  return {{"mobilenet_v3_large", told("MobileNetV3 large (Howard et al. 2019), torchvision's names"),
           [](const Options& options, Rng& rng) -> Made {
             return std::make_unique<MobileNetV3>(kLarge, 1280, options, rng);
           }},
          {"mobilenet_v3_small", told("MobileNetV3 small (Howard et al. 2019), torchvision's names"),
           [](const Options& options, Rng& rng) -> Made {
             return std::make_unique<MobileNetV3>(kSmall, 1024, options, rng);
           }}};
}

}  // namespace veldt::models
