// Holds the parameters of a stack of layers, and passes them to the fused op.
#include "veldt/nn/mlp.h"

#include "veldt/core/error.h"

namespace veldt::nn {

MLP::MLP(std::span<const std::int64_t> sizes, MLPOptions options, Rng& rng) : options_(options) {
  if (sizes.size() < 2)
    throw ConfigError(str("cannot build an MLP of ", sizes.size(), " sizes"),
                      "it has an input and an output or more", "give sizes such as {2, 64, 1}");
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
    layers_.emplace_back(
        sizes[i], sizes[i + 1],
        LinearOptions{.bias = options.bias, .dtype = options.dtype, .device = options.device}, rng);
}

DenseLayers MLP::dense() const {
  DenseLayers out;
  out.reserve(layers_.size());
  for (const Linear& layer : layers_)
    out.push_back({layer.merged_weight(), layer.bias(), options_.activation,
                   out.empty() ? options_.first_omega : options_.omega});
  out.back().activation = MlpActivation::identity;
  return out;
}

Tensor MLP::forward(const Tensor& x) const { return mlp(x, dense(), options_.precision); }

MlpLossResult MLP::loss(const Tensor& x, const Tensor& target, MlpLossOptions options) const {
  options.precision = options_.precision;
  return mlp_loss(x, dense(), target, options);
}

std::string MLP::title() const {
  std::string sizes = str(layers_.front().weight().size(1));
  for (const Linear& layer : layers_) sizes += str(", ", layer.weight().size(0));
  return str("MLP(", sizes, options_.bias ? ")" : ", no bias)");
}

double MLP::flops(const Shape& input, const Shape&) const {
  const double rows = static_cast<double>(numel(input)) / static_cast<double>(layers_[0].weight().size(1));
  double total = 0;
  for (const Linear& layer : layers_) total += 2 * rows * static_cast<double>(layer.weight().numel());
  return total;
}

}  // namespace veldt::nn
