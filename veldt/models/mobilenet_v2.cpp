// MobileNetV2 (Sandler et al. 2018, "Inverted residuals and linear bottlenecks").
#include <algorithm>

#include "veldt/models/architecture.h"
#include "veldt/models/vision_parts.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/ops/binary.h"

namespace veldt::models {
namespace {

// Channels grown, filtered one by one, and shrunk; x is added where the shape stays. All is in "conv".
class InvertedResidual : public nn::Module {
 public:
  InvertedResidual(std::int64_t in, std::int64_t out, std::int64_t stride, std::int64_t growth, Rng& rng)
      : adds_(stride == 1 && in == out) {
    const std::int64_t inside = in * growth;
    if (growth != 1) conv_.add(conv_norm(in, inside, 1, {.act = Act::relu6}, rng));
    conv_.add(conv_norm(inside, inside, 3, {.stride = stride, .groups = inside, .act = Act::relu6}, rng));
    conv_.add(nn::Conv2d(inside, out, 1, {.bias = false}, rng));
    conv_.add(nn::BatchNorm2d(out));
  }

  Tensor forward(const Tensor& x) const override { return adds_ ? x + conv_(x) : conv_(x); }
  void fields(nn::Fields& f) override { f("conv", conv_); }

 private:
  bool adds_;
  nn::Sequential conv_;
};

// The paper's table 2.
struct Stage {
  std::int64_t growth, channels, blocks, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

class MobileNetV2 : public ClassifiedFeatures {
 public:
  MobileNetV2(const Options& options, Rng& rng) {
    const double width = options.at("width");
    std::int64_t in = divisible_by_8(32 * width);
    features_.add(conv_norm(count_of(options, "in_channels"), in, 3, {.stride = 2, .act = Act::relu6}, rng));
    for (const Stage& stage : kStages) {
      const std::int64_t out = divisible_by_8(static_cast<double>(stage.channels) * width);
      for (std::int64_t i = 0; i < stage.blocks; ++i) {
        features_.add(InvertedResidual(in, out, i == 0 ? stage.stride : 1, stage.growth, rng));
        in = out;
      }
    }
    const std::int64_t last = divisible_by_8(1280 * std::max(1.0, width));
    features_.add(conv_norm(in, last, 1, {.act = Act::relu6}, rng));
    classifier_.add(nn::Dropout(options.at("dropout"), rng));
    classifier_.add(nn::Linear(last, count_of(options, "classes"), rng));
    draw_as_torchvision(*this, 0.01, rng);
  }
};

}  // namespace

std::vector<Architecture> mobilenets_v2() {
  About about{.title = "MobileNetV2 (Sandler et al. 2018), torchvision's names",
              .options = picture_options(),
              .head = "classifier.1",
              .preprocessing = imagenet_pixels()};
  about.options.push_back(width_option());
  about.options.push_back(dropout_option(0.2));
  return {{"mobilenet_v2", about, [](const Options& options, Rng& rng) -> std::unique_ptr<nn::Module> {
             return std::make_unique<MobileNetV2>(options, rng);
           }}};
}

}  // namespace veldt::models
