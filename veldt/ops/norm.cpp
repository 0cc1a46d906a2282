// Normalises lines in one kernel; gradients use another one or, for higher orders, ops.
#include "veldt/ops/norm.h"

#include <algorithm>

#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/index.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

// The distance from 1 to the next number; integers are computed in f32.
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

void check_last_dims(const char* op, const Tensor& x, const Shape& normalized) {
  bool fits = normalized.rank() >= 1 && normalized.rank() <= x.rank();
  for (int d = 1; fits && d <= normalized.rank(); ++d) fits = x.size(-d) == normalized[normalized.rank() - d];
  if (!fits)
    throw ShapeError(str(op, " over ", normalized, " cannot take ", x.shape()),
                     "the input's last dimensions must have the sizes that are normalised, one or more",
                     "build the layer for the input's last sizes, or reshape the input");
}

// The gradients written with ops, to be differentiated again: with u = (x - mean) scale and h = g weight, dx
// = scale (h - mean of h - u mean of (h u)). weight and bias [groups, k], as the kernel takes them; x and g
// are of their dtype.
Grads gradients_by_ops(bool centred, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                       const Tensor& g) {
  const auto line_mean = [](const Tensor& t) { return mean(t, {1}, true); };
  const Tensor off = centred ? x - line_mean(x) : x;
  const Tensor scale = rsqrt(line_mean(square(off)) + eps), u = off * scale;
  // [lines, n] with the numbers of each parameter separated
  const auto apart = [&](const Tensor& t, const Tensor& by) {
    const std::int64_t groups = by.size(0), k = by.size(1);
    return reshape(t, {t.size(0) / groups, groups, k, t.size(1) / std::max<std::int64_t>(1, k)});
  };
  const Tensor h = weight.defined() ? reshape(apart(g, weight) * unsqueeze(weight, 2), g.shape()) : g;
  const Tensor rest = h - u * line_mean(h * u);
  return {scale * (centred ? rest - line_mean(h) : rest),
          weight.defined() && needs_grad(weight) ? sum(apart(g * u, weight), {0, 3}) : Tensor(),
          bias.defined() && needs_grad(bias) ? sum(apart(g, bias), {0, 3}) : Tensor()};
}

// Normalises each line of x [lines, n]. weight and bias are undefined, or reshaped to [groups, k]: line i
// uses row i % groups, each number for n / k neighbours. Without `centred` the mean counts as 0.
Tensor norm_lines(const char* op, bool centred, const Tensor& given, const Tensor& given_weight,
                  const Tensor& given_bias, const Shape& parameters, double eps) {
  const Tensor x = contiguous(as_float(given));
  const DType wide = wide_dtype(x);
  const auto laid_out = [&](const Tensor& t) {
    return t.defined() ? contiguous(reshape(to(t, wide), parameters)) : t;
  };
  const Tensor weight = laid_out(given_weight), bias = laid_out(given_bias);
  const Tensor y = empty(x.shape(), x), moments = empty({x.size(0), 2}, wide, x.device());
  kernels(x).layer_norm(centred, eps, x.view(), OptionalView(weight), OptionalView(bias), moments.view(),
                        y.view());
  return record(op, y, {x, weight, bias}, [=](const Tensor& g) -> Grads {
    if (grad_enabled()) {
      Grads found = gradients_by_ops(centred, to(x, wide), weight, bias, eps, to(g, wide));
      found[0] = to(found[0], x.dtype());
      return found;
    }
    const auto wanted = [&](const Tensor& t) {
      return t.defined() && needs_grad(t) ? empty(t.shape(), t) : Tensor();
    };
    const Tensor dx = empty(x.shape(), x), dweight = wanted(weight), dbias = wanted(bias);
    kernels(x).layer_norm_slope(centred, x.view(), OptionalView(weight), moments.view(), contiguous(g).view(),
                                dx.view(), OptionalView(dweight), OptionalView(dbias));
    return {dx, dweight, dbias};
  });
}

// The last dimensions of x, as many as `normalized` has, are a line.
Tensor norm_last(const char* op, bool centred, const Tensor& x, const Shape& normalized, const Tensor& weight,
                 const Tensor& bias, double eps) {
  const std::int64_t line = numel(normalized);
  std::int64_t lines = 1;
  for (int d = 0; d < x.rank() - normalized.rank(); ++d) lines *= x.size(d);
  return reshape(norm_lines(op, centred, reshape(x, {lines, line}), weight, bias, {1, line}, eps), x.shape());
}

Tensor widened_parameter(const Tensor& parameter) {
  return parameter.defined() ? widened(parameter) : parameter;
}

Tensor times(const Tensor& x, const Tensor& weight) { return weight.defined() ? x * weight : x; }

