// Reading pictures between their elements, and windows back into pictures.
#include <algorithm>
#include <array>
#include <cmath>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/matmul.h"

namespace veldt::onnx {

namespace {

// A point that left [low, high], mirrored at both ends until it is inside.
Tensor mirrored(const Tensor& x, double low, double high) {
  const double span = high - low;
  if (!(span > 0)) return full_like(x, low);
  const Tensor t = fmod(abs(sub(x, low)), 2 * span);
  const Tensor inside = add(where(greater(t, span), sub(2 * span, t), t), low);
  return where(logical_and(greater_equal(x, low), less_equal(x, high)), x, inside);
}

// The elements beside a point along one dimension, and what each weighs.
struct Neighbour {
  Tensor place, weight;  // weight undefined: 1
};

// Weights of Keys' cubic with a = -0.75, for the elements from one before the point's on.
std::array<Tensor, 4> cubic_weights(const Tensor& f) {
  constexpr double a = -0.75;
  const auto near = [&](const Tensor& x) { return add(mul(square(x), sub(mul(x, a + 2), a + 3)), 1); };
  const auto far = [&](const Tensor& x) {
    return sub(mul(add(mul(sub(mul(x, a), 5 * a), x), 8 * a), x), 4 * a);
  };
  return {far(add(f, 1)), near(f), near(sub(1, f)), far(sub(2, f))};
}

std::vector<Neighbour> neighbours(Tensor x, std::int64_t size, Between between, Beyond beyond) {
  const auto count = static_cast<double>(size);
  const bool edges = beyond == Beyond::reflect_edges;
  if (between == Between::nearest) x = round(x);
  x = where(isnan(x), full_like(x, -8), x);
  if (beyond == Beyond::border && between != Between::cubic)
    x = clamp(x, 0.0, count - 1);
  else if (beyond == Beyond::zeros || beyond == Beyond::border)
    x = clamp(x, -8.0, count + 8);  // further out all is the same
  else
    x = mirrored(clamp(x, -1e9, 1e9), edges ? -0.5 : 0, edges ? count - 0.5 : count - 1);
  const Tensor first = between == Between::nearest ? round(x) : floor(x);
  const Tensor fraction = sub(x, first.detach());
  const Tensor at = to(first, DType::i64);
  std::vector<Neighbour> out;
  const auto add_neighbour = [&](std::int64_t step, Tensor weight) {
    Tensor place = add(at, step);
    if (beyond == Beyond::zeros) {
      const Tensor inside = to(logical_and(greater_equal(place, 0), less(place, size)), x.dtype());
      weight = weight.defined() ? mul(weight, inside) : inside;
    } else if (edges) {
      place = remainder(where(less(place, 0), sub(-1, place), place), 2 * size);
      place = where(greater_equal(place, size), sub(2 * size - 1, place), place);
    } else if (beyond == Beyond::reflect_centres && size > 1) {
      place = remainder(abs(place), 2 * (size - 1));
      place = where(greater(place, size - 1), sub(2 * (size - 1), place), place);
    }
    out.push_back({clamp(place, 0, size - 1), std::move(weight)});
  };
  if (between == Between::nearest) {
    add_neighbour(0, {});
  } else if (between == Between::linear) {
    add_neighbour(0, sub(1, fraction));
    add_neighbour(1, fraction);
  } else {
    const std::array<Tensor, 4> weights = cubic_weights(fraction);
    for (int k = 0; k < 4; ++k) add_neighbour(k - 1, weights[static_cast<std::size_t>(k)]);
  }
  return out;
}

}  // namespace

Tensor sampled(const Tensor& x, std::vector<Tensor> points, Between between, Beyond beyond) {
  const std::int64_t n = x.size(0), channels = x.size(1);
  const std::int64_t count = points[0].size(1);
  std::int64_t elements = 1;
  for (int d = 2; d < x.rank(); ++d) elements *= x.size(d);
  // One row for each element, which lies together in memory: a point reads all channels at once.
  const Tensor rows =
      contiguous(reshape(transpose(reshape(x, {n, channels, elements}), 1, 2), {n * elements, channels}));
  std::vector<std::vector<Neighbour>> beside;
  for (std::size_t d = 0; d < points.size(); ++d)
    beside.push_back(neighbours(points[d], x.size(static_cast<int>(d) + 2), between, beyond));
  const Tensor first = mul(unsqueeze(arange(n, DType::i64, x.device()), 1), elements);
  std::vector<std::size_t> at(points.size());
  Tensor y;
  for (;;) {
    Tensor place = zeros({n, count}, DType::i64, x.device()), weight;
    for (std::size_t d = 0; d < points.size(); ++d) {
      const Neighbour& one = beside[d][at[d]];
      place = add(mul(place, x.size(static_cast<int>(d) + 2)), one.place);
      if (one.weight.defined()) weight = weight.defined() ? mul(weight, one.weight) : one.weight;
    }
    Tensor part =
        reshape(index_select(rows, 0, reshape(add(place, first), {n * count})), {n, count, channels});
    if (weight.defined()) part = mul(part, unsqueeze(to(weight, part.dtype()), 2));
    y = y.defined() ? add(y, part) : part;
    std::size_t d = 0;
    while (d < at.size() && ++at[d] == beside[d].size()) at[d++] = 0;
    if (d == at.size()) break;
  }
  return transpose(y, 1, 2);
}

namespace {

Values grid_sample(const Call& c) {
  const Tensor x = c.real(0), grid = to(c.real(1), is_half(x.dtype()) ? DType::f32 : x.dtype());
  const int dims = x.rank() - 2;
  if (dims < 1 || grid.rank() != x.rank() || grid.size(-1) != dims || grid.size(0) != x.size(0))
    c.fail(str("its input is ", x.shape(), ", its grid ", grid.shape()));
  const std::string mode = c.text("mode", "linear"), padding = c.text("padding_mode", "zeros");
  const bool aligned = c.integer("align_corners", 0) != 0;
  Between between = Between::linear;
  if (mode == "nearest")
    between = Between::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    between = Between::cubic;
  else if (mode != "linear" && mode != "bilinear")
    c.fail("its mode is \"" + mode + "\", which ONNX does not have");
  Beyond beyond = Beyond::zeros;
  if (padding == "border")
    beyond = Beyond::border;
  else if (padding == "reflection")
    beyond = aligned ? Beyond::reflect_centres : Beyond::reflect_edges;
  else if (padding != "zeros")
    c.fail("its padding_mode is \"" + padding + "\", which ONNX does not have");
  Shape shape{x.size(0), x.size(1)};
  for (int d = 1; d + 1 < grid.rank(); ++d) shape.push_back(grid.size(d));
  check_size(c, shape);
  if (numel(shape) == 0 || x.numel() == 0) return {zeros(shape, x.dtype(), x.device())};
  std::int64_t count = 1;
  for (int d = 2; d < shape.rank(); ++d) count *= shape[d];
  std::vector<Tensor> points;  // a grid names the last dimension first
  for (int d = 0; d < dims; ++d) {
    const Tensor at = reshape(select(grid, -1, dims - 1 - d), {x.size(0), count});
    const auto size = static_cast<double>(x.size(d + 2));
    points.push_back(aligned ? mul(add(at, 1), (size - 1) / 2) : div(sub(mul(add(at, 1), size), 1), 2));
  }
  return {reshape(sampled(x, std::move(points), between, beyond), shape)};
}

// A grid of points for GridSample: each output's coordinates, turned and moved by theta.
Values affine_grid(const Call& c) {
  const Tensor& theta = c.tensor(0);
  const std::vector<std::int64_t> size = c.integers(1);
  const int dims = static_cast<int>(size.size()) - 2;
  if ((dims != 2 && dims != 3) || theta.rank() != 3 || theta.size(1) != dims || theta.size(2) != dims + 1 ||
      theta.size(0) != size[0])
    c.fail(str("its matrix is ", theta.shape(), " for a size of ", size.size(), " numbers"));
  Shape shape{size[0]};
  std::vector<Tensor> lists;
  for (int d = 0; d < dims; ++d) shape.push_back(size[static_cast<std::size_t>(d) + 2]);
  Shape result = shape;
  result.push_back(dims);
  check_size(c, result);
  for (int d = 0; d < dims; ++d) {
    const std::int64_t n = shape[d + 1];
    const auto count = static_cast<double>(n);
    Tensor line = arange(n, theta.dtype(), theta.device());
    if (c.integer("align_corners", 0) != 0)
      line = n > 1 ? sub(mul(line, 2 / (count - 1)), 1) : zeros_like(line);
    else
      line = sub(mul(add(mul(line, 2.0), 1), 1 / std::max(count, 1.0)), 1);
    lists.push_back(line);
  }
  std::vector<Tensor> axes = meshgrid(lists);
  std::reverse(axes.begin(), axes.end());  // the last dimension first
  axes.push_back(ones_like(axes[0]));
  const Tensor points =
      reshape(stack(axes, dims), {numel(shape) / std::max<std::int64_t>(1, shape[0]), dims + 1});
  return {reshape(matmul(points, transpose(theta)), result)};
}

// A convolution whose kernel's elements each lie where an offset says (Dai et al. 2017; with weights: Zhu et
// al. 2019).
Values deform_conv(const Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1), &offset = c.tensor(2);
  if (x.rank() != 4 || w.rank() != 4 || offset.rank() != 4) c.fail("it takes pictures only");
  const std::vector<std::int64_t> kernel{w.size(2), w.size(3)};
  const Window window = window_of(c, kernel, std::span(x.shape().begin() + 2, 2));
  const std::int64_t groups = c.integer("group", 1), shared = c.integer("offset_group", 1);
  const std::int64_t n = x.size(0), taps = kernel[0] * kernel[1], high = offset.size(2),
                     wide = offset.size(3);
  if (groups < 1 || shared < 1 || x.size(1) % groups != 0 || x.size(1) % shared != 0 ||
      w.size(0) % groups != 0 || w.size(1) != x.size(1) / groups || offset.size(0) != n ||
      offset.size(1) != shared * taps * 2)
    c.fail(str("its input is ", x.shape(), ", its weight ", w.shape(), ", its offsets ", offset.shape()));
  for (int d = 0; d < 2; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const std::int64_t room = x.size(d + 2) + window.padding.before[i] + window.padding.after[i] -
                              window.dilation[i] * (kernel[i] - 1) - 1;
    if (room < 0 || room / window.stride[i] + 1 != offset.size(d + 2))
      c.fail(str("its offsets are ", offset.shape(), ", which is not the size of its result"));
  }
  const std::int64_t points = taps * high * wide, each = x.size(1) / shared;
  check_size(c, {n, x.size(1), points});
  if (n == 0 || points == 0 || x.numel() == 0) c.fail("its input has no elements");
  const Tensor moved_by = reshape(offset, {n, shared, taps, 2, high, wide});
  const auto grid = [&](int d,
                        std::int64_t size) {  // where tap and window of one dimension lie: [taps, size]
    const auto i = static_cast<std::size_t>(d);
    const Tensor tap = d == 0 ? floor_divide(ramp(c, taps), kernel[1]) : remainder(ramp(c, taps), kernel[1]);
    return to(add(mul(unsqueeze(tap, 1), window.dilation[i]),
                  sub(mul(ramp(c, size), window.stride[i]), window.padding.before[i])),
              x.dtype());
  };
  const Tensor rows = reshape(grid(0, high), {1, taps, high, 1}),
               columns = reshape(grid(1, wide), {1, taps, 1, wide});
  std::vector<Tensor> parts;
  for (std::int64_t g = 0; g < shared; ++g) {
    const Tensor by = select(moved_by, 1, g);
    Tensor part = sampled(narrow(x, 1, g * each, each),
                          {reshape(add(select(by, 2, 0), rows), {n, points}),
                           reshape(add(select(by, 2, 1), columns), {n, points})},
                          Between::linear, Beyond::zeros);
    if (c.has(4)) {
      const Tensor& mask = c.tensor(4);
      if (!(mask.shape() == Shape{n, shared * taps, high, wide})) c.fail(str("its mask is ", mask.shape()));
      part = mul(part, reshape(narrow(mask, 1, g * taps, taps), {n, 1, points}));
    }
    parts.push_back(part);
  }
  const Tensor columns_of = reshape(cat(parts, 1), {n, groups, w.size(1) * taps, high * wide});
  Tensor y = matmul(reshape(w, {groups, w.size(0) / groups, w.size(1) * taps}), columns_of);
  y = reshape(y, {n, w.size(0), high, wide});
  return {c.has(3) ? add(y, reshape(c.tensor(3), {c.tensor(3).numel(), 1, 1})) : y};
}

// Sums windows that overlap into the picture that they were taken from.
Values col2im(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<std::int64_t> image = c.integers(1), block = c.integers(2);
  const std::size_t dims = image.size();
  if (x.rank() != 3 || dims == 0 || block.size() != dims)
    c.fail("its input or its sizes have other dimensions");
  const Window w = window_of(c, block, image);
  Shape padded;
  std::int64_t taps = 1, windows = 1;
  std::vector<std::int64_t> counts;
  for (std::size_t d = 0; d < dims; ++d) {
    padded.push_back(image[d] + w.padding.before[d] + w.padding.after[d]);
    const std::int64_t room = padded[static_cast<int>(d)] - w.dilation[d] * (block[d] - 1) - 1;
    if (image[d] < 1 || room < 0) c.fail("a window is larger than the picture");
    counts.push_back(room / w.stride[d] + 1);
    taps *= block[d];
    windows *= counts[d];
    if (taps > x.size(1) || windows > x.size(2)) c.fail("its input has fewer windows than its sizes ask for");
  }
  if (x.size(1) % taps != 0 || windows != x.size(2))
    c.fail(str("its input is ", x.shape(), " for ", windows, " windows"));
  const std::int64_t channels = x.size(1) / taps;
  check_size(c, padded);
  Tensor place =
      zeros({taps, windows}, DType::i64, x.device());  // of each tap of each window in the padded picture
  std::int64_t taps_left = taps, windows_left = windows;
  for (std::size_t d = 0; d < dims; ++d) {
    taps_left /= block[d];
    windows_left /= counts[d];
    const Tensor tap = remainder(floor_divide(ramp(c, taps), taps_left), block[d]),
                 window = remainder(floor_divide(ramp(c, windows), windows_left), counts[d]);
    place = add(mul(place, padded[static_cast<int>(d)]),
                add(mul(unsqueeze(tap, 1), w.dilation[d]), mul(window, w.stride[d])));
  }
  const std::int64_t rows = x.size(0) * channels;
  check_size(c, {rows, numel(padded)});
  Tensor y = index_add(zeros({rows, numel(padded)}, x.dtype(), x.device()), 1,
                       reshape(place, {taps * windows}), reshape(x, {rows, taps * windows}));
  Shape whole{x.size(0), channels};
  for (const std::int64_t size : padded) whole.push_back(size);
  y = reshape(y, whole);
  std::vector<std::int64_t> amounts = w.padding.amounts();
  for (std::int64_t& a : amounts) a = -a;
  return {{pad(y, amounts, 0.0), c.type(0)}};
}

}  // namespace

void add_sampling(OperatorTable& t) {
  t.add("GridSample", grid_sample, 1);
  t.add("AffineGrid", affine_grid, 1);
  t.add("DeformConv", deform_conv, 2 + 8);
  t.add("Col2Im", col2im, 1);
}

}  // namespace veldt::onnx
