#include "veldt/nn/linear.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/matmul.h"

namespace veldt::nn {

Linear::Linear(std::int64_t in, std::int64_t out, LinearOptions options, Rng& rng) {
  if (in < 1 || out < 1)
    throw ConfigError(str("cannot build Linear(", in, ", ", out, ")"),
                      "a layer has one input and one output or more", "give positive sizes");
  weight_ = parameter(empty({out, in}, options.dtype, options.device));
  init::kaiming_uniform(weight_, rng, std::sqrt(5.0));
  if (!options.bias) return;
  bias_ = parameter(empty({out}, options.dtype, options.device));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  init::uniform(bias_, -bound, bound, rng);
}

Tensor Linear::forward(const Tensor& x) const {
  // The op would convert: a model would quietly compute in its input's precision.
  if (x.dtype() != weight_.dtype())
    throw ShapeError(
        str("a layer of ", weight_.dtype(), " cannot take an input of ", x.dtype()),
        str("the input ", x.shape(), " and the weight ", weight_.shape(), " have different dtypes"),
        str("convert one of them: to(x, DType::", weight_.dtype(), "), or the module's to()"));
  return linear(x, weight_, bias_);
}

std::string Linear::title() const {
  return str("Linear(", weight_.size(1), ", ", weight_.size(0), bias_.defined() ? ")" : ", no bias)");
}

double Linear::flops(const Shape&, const Shape& output) const {
  return 2 * static_cast<double>(weight_.size(1)) * static_cast<double>(numel(output));
}

}  // namespace veldt::nn
