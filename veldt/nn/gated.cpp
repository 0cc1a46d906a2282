// What activations with parameters or gates compute.
#include "veldt/nn/gated.h"

#include "veldt/core/error.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {

PReLU::PReLU(std::int64_t count, double initial) {
  if (count < 1)
    throw ConfigError(str("cannot build PReLU(", count, ')'), "it has one slope or more",
                      "give 1, or the number of channels");
  weight_ = parameter(full({count}, initial));
}

Tensor PReLU::forward(const Tensor& x) const {
  const std::int64_t count = weight_.numel();
  if (count == 1) return relu(x) - weight_ * relu(-x);
  const int channels = x.rank() < 2 ? 0 : 1;
  if (x.rank() == 0 || x.size(channels) != count)
    throw ShapeError(str(title(), " cannot take ", x.shape()), str("it has slopes for ", count, " channels"),
                     "build it with the size of dimension 1, or with one slope");
  Shape shape = Shape::filled(x.rank(), 1);
  shape[channels] = count;
  return relu(x) - reshape(weight_, shape) * relu(-x);
}

std::string PReLU::title() const { return str("PReLU(", weight_.numel(), ')'); }

Tensor GLU::forward(const Tensor& x) const {
  if (x.rank() == 0 || x.size(dim_) % 2 != 0)
    throw ShapeError(str(title(), " cannot halve ", x.shape()), "its dimension is of an odd size",
                     "give twice the channels that should come out");
  const std::int64_t half = x.size(dim_) / 2;
  return narrow(x, dim_, 0, half) * sigmoid(narrow(x, dim_, half, half));
}

std::string GLU::title() const { return str("GLU(", dim_, ')'); }

SwiGLU::SwiGLU(std::int64_t in, std::int64_t out, LinearOptions o, Rng& rng)
    : in_(in), out_(out), gate_(in, out, o, rng), value_(in, out, o, rng) {}

Tensor SwiGLU::forward(const Tensor& x) const { return silu(gate_(x)) * value_(x); }

std::string SwiGLU::title() const { return str("SwiGLU(", in_, ", ", out_, ')'); }

}  // namespace veldt::nn
