// VGG-16 (Simonyan & Zisserman 2015, "Very deep convolutional networks"), with and without batch norms.
#include "veldt/models/architecture.h"
#include "veldt/models/vision_parts.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/pooling.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/shape.h"

namespace veldt::models {
namespace {

constexpr std::int64_t kHalve = 0;  // a pooling layer in the list below
constexpr std::int64_t kVgg16[] = {64,     64,  kHalve, 128, 128,    kHalve, 256, 256, 256,
                                   kHalve, 512, 512,    512, kHalve, 512,    512, 512, kHalve};

class Vgg : public nn::Module {
 public:
  Vgg(bool normed, const Options& options, Rng& rng) {
    std::int64_t in = count_of(options, "in_channels");
    for (const std::int64_t out : kVgg16) {
      if (out == kHalve) {
        features_.add(nn::MaxPool2d(2));
        continue;
      }
      features_.add(nn::Conv2d(in, out, 3, {.padding = 1}, rng));
      if (normed) features_.add(nn::BatchNorm2d(out));
      features_.add(nn::ReLU());
      in = out;
    }
    const double dropout = options.at("dropout");
    for (const std::int64_t inputs : {in * kCells * kCells, kHidden}) {
      classifier_.add(nn::Linear(inputs, kHidden, rng));
      classifier_.add(nn::ReLU());
      classifier_.add(nn::Dropout(dropout, rng));
    }
    classifier_.add(nn::Linear(kHidden, count_of(options, "classes"), rng));
    draw_as_torchvision(*this, 0.01, rng);
  }

  Tensor forward(const Tensor& x) const override {
    return classifier_(flatten(adaptive_avg_pool2d(features_(x), kCells), 1));
  }
  void fields(nn::Fields& f) override { f("features", features_)("classifier", classifier_); }

 private:
  static constexpr std::int64_t kCells = 7, kHidden = 4096;  // a side of the last plane; Linear layers

  nn::Sequential features_, classifier_;
};

template <bool kNormed> std::unique_ptr<nn::Module> make_vgg(const Options& options, Rng& rng) {
  return std::make_unique<Vgg>(kNormed, options, rng);
}

}  // namespace

std::vector<Architecture> vggs() {
  About about{.title = "VGG-16 (Simonyan & Zisserman 2015), torchvision's names",
              .options = picture_options(),
              .head = "classifier.6",
              .preprocessing = imagenet_pixels()};
  about.options.push_back(dropout_option(0.5));
  About normed = about;
  normed.title = "VGG-16 with batch norms (Simonyan & Zisserman 2015), torchvision's names";
  return {{"vgg16", about, make_vgg<false>}, {"vgg16_bn", normed, make_vgg<true>}};
}

}  // namespace veldt::models