// The gradients of a batch norm of x [n, channels, run], written with ops, to be differentiated again: with u
// = (x - mean) scale, dx = scale weight (g - mean of g - u mean of (g u)). All of one dtype.
Grads batch_norm_gradients_by_ops(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                                  const Tensor& g) {
  const auto over = [](const Tensor& t) { return mean(t, {0, 2}, true); };
  const Tensor off = x - over(x), scale = rsqrt(over(square(off)) + eps), u = off * scale;
  const Tensor of_g = over(g), of_gu = over(g * u), dx = scale * (g - of_g - u * of_gu);
  const double count = static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
  return {weight.defined() ? dx * unsqueeze(weight, 1) : dx,
          weight.defined() && needs_grad(weight) ? reshape(of_gu, weight.shape()) * count : Tensor(),
          bias.defined() && needs_grad(bias) ? reshape(of_g, bias.shape()) * count : Tensor()};
}

}  // namespace

BatchNormed batch_norm(const Tensor& given, const Tensor& given_weight, const Tensor& given_bias,
                       double eps) {
  const Shape lines = {given.size(0), given.size(1), given.numel() / (given.size(0) * given.size(1))};
  const Tensor x = contiguous(given);
  const DType wide = wide_dtype(x);
  const auto list = [&](const Tensor& t) { return t.defined() ? contiguous(to(t, wide)) : t; };
  const Tensor weight = list(given_weight), bias = list(given_bias);
  const Tensor y = empty(x.shape(), x), moments = empty({2, x.size(1)}, wide, x.device());
  const auto flat = [lines](const Tensor& t) { return reshape(t.detach(), lines).view(); };
  kernels(x).batch_norm(eps, flat(x), OptionalView(weight), OptionalView(bias), moments.view(), flat(y));
  const Tensor out = record("batch_norm", y, {x, weight, bias}, [=](const Tensor& g) -> Grads {
    if (grad_enabled()) {
      Grads found = batch_norm_gradients_by_ops(to(reshape(x, lines), wide), weight, bias, eps,
                                                to(reshape(g, lines), wide));
      found[0] = to(reshape(found[0], x.shape()), x.dtype());
      return found;
    }
    const auto wanted = [&](const Tensor& t) {
      return t.defined() && needs_grad(t) ? empty(t.shape(), t) : Tensor();
    };
    const Tensor by = contiguous(g), dx = empty(x.shape(), x), dweight = wanted(weight), dbias = wanted(bias);
    kernels(x).batch_norm_slope(eps, flat(x), OptionalView(weight), moments.view(), flat(by), flat(dx),
                                OptionalView(dweight), OptionalView(dbias));
    return {dx, dweight, dbias};
  });
  return {out, select(moments, 0, 0), select(moments, 0, 1)};
}

namespace {

// batch_norm_gradients_by_ops() where sums are over all parts.
Grads part_norm_gradients_by_ops(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                                 const Tensor& count, const BatchParts& parts, const Tensor& g) {
  const auto mean_of_all = [&](const Tensor& t, bool counts = true) {
    const Tensor own = sum(t, {0, 2}, true);
    return parts.sum(counts ? own : own * 0.0) / count;
  };
  const double counts = parts.counts ? 1 : 0;
  const Tensor off = x - mean_of_all(x, parts.counts),
               scale = rsqrt(mean_of_all(square(off), parts.counts) + eps), u = off * scale;
  const Tensor dx = scale * (g - (mean_of_all(g) + u * mean_of_all(g * u)) * counts);
  return {weight.defined() ? dx * unsqueeze(weight, 1) : dx,
          weight.defined() && needs_grad(weight) ? sum(g * u, {0, 2}) : Tensor(),
          bias.defined() && needs_grad(bias) ? sum(g, {0, 2}) : Tensor()};
}

}  // namespace

