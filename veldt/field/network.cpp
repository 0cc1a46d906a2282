#include "veldt/field/network.h"

#include <cmath>

#include "veldt/nn/init.h"

namespace veldt::field {
namespace {

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
    case Activation::relu: nn::init::kaiming_uniform(layer.weight(), rng); break;
    case Activation::tanh: nn::init::xavier_normal(layer.weight(), rng); break;
    case Activation::gauss: nn::init::xavier_uniform(layer.weight(), rng); break;
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
    out.push_back({layer.weight(), layer.bias(), as_layer(options_.activation),
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
