// Training with rounded weights (straight-through gradients, Bengio 2013), the bits of a layer's weights
// being those of a Laplace distribution of their mean size.
#include "veldt/pack/coordinate_training.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/ops/create.h"
#include "veldt/ops/mlp.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/schedule.h"
#include "veldt/tensor/graph.h"

namespace veldt::pack {
namespace {

using codec::CoordinateLayer;
using codec::CoordinateNetwork;
using codec::kMostWeight;
using codec::worth_of_step;

constexpr double kHiddenOmega = 30;
constexpr std::int64_t kBatch = 4096;
// How much steeper two tones are: an output of 1 is a logit of 4.
constexpr double kLogit = 4;

int step_near(double worth, bool first, bool last) {
  int best = 0;
  for (int step = 0; step < codec::kSteps; ++step)
    if (std::abs(std::log(worth_of_step(step, first, last) / worth)) <
        std::abs(std::log(worth_of_step(best, first, last) / worth)))
      best = step;
  return best;
}

// A layer whose weights are angles divided by omega, as in SIREN, because then one rate suits all layers.
struct Learned {
  Tensor weight, bias;
  int step = 0;
  double unit = 1;  // the step in numbers of the weight
  double omega = 1;
};

Tensor rounded(const Tensor& x, double unit) {
  const Tensor steps = clamp(round(affine(x.detach(), 1 / unit, 0)), -kMostWeight, kMostWeight);
  return x + (affine(steps, unit, 0) - x.detach());
}

// Bits of numbers that follow a Laplace distribution as wide as they are, in steps.
Tensor bits_of_layer(const Tensor& x, double unit) {
  const Tensor width = affine(mean(abs(x)), 1 / unit, 0.25);
  return affine(log(width), static_cast<double>(x.numel()) / std::numbers::ln2,
                static_cast<double>(x.numel()) * std::log2(2 * std::numbers::e));
}

std::vector<Learned> new_layers(const CoordinateTraining& o, Size size, std::int64_t channels, Rng& rng) {
  // Finer waves where there are more pixels to draw with them (tried on pictures of 48 to 200 pixels).
  const double first_omega =
      std::clamp(0.3 * static_cast<double>(std::max(size.width, size.height)), 15.0, 60.0);
  std::vector<std::int64_t> sizes{2};
  sizes.insert(sizes.end(), o.widths.begin(), o.widths.end());
  sizes.push_back(channels);
  std::vector<Learned> layers;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const bool first = i == 0, last = i + 2 == sizes.size();
    const auto in = static_cast<double>(sizes[i]);
    Learned layer;
    layer.omega = first ? first_omega : last ? 1 : kHiddenOmega;
    const double bound = first ? 1 / in : std::sqrt(6 / in) / kHiddenOmega * (last ? 6 : 1);
    layer.weight = rand({sizes[i + 1], sizes[i]}, rng, -bound, bound);
    const double shift = first ? std::numbers::pi / first_omega : 1 / std::sqrt(in) / kHiddenOmega;
    layer.bias = rand({sizes[i + 1]}, rng, -shift, shift);
    const double wanted = (first ? 0.2 : last ? 0.02 : 0.04);
    layer.step = step_near(wanted, first, last);
    layer.unit = worth_of_step(layer.step, first, last) / layer.omega;
    layer.weight.set_requires_grad();
    layer.bias.set_requires_grad();
    layers.push_back(layer);
  }
  return layers;
}

CoordinateNetwork in_steps(const std::vector<Learned>& layers) {
  CoordinateNetwork network;
  for (const Learned& layer : layers) {
    CoordinateLayer put{layer.weight.size(1), layer.weight.size(0), layer.step, {}};
    const auto add = [&](float value) {
      const double steps = std::nearbyint(static_cast<double>(value) / layer.unit);
      put.weights.push_back(static_cast<std::int32_t>(std::clamp<double>(steps, -kMostWeight, kMostWeight)));
    };
    for (std::int64_t unit = 0; unit < put.out; ++unit) {
      for (std::int64_t i = 0; i < put.in; ++i) add(layer.weight.data<float>()[unit * put.in + i]);
      add(layer.bias.data<float>()[unit]);
    }
    network.layers.push_back(std::move(put));
  }
  return network;
}

// Random pixels: places [n, 2] and what is there [n, channels].
class Sampler {
 public:
  Sampler(std::span<const std::uint8_t> pixels, Size size, std::int64_t channels, bool two_tones)
      : pixels_(pixels), size_(size), channels_(channels), two_tones_(two_tones) {}

