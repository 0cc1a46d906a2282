// Pooling: whole planes, windows, and back.
#include <algorithm>
#include <cmath>
#include <limits>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/pooling.h"

namespace veldt::onnx {

namespace {

PerDim each_dim(const std::vector<std::int64_t>& each) { return PerDim(shape_from(each)); }

Dims spatial(const Call& c) {
  Dims dims;
  for (int d = 2; d < c.tensor(0).rank(); ++d) dims.push_back(d);
  if (dims.empty()) c.fail("its input has no spatial dimensions");
  return dims;
}

Values global_average(const Call& c) { return {mean(c.tensor(0), spatial(c), true)}; }
Values global_max(const Call& c) { return {max(c.tensor(0), spatial(c), true)}; }
Values global_lp(const Call& c) {
  return {norm(c.tensor(0), static_cast<double>(c.integer("p", 2)), spatial(c), true)};
}

Window pool_window(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.rank() < 3) c.fail("its input has no spatial dimensions");
  return window_of(c, c.integers("kernel_shape"),
                   std::span(x.shape().begin() + 2, static_cast<std::size_t>(x.rank() - 2)));
}

// How many windows there are along dimension d; with ceil_mode those that begin within the input, or the
// padding before it, count.
std::int64_t results(const Call& c, const Window& w, std::int64_t size, std::size_t d) {
  const std::int64_t padded = size + w.padding.before[d] + w.padding.after[d];
  const std::int64_t room = padded - w.dilation[d] * (w.kernel[d] - 1) - 1;
  if (room < 0) c.fail("a window is larger than its input");
  const bool up = c.integer("ceil_mode", 0) != 0;
  std::int64_t count = (up ? (room + w.stride[d] - 1) / w.stride[d] : room / w.stride[d]) + 1;
  if (up && (count - 1) * w.stride[d] >= size + w.padding.before[d]) --count;
  return count;
}

// x with `value` around it, so that all windows lie inside, whatever their dilation and ceil_mode.
Tensor padded_for(const Call& c, const Window& w, const Tensor& x, double value) {
  Padding padding = w.padding;
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {
    const std::int64_t size = x.size(static_cast<int>(d) + 2);
    const std::int64_t reach =
        (results(c, w, size, d) - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d] + 1;
    padding.after[d] =
        reach - size - padding.before[d];  // maybe below what was asked for: nothing reads the rest
  }
  return padding.any() ? pad(x, padding.amounts(), value) : x;
}

// All windows as new last dimensions: [n, c, results .., kernel ..], a view by slices that are stacked.
Tensor windows_of(const Call& c, const Window& w, const Tensor& x, double value) {
  Shape whole = x.shape();
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {
    const int dim = static_cast<int>(d) + 2;
    whole[dim] = results(c, w, x.size(dim), d);
    whole[1] *= w.kernel[d];
    check_size(c, whole);
  }
  Tensor padded = padded_for(c, w, x, value);
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {
    const int dim = static_cast<int>(d) + 2;
    const std::int64_t count = results(c, w, x.size(dim), d);
    std::vector<Tensor> taps;
    for (std::int64_t k = 0; k < w.kernel[d]; ++k) {
      const std::int64_t first = k * w.dilation[d];
      taps.push_back(slice(padded, dim, first, first + (count - 1) * w.stride[d] + 1, w.stride[d]));
    }
    padded = stack(taps, padded.rank());
  }
  return padded;
}

Dims last(const Tensor& x, std::size_t n) {
  Dims dims;
  for (std::size_t d = 0; d < n; ++d) dims.push_back(x.rank() - 1 - static_cast<int>(d));
  return dims;
}

Values max_pool(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Window w = pool_window(c);
  const std::size_t dims = w.kernel.size();
  const bool floats = is_float(x.dtype());
  const double lowest = floats                           ? -std::numeric_limits<double>::infinity()
                        : c.type(0) == ElementType::int8 ? -128
                                                         : 0;
  if (!c.wants(1) && floats && dims <= 3) {
    // What the op can pad by itself needs no copy.
    bool own = w.padding.symmetric() && c.integer("ceil_mode", 0) == 0;
    for (std::size_t d = 0; own && d < dims; ++d)
      own = w.padding.before[d] >= 0 && 2 * w.padding.before[d] <= w.kernel[d];
    const Tensor padded = own ? x : padded_for(c, w, x, lowest);
    const MaxPoolOptions options{.stride = each_dim(w.stride),
                                 .padding = own ? each_dim(w.padding.before) : PerDim(0),
                                 .dilation = each_dim(w.dilation)};
    const PerDim kernel = each_dim(w.kernel);
    return {dims == 1   ? max_pool1d(padded, kernel, options)
            : dims == 2 ? max_pool2d(padded, kernel, options)
                        : max_pool3d(padded, kernel, options)};
  }
  const Tensor all = windows_of(c, w, x, lowest);
  Shape flat = all.shape();
  std::int64_t elements = 1;
  Shape lines;
  for (int d = 0; d < flat.rank(); ++d) {
    if (d < x.rank())
      lines.push_back(flat[d]);
    else
      elements *= flat[d];
  }
  lines.push_back(elements);
  const Tensor line = reshape(all, lines);
  const Tensor where_max = argmax(line, -1);
  Values out{
      {reshape(gather(line, -1, unsqueeze(where_max, where_max.rank())), where_max.shape()), c.type(0)}};
  if (!c.wants(1)) return out;
  // The place of each element in the tensor, pooled in the same windows.
  const bool by_columns = c.integer("storage_order", 0) != 0;
  Tensor places = zeros(x.shape(), DType::i64, x.device());
  std::int64_t step = 1;
  std::vector<int> order;  // from the fastest dimension on
  for (int d = x.rank() - 1; d >= 2; --d) order.push_back(d);
  if (by_columns) std::reverse(order.begin(), order.end());
  order.push_back(1);
  order.push_back(0);
  for (const int d : order) {
    Shape along = Shape::filled(x.rank(), 1);
    along[d] = x.size(d);
    places = add(places, mul(reshape(ramp(c, x.size(d)), along), step));
    step *= x.size(d);
  }
  const Tensor candidates = reshape(windows_of(c, w, places, 0), lines);
  out.push_back(reshape(gather(candidates, -1, unsqueeze(where_max, where_max.rank())), where_max.shape()));
  return out;
}

Values average_pool(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Window w = pool_window(c);
  const Tensor total = sum(windows_of(c, w, x, 0), last(windows_of(c, w, x, 0), w.kernel.size()));
  // How many elements of the input, or of its padding, each window holds.
  const bool padding_too = c.integer("count_include_pad", 0) != 0;
  Shape one = x.shape();
  one[0] = one[1] = 1;
  Tensor inside = ones(one, total.dtype(), x.device());
  Window counted = w;
  if (padding_too) {
    inside = pad(inside, w.padding.amounts(), 1.0);
    for (std::size_t d = 0; d < w.kernel.size(); ++d)
      counted.padding.before[d] = counted.padding.after[d] = 0;
    // What ceil_mode adds beyond the padding is not counted.
    for (std::size_t d = 0; d < w.kernel.size(); ++d) {
      const std::int64_t reach = (results(c, w, x.size(static_cast<int>(d) + 2), d) - 1) * w.stride[d] +
                                 (w.kernel[d] - 1) * w.dilation[d] + 1;
      const std::int64_t have = inside.size(static_cast<int>(d) + 2);
      std::vector<std::int64_t> amounts(2 * w.kernel.size());
      amounts[2 * (w.kernel.size() - 1 - d) + 1] = reach - have;
      inside = pad(inside, amounts, 0.0);
    }
    for (std::size_t d = 0; d < w.kernel.size(); ++d) {
      const int dim = static_cast<int>(d) + 2;
      std::vector<Tensor> taps;
      const std::int64_t count = results(c, w, x.size(dim), d);
      for (std::int64_t k = 0; k < w.kernel[d]; ++k)
        taps.push_back(slice(inside, dim, k * w.dilation[d],
                             k * w.dilation[d] + (count - 1) * w.stride[d] + 1, w.stride[d]));
      inside = stack(taps, inside.rank());
    }
    return {div(total, sum(inside, last(inside, w.kernel.size())))};
  }
  const Tensor counts = windows_of(c, w, inside, 0);
  return {div(total, sum(counts, last(counts, w.kernel.size())))};
}

Values lp_pool(const Call& c) {
  const Window w = pool_window(c);
  const Tensor all = windows_of(c, w, c.tensor(0), 0);
  return {norm(all, static_cast<double>(c.integer("p", 2)), last(all, w.kernel.size()))};
}

Values max_unpool(const Call& c) {
  const Tensor &x = c.tensor(0), &at = c.tensor(1);
  const Window w = pool_window(c);
  Shape shape = x.shape();
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {
    const int dim = static_cast<int>(d) + 2;
    shape[dim] = (x.size(dim) - 1) * w.stride[d] + w.kernel[d] - w.padding.before[d] - w.padding.after[d];
  }
  Shape wanted = shape;
  if (c.has(2)) wanted = shape_from(c.integers(2));
  if (wanted.rank() != x.rank()) c.fail("its output shape has another number of dimensions");
  // The places count in the smaller result, which lies at the start of the one that is asked for.
  const Tensor flat = scatter(zeros({numel(shape)}, x.dtype(), x.device()), 0, reshape(at, {at.numel()}),
                              reshape(x, {x.numel()}));
  const Tensor y = reshape(flat, shape);
  std::vector<std::int64_t> amounts;
  for (int d = x.rank() - 1; d >= 0; --d) {
    amounts.push_back(0);
    amounts.push_back(wanted[d] - shape[d]);
  }
  return {{pad(y, amounts, 0.0), c.type(0)}};
}

}  // namespace

void add_pooling(OperatorTable& t) {
  t.add("GlobalAveragePool", global_average, 1);
  t.add("GlobalMaxPool", global_max, 1);
  t.add("GlobalLpPool", global_lp, 1);
  t.add("MaxPool", max_pool, 1);
  t.add("AveragePool", average_pool, 1);
  t.add("LpPool", lp_pool, 1);
  t.add("MaxUnpool", max_unpool, 1);
}

}  // namespace veldt::onnx