// The parts' own moments are put together in f64: of f32, a mean far from 0 would take the variance's digits.
PartNormed batch_norm_of_parts(const Tensor& given, const Tensor& given_weight, const Tensor& given_bias,
                               double eps, const BatchParts& parts) {
  const std::int64_t examples = given.size(0), channels = given.size(1);
  std::int64_t run = 1;
  for (int d = 2; d < given.rank(); ++d) run *= given.size(d);
  const DType wide = wide_dtype(given);
  const Tensor x = contiguous(to(reshape(given, {examples, channels, run}), wide));
  const auto list = [&](const Tensor& t) { return t.defined() ? contiguous(to(t, wide)) : t; };
  const Tensor weight = list(given_weight), bias = list(given_bias);
  const auto column = [](const Tensor& t) { return unsqueeze(t, 1); };
  Tensor y, mean, variance, unbiased, scale, count, numbers_of_all;
  {
    const NoGrad off;
    const bool counts = parts.counts && x.numel() > 0;
    const Tensor numbers =
        full({1}, counts ? static_cast<double>(examples * run) : 0, DType::f64, x.device());
    Tensor sums = zeros({2 * channels}, DType::f64, x.device());
    if (counts) {
      const Tensor moments = empty({2, channels}, wide, x.device()), unused = empty(x.shape(), x);
      kernels(x).batch_norm(eps, x.detach().view(), nullptr, nullptr, moments.view(), unused.view());
      const Tensor m = to(select(moments, 0, 0), DType::f64), v = to(select(moments, 0, 1), DType::f64);
      sums = cat({m, v + square(m)}, 0) * numbers;
    }
    const Tensor all = parts.sum(cat({sums, numbers}, 0));
    const Tensor n = narrow(all, 0, 2 * channels, 1), some = maximum(n, 1),
                 m = narrow(all, 0, 0, channels) / some,
                 v = relu(narrow(all, 0, channels, channels) / some - square(m));
    mean = to(m, wide), variance = to(v, wide), count = to(some, wide);
    numbers_of_all = to(n, wide);
    unbiased = to(v * (n / maximum(n - 1.0, 1)), wide);
    scale = rsqrt(variance + eps);
    const Tensor u = (x - column(mean)) * column(scale);
    y = weight.defined() ? u * column(weight) : u;
    if (bias.defined()) y = y + column(bias);
  }
  const Tensor out = record("batch_norm_of_parts", y, {x, weight, bias}, [=](const Tensor& g) -> Grads {
    if (grad_enabled()) return part_norm_gradients_by_ops(x, weight, bias, eps, count, parts, g);
    const Tensor u = (x - column(mean)) * column(scale), of_g = sum(g, {0, 2}), of_gu = sum(g * u, {0, 2});
    const Tensor all = to(parts.sum(to(cat({of_g, of_gu}, 0), DType::f64)), g.dtype()) / count;
    Tensor dx = g;
    if (parts.counts)
      dx = g - (column(narrow(all, 0, 0, channels)) + u * column(narrow(all, 0, channels, channels)));
    return {dx * column(times(scale, weight)), weight.defined() && needs_grad(weight) ? of_gu : Tensor(),
            bias.defined() && needs_grad(bias) ? of_g : Tensor()};
  });
  return {to(reshape(out, given.shape()), given.dtype()), mean, variance, unbiased, numbers_of_all};
}

Tensor standardise_by(const Tensor& mean, const Tensor& variance, const Tensor& given, const Tensor& weight,
                      const Tensor& bias, double eps) {
  const Tensor scale = rsqrt(variance + eps);
  // Only the weight's gradient reads x.
  const bool reads_x = weight.defined() && weight.requires_grad();
  Tensor y, factor;
  {
    const NoGrad off;
    factor = times(scale, weight);
    const Tensor shift = -(mean * factor);
    y = multiply_add(given, factor, bias.defined() ? bias + shift : shift);
  }
  const auto gradient = [=, x = reads_x ? given : without_values(given)](const Tensor& g) -> Grads {
    const DType wide = scale.dtype();
    const auto by = [&](const Tensor& t, const Tensor& shift, const Tensor& by_factor, DType dtype) {
      return grad_enabled() ? to((to(t, wide) - shift) * to(by_factor, wide), dtype)
                            : subtract_multiply_to(dtype, t, shift, by_factor);
    };
    const Tensor zero = zeros({}, wide, g.device());
    return {needs_grad(x) ? by(g, zero, reads_x ? times(scale, weight) : factor, x.dtype()) : Tensor(),
            reads_x && needs_grad(weight) ? sum_to(by(x, mean, g, wide), weight.shape()) * scale : Tensor(),
            bias.defined() && needs_grad(bias) ? to(sum_to(g, bias.shape()), wide) : Tensor()};
  };
  return record("standardise_by", y, {given, weight, bias}, gradient, reads_x);
}

Tensor layer_norm(const Tensor& given, const Shape& normalized_shape, const Tensor& given_weight,
                  const Tensor& given_bias, double eps) {
  const Tensor x = widened(given), weight = widened_parameter(given_weight),
               bias = widened_parameter(given_bias);
  check_last_dims("layer_norm", x, normalized_shape);
  check_parameter("layer_norm", "weight", weight, x, normalized_shape);
  check_parameter("layer_norm", "bias", bias, x, normalized_shape);
  check_eps("layer_norm", eps);
  return norm_last("layer_norm", true, x, normalized_shape, weight, bias, eps);
}

Tensor group_norm(const Tensor& given, std::int64_t groups, const Tensor& given_weight,
                  const Tensor& given_bias, double eps) {
  const Tensor x = widened(given), weight = widened_parameter(given_weight),
               bias = widened_parameter(given_bias);
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
  return reshape(norm_lines("group_norm", true, reshape(x, {x.size(0) * groups, line}), weight, bias,
                            {groups, channels / groups}, eps),
                 x.shape());
}

Tensor rms_norm(const Tensor& given, const Shape& normalized_shape, const Tensor& given_weight,
                std::optional<double> eps) {
  const Tensor x = widened(given), weight = widened_parameter(given_weight);
  check_last_dims("rms_norm", x, normalized_shape);
  check_parameter("rms_norm", "weight", weight, x, normalized_shape);
  const double added = eps.value_or(epsilon_of(x.dtype()));
  check_eps("rms_norm", added);
  return norm_last("rms_norm", false, x, normalized_shape, weight, {}, added);
}

}  // namespace veldt