  void draw(Rng& rng, float* places, float* targets, std::int64_t n) const {
    const auto longer = static_cast<double>(std::max(size_.width, size_.height));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(
          (std::uint64_t{rng.next_u32()} * static_cast<std::uint64_t>(size_.width * size_.height)) >> 32);
      const std::int64_t x = at % size_.width, y = at / size_.width;
      *places++ = static_cast<float>(static_cast<double>(2 * x + 1 - size_.width) / longer);
      *places++ = static_cast<float>(static_cast<double>(2 * y + 1 - size_.height) / longer);
      for (std::int64_t c = 0; c < channels_; ++c) {
        const float level = pixels_[static_cast<std::size_t>(at * channels_ + c)];
        *targets++ = two_tones_ ? level : level / 127.5f - 1;
      }
    }
  }

 private:
  std::span<const std::uint8_t> pixels_;
  Size size_;
  std::int64_t channels_;
  bool two_tones_;
};

}  // namespace

CoordinateNetwork train_coordinates(std::span<const std::uint8_t> pixels, Size size, std::int64_t channels,
                                    bool two_tones, const CoordinateTraining& o,
                                    FunctionRef<bool(double)> heard) {
  if (o.widths.empty() || o.widths.size() > codec::kMostHidden ||
      *std::max_element(o.widths.begin(), o.widths.end()) > codec::kMostWidth)
    throw ConfigError("a network of coordinates cannot have these hidden layers",
                      str("it has 1 to ", codec::kMostHidden, " of at most ", codec::kMostWidth, " units"),
                      "ask for fewer or narrower ones");
  Rng rng(o.seed);
  const std::vector<Learned> layers = new_layers(o, size, channels, rng);
  std::vector<Tensor> parameters;
  for (const Learned& layer : layers) {
    parameters.push_back(layer.weight);
    parameters.push_back(layer.bias);
  }
  optim::Adam adam(parameters, {.lr = 1e-3});
  const optim::Schedule schedule = optim::CosineAnnealing{.lr_max = 2e-3, .lr_min = 2e-5, .steps = o.steps};
  const Sampler sampler(pixels, size, channels, two_tones);
  const Tensor places = empty({kBatch, 2}), targets = empty({kBatch, channels});
  const double numbers = static_cast<double>(size.width * size.height * channels);
  for (std::int64_t step = 0; step < o.steps; ++step) {
    if (!heard(static_cast<double>(step) / static_cast<double>(o.steps))) break;
    sampler.draw(rng, places.data<float>(), targets.data<float>(), kBatch);
    DenseLayers dense;
    Tensor bits;
    const bool rounds = step * 4 > o.steps;
    for (const Learned& layer : layers) {
      const bool last = &layer == &layers.back();
      Tensor weight = rounds ? rounded(layer.weight, layer.unit) : layer.weight;
      Tensor bias = rounds ? rounded(layer.bias, layer.unit) : layer.bias;
      if (last && two_tones) weight = affine(weight, kLogit, 0), bias = affine(bias, kLogit, 0);
      dense.push_back({weight, bias, last ? MlpActivation::identity : MlpActivation::sine, layer.omega});
      const Tensor own = bits_of_layer(layer.weight, layer.unit) + bits_of_layer(layer.bias, layer.unit);
      bits = bits.defined() ? bits + own : own;
    }
    const MlpLossOptions how{.error = two_tones ? MlpError::bce : MlpError::squared,
                             .squash = two_tones ? MlpSquash::none : MlpSquash::clamp};
    Tensor loss = mlp_loss(places, dense, targets, how).loss;
    // Nats of a number whose errors have this mean square, but for a constant.
    if (!two_tones) loss = affine(log(affine(loss, 1, 1e-6)), 0.5, 0);
    loss = loss + affine(bits, std::numbers::ln2 / numbers, 0);
    adam.zero_grad();
    loss.backward();
    adam.set_lr(schedule(step));
    adam.step();
  }
  return in_steps(layers);
}

}  // namespace veldt::pack
