#include "veldt/ops/norm.h"

#include <utility>

#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/unary.h"

namespace veldt {
namespace {

// The distance from 1 to the next number; whole numbers are computed in f32.
double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-52;
    case DType::bf16: return 0x1p-7;
    case DType::f16: return 0x1p-10;
    default: return 0x1p-23;
  }
}

void check_parameter(const char* op, const char* what, const Tensor& p, const Tensor& x, const Shape& shape) {
  if (!p.defined()) return;
  check_same_device(op, x, p);
  if (p.shape() != shape)
    throw ShapeError(str(op, " cannot apply a ", what, " of ", p.shape(), " to ", x.shape()),
                     str("it needs a number for each of ", shape), str("give one of shape ", shape));
  if (p.dtype() != x.dtype())
    throw ShapeError(str(op, " cannot apply a ", what, " of ", p.dtype(), " to ", x.dtype()),
                     "all of input, weight and bias need one dtype",
                     "convert the input or the layer with to()");
}

void check_eps(const char* op, double eps) {
  if (!(eps >= 0))
    throw ConfigError(str(op, " cannot have an eps of ", eps), "a variance below it would have no root",
                      "use 0 or a small positive number");
}

// The dimensions that `normalized` stands for: the last ones of x.
Dims last_dims(const char* op, const Tensor& x, const Shape& normalized) {
  Dims dims;
  bool fits = normalized.rank() >= 1 && normalized.rank() <= x.rank();
  for (int d = 1; fits && d <= normalized.rank(); ++d) {
    fits = x.size(-d) == normalized[normalized.rank() - d];
    dims.push_back(-d);
  }
  if (!fits)
    throw ShapeError(str(op, " over ", normalized, " cannot take ", x.shape()),
                     "the input's last dimensions must have the sizes that are normalised, one or more",
                     "build the layer for the input's last sizes, or reshape the input");
  return dims;
}

// fn(x, weight, bias) in the dtype that it is computed in; the result in x's, if that has fractions.
template <class Fn>
Tensor in_floats(const Tensor& x, const Tensor& weight, const Tensor& bias, const Fn& fn) {
  if (x.dtype() == DType::f32 || x.dtype() == DType::f64) return fn(x, weight, bias);
  const auto wide = [](const Tensor& t) { return t.defined() ? to(t, DType::f32) : t; };
  const Tensor y = fn(wide(x), wide(weight), wide(bias));
  return is_float(x.dtype()) ? to(y, x.dtype()) : y;
}

Tensor standardized(const Tensor& x, const Dims& dims, double eps) {
  const Tensor centred = x - mean(x, dims, true);
  return centred * rsqrt(mean(square(centred), dims, true) + eps);
}

Tensor scaled(Tensor y, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) y = y * weight;
  return bias.defined() ? y + bias : y;
}

}  // namespace

Tensor layer_norm(const Tensor& given, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const Tensor x = widened(given);
  const Dims dims = last_dims("layer_norm", x, normalized_shape);
  check_parameter("layer_norm", "weight", weight, x, normalized_shape);
  check_parameter("layer_norm", "bias", bias, x, normalized_shape);
  check_eps("layer_norm", eps);
  return in_floats(x, weight, bias, [&](const Tensor& input, const Tensor& w, const Tensor& b) {
    return scaled(standardized(input, dims, eps), w, b);
  });
}

Tensor group_norm(const Tensor& given, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const Tensor x = widened(given);
  if (x.rank() < 2)
    throw ShapeError(str("group_norm cannot take ", x.shape()), "an input is [n, channels, ..]",
                     "give it a batch and channels");
  const std::int64_t channels = x.size(1);
  if (groups < 1 || channels % groups != 0)
    throw ShapeError(str("group_norm cannot take ", x.shape(), " in ", groups, " groups"),
                     str("its ", channels, " channels do not come in as many equal groups"),
                     "choose a number of groups that divides the channels");
  check_parameter("group_norm", "weight", weight, x, {channels});
  check_parameter("group_norm", "bias", bias, x, {channels});
  check_eps("group_norm", eps);
  std::int64_t line = channels / groups;  // numbers of a group
  for (int d = 2; d < x.rank(); ++d) line *= x.size(d);
  Shape column = Shape::filled(x.rank() - 1, 1);
  column[0] = channels;
  return in_floats(x, weight, bias, [&](const Tensor& input, const Tensor& w, const Tensor& b) {
    const Tensor y = standardized(reshape(input, {x.size(0), groups, line}), {2}, eps);
    return scaled(reshape(y, x.shape()), w.defined() ? reshape(w, column) : w,
                  b.defined() ? reshape(b, column) : b);
  });
}

Tensor rms_norm(const Tensor& given, const Shape& normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  const Tensor x = widened(given);
  const Dims dims = last_dims("rms_norm", x, normalized_shape);
  check_parameter("rms_norm", "weight", weight, x, normalized_shape);
  const double added = eps.value_or(epsilon_of(x.dtype()));
  check_eps("rms_norm", added);
  return in_floats(x, weight, {}, [&](const Tensor& input, const Tensor& w, const Tensor&) {
    return scaled(input * rsqrt(mean(square(input), dims, true) + added), w, {});
  });
}

}  // namespace veldt
