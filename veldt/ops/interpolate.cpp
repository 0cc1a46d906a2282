// Resizes axis by axis, each with a few weighted taps.
#include "veldt/ops/interpolate.h"

#include <cmath>
#include <utility>

#include "veldt/core/convolution.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt {
namespace {

// One dimension. A step in the result is numerator / denominator in x; stored separately, so that integer
// positions are exact.
struct Axis {
  std::int64_t in, out;
  double numerator, denominator;
};

// Element o of the result uses x at index[o], times weight[o] (undefined: 1).
struct Tap {
  Tensor index, weight;
};

std::vector<Axis> axes_of(const Tensor& x, const InterpolateOptions& o) {
  const int dims = x.rank() - 2;
  if (dims < 1 || dims > 3)
    throw ShapeError(str("interpolate cannot take ", x.shape()),
                     "an input is [n, channels, ..] with 1 to 3 spatial dimensions",
                     "unsqueeze() a batch or channels");
  if (o.size.has_value() != o.scale_factor.empty())
    throw ConfigError(str("interpolate was given ", o.size ? "both a size and a factor" : "no size"),
                      "either says how large the result is", "give size or scale_factor");
  if (o.align_corners && o.mode != Interpolation::linear && o.mode != Interpolation::cubic)
    throw ConfigError("interpolate cannot align corners of the nearest elements",
                      "align_corners is about linear and cubic weights",
                      "leave it out, or choose one of them");
  const std::size_t factors = o.scale_factor.size();
  if (factors > 1 && factors != static_cast<std::size_t>(dims))
    throw ConfigError(str("interpolate was given ", factors, " factors for ", dims, " spatial dimensions"),
                      "it takes one for all of them, or one for each", str("give 1 or ", dims));
  std::vector<Axis> axes;
  for (int d = 0; d < dims; ++d) {
    const std::int64_t in = x.size(2 + d);
    double factor = 0;
    if (factors > 0) {
      factor = o.scale_factor[factors == 1 ? 0 : static_cast<std::size_t>(d)];
      if (!(factor > 0 && std::isfinite(factor)))
        throw ConfigError(str("interpolate cannot scale by ", factor), "a factor is above 0 and finite",
                          "give a positive one");
    }
    const double size =
        factors > 0 ? std::floor(static_cast<double>(in) * factor) : static_cast<double>(o.size->of(dims)[d]);
    if (in < 1 || !(size >= 1 && size <= static_cast<double>(ConvLayout::kMost)))
      throw ShapeError(
          str("interpolate cannot make ", size, " elements of dimension ", 2 + d, " of ", x.shape()),
          str("there must be 1 to ", ConvLayout::kMost, " before and after"), "check the size or the factor");
    Axis a{in, static_cast<std::int64_t>(size), static_cast<double>(in), size};
    if (factors > 0) a.numerator = 1, a.denominator = factor;
    if (o.align_corners) {
      a.numerator = a.out > 1 ? static_cast<double>(in - 1) : 0;
      a.denominator = a.out > 1 ? size - 1 : 1;
    }
    axes.push_back(a);
  }
  return axes;
}

// The weights of the four elements around a position t after the second one: Keys 1981.
std::vector<Tensor> cubic_weights(const Tensor& t) {
  constexpr double kA = -0.75;
  const auto within = [](const Tensor& x) { return ((kA + 2) * x - (kA + 3)) * square(x) + 1.0; };
  const auto beyond = [](const Tensor& x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {beyond(t + 1.0), within(t), within(1.0 - t), beyond(2.0 - t)};
}

// Computed by kernels, so that a Plan can record it; in f64, because f32 would misplace far elements.
std::vector<Tap> taps_of(const Axis& a, Interpolation mode, bool align_corners, const Tensor& x) {
  const bool nearest = mode == Interpolation::nearest || mode == Interpolation::nearest_exact;
  const double centre = align_corners || mode == Interpolation::nearest ? 0 : 0.5;
  const Tensor steps = to(arange(a.out, DType::i64, x.device()), DType::f64) + centre;
  Tensor at = steps * a.numerator / a.denominator;
  if (!nearest) at = at - centre;
  if (mode == Interpolation::linear) at = relu(at);
  const Tensor first = floor(at);
  const auto index = [&](double shift) {
    return to(clamp(first + shift, 0.0, static_cast<double>(a.in - 1)), DType::i64);
  };
  if (nearest) return {{index(0), {}}};
  const DType dtype = x.dtype();
  const Tensor t = at - first;
  if (mode == Interpolation::linear) return {{index(0), to(1.0 - t, dtype)}, {index(1), to(t, dtype)}};
  std::vector<Tap> taps;
  for (const Tensor& weight : cubic_weights(t))
    taps.push_back({index(static_cast<double>(taps.size()) - 1), to(weight, dtype)});
  return taps;
}

Tensor along(const Tensor& x, int dim, const Axis& a, Interpolation mode, bool align_corners) {
  // A factor may leave a size unchanged; nearest and linear then leave that axis unchanged too.
  const bool kept = mode == Interpolation::nearest || mode == Interpolation::linear;
  if (a.in == a.out && (kept || a.numerator == a.denominator)) return x;
  Shape column = Shape::filled(x.rank(), 1), wide = x.shape();
  column[dim] = wide[dim] = a.out;
  Tensor sum;
  for (const Tap& tap : taps_of(a, mode, align_corners, x)) {
    const Tensor part = gather_within(x, dim, expand(reshape(tap.index, column), wide));
    if (!tap.weight.defined()) return part;
    const Tensor weight = reshape(tap.weight, column);
    sum = sum.defined() ? multiply_add(part, weight, sum) : part * weight;
  }
  return sum;
}

}  // namespace

Tensor interpolate(const Tensor& given, const InterpolateOptions& o) {
  const std::vector<Axis> axes = axes_of(given, o);
  // The last dimension first: the others then move whole rows.
  const auto resized = [&](Tensor y) {
    for (std::size_t d = axes.size(); d-- > 0;)
      y = along(y, static_cast<int>(2 + d), axes[d], o.mode, o.align_corners);
    return y;
  };
  if (o.mode == Interpolation::nearest || o.mode == Interpolation::nearest_exact) return resized(given);
  return through_f32(as_float(given), resized);
}

}  // namespace veldt
