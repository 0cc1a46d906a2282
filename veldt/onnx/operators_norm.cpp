// Normalisation.
#include <algorithm>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/norm.h"
#include "veldt/ops/random.h"

namespace veldt::onnx {

namespace {

// A list of channels beside x [n, channels, ..].
Tensor by_channel(const Tensor& list, const Tensor& x) {
  Shape shape = Shape::filled(x.rank(), 1);
  if (x.rank() > 1)
    shape[1] = list.numel();
  else if (x.rank() == 1)
    shape[0] = list.numel();
  return reshape(list, shape);
}

Dims all_but_channels(const Tensor& x) {
  Dims dims;
  for (int d = 0; d < x.rank(); ++d)
    if (d != 1) dims.push_back(d);
  return dims;
}

Values batch_norm(const Call& c) {
  const Tensor& x = c.tensor(0);
  const double eps = c.real("epsilon", 1e-5);
  const bool training = c.integer("training_mode", 0) != 0;
  const auto in = [&](std::size_t i) { return to(by_channel(c.tensor(i), x), x.dtype()); };
  const Tensor average = training ? mean(x, all_but_channels(x), true) : in(3);
  const Tensor spread = training ? variance(x, all_but_channels(x), true, 0) : in(4);
  const Tensor scale = mul(in(1), rsqrt(add(spread, eps)));
  const Tensor y = add(mul(x, scale), sub(in(2), mul(average, scale)));
  if (!training) return {y};
  const double momentum = c.real("momentum", 0.9);
  const auto running = [&](std::size_t i, const Tensor& now) {
    const Tensor& before = c.tensor(i);
    return add(mul(before, momentum), mul(to(reshape(now, before.shape()), before.dtype()), 1 - momentum));
  };
  return {y, running(3, average), running(4, spread)};
}

Values instance_norm(const Call& c) {
  const Tensor& x = c.tensor(0);
  return {group_norm(x, x.size(1), c.tensor(1), c.tensor(2), c.real("epsilon", 1e-5))};
}

Values group_norm_op(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t groups = c.integer("num_groups");
  const Tensor &scale = c.tensor(1), &bias = c.tensor(2);
  if (scale.numel() == x.size(1)) return {group_norm(x, groups, scale, bias, c.real("epsilon", 1e-5))};
  // Version 18 has one factor a group.
  if (scale.numel() != groups || groups < 1 || x.size(1) % groups != 0)
    c.fail("it has neither a factor for each channel nor for each group");
  return {group_norm(x, groups, repeat_interleave(scale, x.size(1) / groups, 0),
                     repeat_interleave(bias, x.size(1) / groups, 0), c.real("epsilon", 1e-5))};
}

// Over the dimensions from the axis on, whose factors may be of a shape that broadcasts.
Values layer_norm_op(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int axis = c.axis(c.integer("axis", -1), x.rank());
  const double eps = c.real("epsilon", 1e-5);
  Shape last;
  Dims dims;
  for (int d = axis; d < x.rank(); ++d) {
    last.push_back(x.size(d));
    dims.push_back(d);
  }
  const auto fits = [&](std::size_t i) { return !c.has(i) || c.tensor(i).shape() == last; };
  Values out;
  if (fits(1) && fits(2)) {
    out.push_back(layer_norm(x, last, c.tensor(1), c.has(2) ? c.tensor(2) : Tensor(), eps));
  } else {
    const Tensor y = mul(layer_norm(x, last, {}, {}, eps), c.tensor(1));
    out.push_back(c.has(2) ? add(y, c.tensor(2)) : y);
  }
  if (c.outputs() > 1) {
    const Tensor wide = is_half(x.dtype()) ? to(x, DType::f32) : x;
    out.push_back(mean(wide, dims, true));
    out.push_back(rsqrt(add(variance(wide, dims, true, 0), eps)));
  }
  return out;
}

Values rms_norm_op(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int axis = c.axis(c.integer("axis", -1), x.rank());
  Shape last;
  for (int d = axis; d < x.rank(); ++d) last.push_back(x.size(d));
  const double eps = c.real("epsilon", 1e-5);
  if (c.tensor(1).shape() == last) return {rms_norm(x, last, c.tensor(1), eps)};
  return {mul(rms_norm(x, last, {}, eps), c.tensor(1))};
}

// Local response normalisation across channels (Krizhevsky et al. 2012).
Values lrn(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t size = c.integer("size");
  if (size < 1 || x.rank() < 2) c.fail("its size is below 1, or its input has no channels");
  std::vector<std::int64_t> amounts(static_cast<std::size_t>(2 * (x.rank() - 1)));
  // Beyond the first and the last channel there is nothing to add.
  const std::int64_t before = std::min((size - 1) / 2, x.size(1)), after = std::min(size / 2, x.size(1));
  amounts[amounts.size() - 2] = before;
  amounts[amounts.size() - 1] = after;
  const Tensor squares = pad(square(x), amounts, 0.0);
  Tensor total = narrow(squares, 1, 0, x.size(1));
  for (std::int64_t i = 1; i <= before + after; ++i) total = add(total, narrow(squares, 1, i, x.size(1)));
  const Tensor base = affine(total, c.real("alpha", 1e-4) / static_cast<double>(size), c.real("bias", 1));
  return {mul(x, pow(base, -c.real("beta", 0.75)))};
}

Values lp_normalization(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Tensor size =
      norm(x, static_cast<double>(c.integer("p", 2)), {c.axis(c.integer("axis", -1), x.rank())}, true);
  return {where(equal(size, 0), zeros_like(x), div(x, size))};
}

Values mean_variance(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<int> axes = axes_of(c, c.integers("axes", {0, 2, 3}), x.rank());
  const Tensor centred = sub(x, mean(x, axes, true));
  return {div(centred, add(sqrt(mean(square(centred), axes, true)), 1e-9))};
}

Values dropout(const Call& c) {
  const Tensor& x = c.tensor(0);
  const bool training = c.has(2) && c.integer(2) != 0;
  const double ratio = c.has(1) ? c.number(1) : c.real("ratio", 0.5);
  Values out;
  if (!training || ratio == 0) {
    out.push_back(x);
    if (c.outputs() > 1)
      out.push_back(c.opset() < 7 ? Value(ones_like(x)) : Value(ones(x.shape(), DType::boolean, x.device())));
    return out;
  }
  const Tensor keep = bernoulli(full(x.shape(), 1 - ratio, DType::f32, x.device()), c.rng());
  out.push_back(mul(x, to(div(keep, 1 - ratio), x.dtype())));
  if (c.outputs() > 1) out.push_back(to(keep, DType::boolean));
  return out;
}

}  // namespace

void add_norms(OperatorTable& t) {
  t.add("BatchNormalization", batch_norm, 7);
  t.add("InstanceNormalization", instance_norm, 7);
  t.add("GroupNormalization", group_norm_op, 7);
  t.add("LayerNormalization", layer_norm_op, 7);
  t.add("RMSNormalization", rms_norm_op, 3);
  t.add("SimplifiedLayerNormalization", rms_norm_op, 3);
  t.add("LRN", lrn, 1);
  t.add("LpNormalization", lp_normalization, 1);
  t.add("MeanVarianceNormalization", mean_variance, 1);
  t.add("Dropout", dropout, 1);
}

}  // namespace veldt::onnx
