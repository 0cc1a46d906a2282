#include "veldt/field/network.h"

#include <cmath>

#include "veldt/nn/init.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

void initialise(const FieldOptions& o, const nn::Linear& layer, bool first, Rng& rng) {
  switch (o.activation) {
    case Activation::siren:
    case Activation::finer:
      if (first)
        nn::init::siren_first(layer.weight(), rng);
      else
        nn::init::siren_hidden(layer.weight(), o.omega, rng);
      break;
    case Activation::relu: nn::init::kaiming_uniform(layer.weight(), rng); break;
    case Activation::tanh: nn::init::xavier_normal(layer.weight(), rng); break;
    case Activation::gauss:
    case Activation::wire: nn::init::xavier_uniform(layer.weight(), rng); break;
  }
}

Tensor activate(const FieldOptions& o, const Tensor& z, bool first) {
  const double omega = first ? o.first_omega : o.omega;
  switch (o.activation) {
    case Activation::siren: return sine(z, omega);
    case Activation::finer: return finer(z, omega);
    case Activation::tanh: return tanh(z);
    case Activation::relu: return relu(z);
    case Activation::gauss: return gauss(z, omega);
    case Activation::wire: return wire(z, omega, o.scale);
  }
  return z;
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

Tensor Network::forward(const Tensor& coordinates) const {
  Tensor h = encoding_(coordinates);
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) h = activate(options_, layers_[i](h), i == 0);
  return layers_.back()(h);
}

void Network::fields(nn::Fields& f) { f("encoding", encoding_)("layers", layers_); }

}  // namespace veldt::field
