// ViT-B/16 (Dosovitskiy et al. 2021, "An image is worth 16x16 words").
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/models/architecture.h"
#include "veldt/models/vision_parts.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::models {
namespace {

constexpr std::int64_t kPatch = 16, kSize = 768, kHeads = 12, kInside = 3072, kDepth = 12;
constexpr nn::LayerNormOptions kNormViT{.eps = 1e-6};

class EncoderBlock : public nn::Module {
 public:
  EncoderBlock(double dropout, Rng& rng)
      : ln_1_(kSize, kNormViT),
        self_attention_(kSize, kHeads, {.batch_first = true}, rng),
        dropout_(dropout, rng),
        ln_2_(kSize, kNormViT) {
    nn::Linear first(kSize, kInside, rng), second(kInside, kSize, rng);
    for (const nn::Linear* linear : {&first, &second}) {
      nn::init::xavier_uniform(linear->weight(), 1, rng);
      nn::init::normal(linear->bias(), 0, 1e-6, rng);
    }
    mlp_.add(first);
    mlp_.add(nn::GELU());
    mlp_.add(nn::Dropout(dropout, rng));
    mlp_.add(second);
    mlp_.add(nn::Dropout(dropout, rng));
  }

  Tensor forward(const Tensor& x) const override {
    const Tensor seen = dropout_(self_attention_(ln_1_(x))) + x;
    return seen + mlp_(ln_2_(seen));
  }
  void fields(nn::Fields& f) override {
    f("ln_1", ln_1_)("self_attention", self_attention_)("dropout", dropout_)("ln_2", ln_2_)("mlp", mlp_);
  }

 private:
  nn::LayerNorm ln_1_;
  nn::MultiheadAttention self_attention_;
  nn::Dropout dropout_;
  nn::LayerNorm ln_2_;
  nn::Sequential mlp_;
};

// x [n, patches + 1, size], to which a place's own numbers are added, through all blocks.
class Encoder : public nn::Module {
 public:
  Encoder(std::int64_t length, double dropout, Rng& rng)
      : pos_embedding_(nn::parameter(empty({1, length, kSize}))),
        dropout_(dropout, rng),
        ln_(kSize, kNormViT) {
    nn::init::normal(pos_embedding_, 0, 0.02, rng);
    for (std::int64_t i = 0; i < kDepth; ++i)
      layers_.add(str("encoder_layer_", i), EncoderBlock(dropout, rng));
  }

  Tensor forward(const Tensor& x) const override { return ln_(layers_(dropout_(x + pos_embedding_))); }
  void fields(nn::Fields& f) override {
    f("pos_embedding", pos_embedding_)("dropout", dropout_)("layers", layers_)("ln", ln_);
  }

 private:
  Tensor pos_embedding_;
  nn::Dropout dropout_;
  nn::Sequential layers_;
  nn::LayerNorm ln_;
};

class VisionTransformer : public nn::Module {
 public:
  VisionTransformer(const Options& options, Rng& rng)
      : image_size_(count_of(options, "image_size")),
        class_token_(nn::parameter(zeros({1, 1, kSize}))),
        conv_proj_(count_of(options, "in_channels"), kSize, kPatch, {.stride = kPatch}, rng),
        encoder_(patches() + 1, options.at("dropout"), rng) {
    if (image_size_ % kPatch != 0)
      throw ConfigError(str("image_size of vit_b_16 cannot be ", image_size_),
                        str("a picture is cut into squares of ", kPatch, " pixels"),
                        str("give a multiple of ", kPatch));
    const auto inputs = static_cast<double>(nn::init::fans_of(conv_proj_.weight()).in);
    nn::init::normal(conv_proj_.weight(), 0, std::sqrt(1 / inputs), rng);
    nn::init::constant(conv_proj_.bias(), 0);
    nn::Linear head(kSize, count_of(options, "classes"), rng);
    nn::init::constant(head.weight(), 0);
    nn::init::constant(head.bias(), 0);
    heads_.add("head", head);
  }

  Tensor forward(const Tensor& x) const override {
    if (x.rank() != 4 || x.size(2) != image_size_ || x.size(3) != image_size_)
      throw ShapeError(str("ViT-B/16 cannot take ", x.shape()),
                       str("it has numbers of its own for each place of a picture [n, channels, ",
                           image_size_, ", ", image_size_, ']'),
                       "resize the pictures, or make it with another image_size");
    const Tensor patches = transpose(flatten(conv_proj_(x), 2), 1, 2);  // [n, patches, size]
    const Tensor token = expand(class_token_, {x.size(0), 1, kSize});
    return heads_(select(encoder_(cat({token, patches}, 1)), 1, 0));
  }
  void fields(nn::Fields& f) override {
    f("class_token", class_token_)("conv_proj", conv_proj_)("encoder", encoder_)("heads", heads_);
  }

 private:
  std::int64_t patches() const { return (image_size_ / kPatch) * (image_size_ / kPatch); }

  std::int64_t image_size_;
  Tensor class_token_;
  nn::Conv2d conv_proj_;
  Encoder encoder_;
  nn::Sequential heads_;
};

}  // namespace

std::vector<Architecture> vision_transformers() {
  About about{.title = "ViT-B/16 (Dosovitskiy et al. 2021), torchvision's names",
              .options = picture_options(),
              .head = "heads.head",
              .preprocessing = imagenet_pixels()};
  about.options.push_back({"image_size", 224, kPatch, 2048});
  about.options.push_back(dropout_option(0));
  return {{"vit_b_16", about, [](const Options& options, Rng& rng) -> std::unique_ptr<nn::Module> {
             return std::make_unique<VisionTransformer>(options, rng);
           }}};
}

}  // namespace veldt::models
