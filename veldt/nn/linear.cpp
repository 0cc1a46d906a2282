// The fully connected layer: one product and a bias.
#include "veldt/nn/linear.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"

namespace veldt::nn {

Linear::Linear(std::int64_t in, std::int64_t out, LinearOptions options, Rng& rng) {
  if (in < 1 || out < 1)
    throw ConfigError(str("cannot build Linear(", in, ", ", out, ")"),
                      "a layer has one input and one output or more", "give positive sizes");
  const Tensor weight = parameter(empty({out, in}, options.dtype, options.device));
  init::kaiming_uniform(weight, std::sqrt(5.0), rng);
  weight_ = weight;
  if (!options.bias) return;
  bias_ = parameter(empty({out}, options.dtype, options.device));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  init::uniform(bias_, -bound, bound, rng);
}

Tensor Linear::forward(const Tensor& x) const { return with_lora(product(x, bias_), x); }

std::string Linear::title() const {
  return str("Linear(", in_features(), ", ", out_features(), bias_.defined() ? "" : ", no bias", lora_title(),
             ')');
}

double Linear::flops(const Shape&, const Shape& output) const {
  return 2 * static_cast<double>(in_features()) * static_cast<double>(numel(output));
}

}  // namespace veldt::nn
