// Resize and Upsample: one dimension after the other, each result a weighted sum of a few elements.
#include <algorithm>
#include <cmath>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/interpolate.h"

namespace veldt::onnx {

namespace {

// What a Resize asks for, with defaults of its version.
struct ResizeOptions {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// One dimension: its sizes, its scale, and the part of it that tf_crop_and_resize takes.
struct ResizedDim {
  int dim = 0;
  std::int64_t from = 0, to = 0;
  double scale = 1, roi_begin = 0, roi_end = 1;
};

// Where the result's position i lies between the input's, from 0 on.
double source_of(const Call& c, const ResizeOptions& o, const ResizedDim& d, std::int64_t i) {
  const auto x = static_cast<double>(i), from = static_cast<double>(d.from), to = d.scale * from;
  if (o.coordinates == "half_pixel") return (x + 0.5) / d.scale - 0.5;
  if (o.coordinates == "asymmetric") return x / d.scale;
  if (o.coordinates == "pytorch_half_pixel") return d.to == 1 ? -0.5 : (x + 0.5) / d.scale - 0.5;
  if (o.coordinates == "align_corners") return to == 1 ? 0 : x * (from - 1) / (to - 1);
  if (o.coordinates == "half_pixel_symmetric")
    return from / 2 * (1 - static_cast<double>(d.to) / to) + (x + 0.5) / d.scale - 0.5;
  if (o.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / d.scale;
  if (o.coordinates == "tf_crop_and_resize") {
    const double part = (d.roi_end - d.roi_begin) * (from - 1);
    return d.roi_begin * (from - 1) + (to == 1 ? part / 2 : x * part / (to - 1));
  }
  c.fail("its coordinate_transformation_mode is \"" + o.coordinates + "\", which ONNX does not have");
}

// Linear and Keys' cubic filters at a distance from the centre.
double linear_filter(double x, double /*a*/) { return std::max(0.0, 1 - std::fabs(x)); }
double cubic_filter(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The elements that each result reads, [taps][results], and what they weigh.
struct Taps {
  std::vector<std::vector<std::int64_t>> places;
  std::vector<std::vector<double>> weights;  // none: 1
  std::vector<std::uint8_t> beyond;          // tf_crop_and_resize: results that lie outside
};

std::int64_t nearest_place(const Call& c, const ResizeOptions& o, double x) {
  const double place = o.nearest == "floor"                ? std::floor(x)
                       : o.nearest == "ceil"               ? std::ceil(x)
                       : o.nearest == "round_prefer_ceil"  ? std::floor(x + 0.5)
                       : o.nearest == "round_prefer_floor" ? std::ceil(x - 0.5)
                                                           : NAN;
  if (std::isnan(place)) c.fail("its nearest_mode is \"" + o.nearest + "\", which ONNX does not have");
  return static_cast<std::int64_t>(std::clamp(place, -1e15, 1e15));
}

Taps taps_of(const Call& c, const ResizeOptions& o, const ResizedDim& d) {
  const bool nearest = o.mode == "nearest", cubic = o.mode == "cubic";
  if (!nearest && !cubic && o.mode != "linear")
    c.fail("its mode is \"" + o.mode + "\", which ONNX does not have");
  // Antialiasing widens the filter over as many elements as one result stands for.
  const double stretch = o.antialias && !nearest ? std::min(d.scale, 1.0) : 1.0;
  const std::int64_t reach =
      nearest ? 1 : 2 - 2 * (static_cast<std::int64_t>(std::floor((cubic ? -2 : -1) / stretch)) + 1);
  const auto n = static_cast<std::size_t>(d.to);
  Taps taps;
  taps.places.assign(static_cast<std::size_t>(reach), std::vector<std::int64_t>(n));
  if (!nearest) taps.weights.assign(static_cast<std::size_t>(reach), std::vector<double>(n));
  if (o.coordinates == "tf_crop_and_resize") taps.beyond.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = std::clamp(source_of(c, o, d, static_cast<std::int64_t>(i)), -1e15, 1e15);
    if (std::isnan(x)) c.fail("its scale or its region is no number");
    if (!taps.beyond.empty()) taps.beyond[i] = x < 0 || x > static_cast<double>(d.from - 1) ? 1 : 0;
    const auto clamped = [&](std::int64_t at) { return std::clamp<std::int64_t>(at, 0, d.from - 1); };
    if (nearest) {
      taps.places[0][i] = clamped(nearest_place(c, o, x));
      continue;
    }
    const std::int64_t first = static_cast<std::int64_t>(std::ceil(x)) - reach / 2;
    double total = 0;
    for (std::int64_t k = 0; k < reach; ++k) {
      const std::int64_t at = first + k;
      double weight =
          (cubic ? cubic_filter : linear_filter)((static_cast<double>(at) - x) * stretch, o.cubic_a);
      if (o.exclude_outside && (at < 0 || at >= d.from)) weight = 0;
      taps.places[static_cast<std::size_t>(k)][i] = clamped(at);
      taps.weights[static_cast<std::size_t>(k)][i] = weight;
      total += weight;
    }
    if (stretch == 1 && !o.exclude_outside) continue;  // these sum to 1
    for (auto& line : taps.weights) line[i] /= total == 0 ? 1 : total;
  }
  return taps;
}

Tensor resized(const Call& c, const ResizeOptions& o, const ResizedDim& d, const Tensor& x) {
  const Taps taps = taps_of(c, o, d);
  Shape along = Shape::filled(x.rank(), 1);
  along[d.dim] = d.to;
  Tensor y;
  for (std::size_t k = 0; k < taps.places.size(); ++k) {
    Tensor part = index_select(x, d.dim, list_of(taps.places[k], x.device()));
    if (!taps.weights.empty())
      part = mul(part, c.here(to(Tensor::from<double>(along, taps.weights[k]), x.dtype())));
    y = y.defined() ? add(y, part) : part;
  }
  if (std::count(taps.beyond.begin(), taps.beyond.end(), 1) > 0)
    y = masked_fill(y, to(Tensor::from<std::uint8_t>(along, taps.beyond, x.device()), DType::boolean),
                    o.extrapolation);
  return y;
}

// Veldt's own op, where it does the same: pictures [n, channels, ..] whose scales are just those of the
// sizes.
Tensor directly(const ResizeOptions& o, const std::vector<ResizedDim>& dims, const Tensor& x) {
  if (x.rank() < 3 || x.rank() > 5 || o.antialias || o.exclude_outside || !is_float(x.dtype())) return {};
  Shape size = x.shape();
  for (const ResizedDim& d : dims) {
    if (d.dim < 2 || d.scale * static_cast<double>(d.from) != static_cast<double>(d.to)) return {};
    if (o.coordinates == "pytorch_half_pixel" && d.to == 1) return {};
    size[d.dim] = d.to;
  }
  InterpolateOptions options;
  const bool half = o.coordinates == "half_pixel" || o.coordinates == "pytorch_half_pixel" ||
                    o.coordinates == "half_pixel_symmetric";
  if (o.mode == "nearest" && o.coordinates == "asymmetric" && o.nearest == "floor")
    options.mode = Interpolation::nearest;
  else if (o.mode == "nearest" && half && o.nearest == "round_prefer_ceil")
    options.mode = Interpolation::nearest_exact;
  else if (o.mode == "linear" && (half || o.coordinates == "align_corners"))
    options.mode = Interpolation::linear;
  else if (o.mode == "cubic" && o.cubic_a == -0.75 && (half || o.coordinates == "align_corners"))
    options.mode = Interpolation::cubic;
  else
    return {};
  options.align_corners = o.coordinates == "align_corners";
  Shape spatial;
  for (int d = 2; d < x.rank(); ++d) spatial.push_back(size[d]);
  options.size = PerDim(spatial);
  return interpolate(x, options);
}

// Beyond this, lists of places would be larger than any picture.
constexpr std::int64_t kMaxResized = std::int64_t{1} << 26;

// The size of the result, rounded down; a scale below 0, or a wild one, is refused.
std::int64_t scaled_size(const Call& c, double size, double scale) {
  if (!(scale > 0) || !(size * scale <= static_cast<double>(kMaxResized)))
    c.fail(str("a dimension of ", size, " cannot be scaled by ", scale));
  return static_cast<std::int64_t>(std::floor(size * scale));
}

Values resize_with(const Call& c, const ResizeOptions& o, std::vector<ResizedDim> dims) {
  const Tensor& x = c.tensor(0);
  const bool crops = o.coordinates == "tf_crop_and_resize";
  std::erase_if(dims, [&](const ResizedDim& d) {
    return d.from == d.to && std::fabs(d.scale - 1) < 1e-9 &&
           (!crops || (d.roi_begin == 0 && d.roi_end == 1));
  });
  Shape shape = x.shape();
  for (const ResizedDim& d : dims) {
    if (d.to < 0 || d.to > kMaxResized) c.fail(str("a dimension is to have ", d.to, " positions"));
    if (d.from == 0 && d.to > 0) c.fail("it is to enlarge an input without elements");
    shape[d.dim] = d.to;
  }
  if (numel(shape) == 0) return {{zeros(shape, x.dtype(), x.device()), c.type(0)}};
  if (o.mode == "nearest") {
    Tensor y = directly(o, dims, x);
    if (y.defined()) return {{y, c.type(0)}};
    y = x;
    for (const ResizedDim& d : dims) y = resized(c, o, d, y);
    return {{y, c.type(0)}};
  }
  const Tensor real = c.real(0);
  Tensor y = directly(o, dims, real);
  if (!y.defined()) {
    const Tensor wide = is_half(real.dtype()) ? to(real, DType::f32) : real;
    y = wide;
    for (const ResizedDim& d : dims) y = resized(c, o, d, y);
    y = to(y, real.dtype());
  }
  return {cast(Value(y), c.type(0), true)};
}

Values resize_op(const Call& c) {
  const Tensor& x = c.tensor(0);
  const bool old = c.opset() < 11;  // X and scales only
  ResizeOptions o;
  o.mode = c.text("mode", "nearest");
  o.coordinates = c.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  o.nearest = c.text("nearest_mode", old ? "floor" : "round_prefer_floor");
  o.cubic_a = c.real("cubic_coeff_a", -0.75);
  o.extrapolation = c.real("extrapolation_value", 0);
  o.exclude_outside = c.integer("exclude_outside", 0) != 0;
  o.antialias = c.integer("antialias", 0) != 0;
  std::vector<std::int64_t> all;
  for (int d = 0; d < x.rank(); ++d) all.push_back(d);
  const std::vector<int> axes = axes_of(c, c.integers("axes", all), x.rank());
  const std::size_t count = axes.size(), scales_at = old ? 1 : 2;
  const auto list = [&](std::size_t i) { return c.has(i) ? c.reals(i) : std::vector<double>(); };
  const std::vector<double> scales = list(scales_at), sizes = old ? std::vector<double>() : list(3),
                            roi = old ? std::vector<double>() : list(1);
  const bool crops = o.coordinates == "tf_crop_and_resize";
  if (scales.empty() == sizes.empty()) c.fail("it takes either scales or sizes");
  if ((!scales.empty() && scales.size() != count) || (!sizes.empty() && sizes.size() != count) ||
      (crops && roi.size() != 2 * count))
    c.fail(str("its scales, its sizes or its region are not as many as its ", count, " dimensions"));
  std::vector<ResizedDim> dims(count);
  for (std::size_t i = 0; i < count; ++i) {
    ResizedDim& d = dims[i];
    d.dim = axes[i];
    d.from = x.size(axes[i]);
    const auto from = static_cast<double>(d.from);
    if (!scales.empty()) {
      d.scale = scales[i];
      d.to = scaled_size(c, from, scales[i]);
    } else {
      d.to = c.integers(3)[i];
      d.scale = d.from > 0 ? static_cast<double>(d.to) / from : 1;
    }
    if (crops) {
      d.roi_begin = roi[i];
      d.roi_end = roi[count + i];
    }
  }
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (!sizes.empty() && policy != "stretch" && count > 0) {
    if (policy != "not_larger" && policy != "not_smaller")
      c.fail("its keep_aspect_ratio_policy is \"" + policy + "\", which ONNX does not have");
    double scale = dims[0].scale;
    for (const ResizedDim& d : dims)
      scale = policy == "not_larger" ? std::min(scale, d.scale) : std::max(scale, d.scale);
    for (ResizedDim& d : dims) {
      d.scale = scale;
      d.to = scaled_size(c, static_cast<double>(d.from) + 0.5 / std::max(scale, 1e-300), scale);
    }
  }
  return resize_with(c, o, std::move(dims));
}

// What Resize was before version 10.
Values upsample(const Call& c) {
  const Tensor& x = c.tensor(0);
  std::vector<double> scales = c.has(1) ? c.reals(1) : c.reals("scales");
  if (scales.empty() && x.rank() == 4) scales = {1, 1, c.real("height_scale", 1), c.real("width_scale", 1)};
  if (scales.size() != static_cast<std::size_t>(x.rank())) c.fail("it has not one scale for each dimension");
  ResizeOptions o;
  o.mode = c.text("mode", "nearest");
  if (o.mode == "bilinear") o.mode = "linear";
  o.coordinates = "asymmetric";
  o.nearest = "floor";
  std::vector<ResizedDim> dims;
  for (int d = 0; d < x.rank(); ++d) {
    const double scale = scales[static_cast<std::size_t>(d)];
    dims.push_back({d, x.size(d), scaled_size(c, static_cast<double>(x.size(d)), scale), scale});
  }
  return resize_with(c, o, std::move(dims));
}

}  // namespace

void add_resizing(OperatorTable& t) {
  t.add("Resize", resize_op, 1);
  t.add("Upsample", upsample, 1);
}

}  // namespace veldt::onnx
