// Builds the network of a field from its options, and initialises its layers.
#include "veldt/field/network.h"

#include <cmath>
#include <numbers>

#include "veldt/field/coordinates.h"
#include "veldt/nn/init.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

// Each unit is a ridge tanh(w . (x - c)), a step of slope |w| across a line through a random place c of the
// signal: w has any direction, and |w| is below first_omega with a density that rises up to there. -w . c is
// the weight of the constant input or the bias. With the usual initialisation around 0, units are nearly
// linear over the whole picture, and training takes very long to fold them into lines.
void start_as_ridges(const FieldOptions& o, const nn::Linear& layer, Rng& rng) {
  const CoordinateMap map(o);
  const auto inputs = static_cast<std::size_t>(o.inputs()),
             dimensions = static_cast<std::size_t>(o.dimensions);
  std::vector<float> weights, shifts;
  for (std::int64_t unit = 0; unit < layer.weight().size(0); ++unit) {
    const double turn = 2 * std::numbers::pi * rng.next_uniform();
    const double steepness = o.first_omega * std::sqrt(rng.next_uniform());
    double w[3] = {steepness * std::cos(turn), steepness * std::sin(turn), 0};
    if (dimensions == 1) w[0] = std::copysign(steepness, w[0]);
    float place[4];
    const double u = rng.next_uniform(), v = rng.next_uniform();
    double t = 0;
    if (dimensions == 3) {  // a direction in space: its share along time is even in -1..1
      t = rng.next_uniform();
      const double along = 2 * rng.next_uniform() - 1, across = std::sqrt(1 - along * along);
      w[0] *= across, w[1] *= across, w[2] = steepness * along;
    }
    map.put(u, v, t, place);
    double shift = 0;
    for (std::size_t i = 0; i < dimensions; ++i) {
      weights.push_back(static_cast<float>(w[i]));
      shift -= w[i] * static_cast<double>(place[i]);
    }
    (inputs > dimensions ? weights : shifts).push_back(static_cast<float>(shift));
  }
  NoGrad off;
  Tensor weight = layer.weight(), bias = layer.bias();
  weight.assign(Tensor::from<float>(weight.shape(), weights));
  if (bias.defined() && !shifts.empty()) bias.assign(Tensor::from<float>(bias.shape(), shifts));
}

void initialise(const FieldOptions& o, const nn::Linear& layer, bool first, Rng& rng) {
  switch (o.activation) {
    case Activation::siren:
    case Activation::finer:
    case Activation::wire:
      if (first)
        nn::init::siren_first(layer.weight(), rng);
      else
        nn::init::siren_hidden(layer.weight(), o.omega, rng);
      break;
    case Activation::relu: nn::init::kaiming_uniform(layer.weight(), 0, rng); break;
    case Activation::tanh:
      // The original recipe is recognised by its coordinates, and uses the old default initialisation.
      if (o.coordinates == Coordinates::corners)
        nn::init::xavier_normal(layer.weight(), 1, rng);
      else if (first && o.encodings.empty())
        start_as_ridges(o, layer, rng);
      else
        nn::init::xavier_normal(layer.weight(), o.omega, rng);
      break;
    case Activation::gauss: nn::init::xavier_uniform(layer.weight(), 1, rng); break;
  }
}

MlpActivation as_layer(Activation a) {
  switch (a) {
    case Activation::siren: return MlpActivation::sine;
    case Activation::finer: return MlpActivation::finer;
    case Activation::tanh: return MlpActivation::tanh;
    case Activation::relu: return MlpActivation::relu;
    case Activation::gauss: return MlpActivation::gauss;
    case Activation::wire: return MlpActivation::wire;
  }
  return MlpActivation::identity;
}

}  // namespace

Network::Network(const FieldOptions& options, Rng& rng)
    : options_(options), encoding_(options.inputs(), options.encodings, rng) {
  std::int64_t in = encoding_.features();
  std::vector<std::int64_t> sizes = options.widths;
  sizes.push_back(options.channels);
  for (std::int64_t out : sizes) {
    layers_.emplace_back(in, out, nn::LinearOptions{.bias = options.bias}, rng);
    initialise(options, layers_.back(), layers_.size() == 1, rng);
    in = out;
  }
}

DenseLayers Network::dense() const {
  DenseLayers out;
  out.reserve(layers_.size());
  for (const nn::Linear& layer : layers_)
    out.push_back({layer.merged_weight(), layer.bias(), as_layer(options_.activation),
                   out.empty() ? options_.first_omega : options_.omega, options_.scale});
  out.back().activation = MlpActivation::identity;
  return out;
}

Tensor Network::forward(const Tensor& coordinates) const {
  return mlp(encoding_(coordinates), dense(), precision_);
}

MlpLossResult Network::loss(const Tensor& coordinates, const Tensor& target, MlpLossOptions options) const {
  options.precision = precision_;
  return mlp_loss(encoding_(coordinates), dense(), target, options);
}

void Network::fields(nn::Fields& f) { f("encoding", encoding_)("layers", layers_); }

}  // namespace veldt::field
