// Lays out windows for the kernels of pooling, after checking that each has an element.
#include "veldt/ops/pooling.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "veldt/core/convolution.h"
#include "veldt/core/error.h"
#include "veldt/core/pooling.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

// The options of a pooling along one dimension.
struct Line {
  std::int64_t in, out, kernel, stride, padding, dilation;
};

void check_pooling_number(const char* name, const char* what, std::int64_t value, std::int64_t least) {
  if (value < least || value > ConvLayout::kMost)
    throw ConfigError(str(name, " cannot have a ", what, " of ", value),
                      str("it must be from ", least, " to ", ConvLayout::kMost),
                      "choose one within these bounds");
}

void check_input(const char* name, int dims, const Tensor& x) {
  if (x.rank() != dims + 1 && x.rank() != dims + 2)
    throw ShapeError(str(name, " cannot pool ", x.shape()),
                     str("it wants [n, channels, ..] or [channels, ..] with ", dims, " spatial dimensions"),
                     "reshape the input, or use the op of its number of dimensions");
  for (int d = -dims; d < 0; ++d)
    if (x.size(d) < 1 || x.size(d) > ConvLayout::kMost)
      throw ShapeError(str(name, " cannot pool ", x.shape()),
                       str("a spatial size must be from 1 to ", ConvLayout::kMost), "give it elements");
}

std::vector<Line> lines_of(const char* name, int dims, const Tensor& x, const PerDim& kernel,
                           const std::optional<PerDim>& stride, const PerDim& padding, const PerDim& dilation,
                           bool ceil_mode) {
  check_input(name, dims, x);
  const Shape kernels = kernel.of(dims), strides = stride.value_or(kernel).of(dims),
              paddings = padding.of(dims), dilations = dilation.of(dims);
  std::vector<Line> lines;
  for (int d = 0; d < dims; ++d) {
    Line l{x.size(d - dims), 0, kernels[d], strides[d], paddings[d], dilations[d]};
    check_pooling_number(name, "kernel", l.kernel, 1);
    check_pooling_number(name, "stride", l.stride, 1);
    check_pooling_number(name, "padding", l.padding, 0);
    check_pooling_number(name, "dilation", l.dilation, 1);
    if (l.padding > l.kernel / 2)
      throw ConfigError(str(name, " cannot have a padding of ", l.padding, " with a kernel of ", l.kernel),
                        "a window would hold nothing but padding", "use at most half of the kernel's size");
    const std::int64_t rest = l.in + 2 * l.padding - l.dilation * (l.kernel - 1) - 1;
    const std::int64_t reach = rest + (ceil_mode ? l.stride - 1 : 0);
    if (reach < 0)
      throw ShapeError(str(name, " cannot pool ", x.shape(), " with a kernel of ", kernels),
                       str("dimension ", d - dims, " has ", l.in, " elements and ", 2 * l.padding,
                           " of padding, and the kernel reaches over ", l.dilation * (l.kernel - 1) + 1),
                       "use a smaller kernel, or more padding");
    l.out = reach / l.stride + 1;
    // The last window begins within the input or the padding before it.
    if (ceil_mode && (l.out - 1) * l.stride >= l.in + l.padding) --l.out;
    lines.push_back(l);
  }
  return lines;
}

std::vector<Line> adaptive_lines(const char* name, int dims, const Tensor& x, const PerDim& size) {
  check_input(name, dims, x);
  const Shape sizes = size.of(dims);
  std::vector<Line> lines;
  for (int d = 0; d < dims; ++d) {
    check_pooling_number(name, "size", sizes[d], 1);
    lines.push_back({x.size(d - dims), sizes[d], 1, 1, 0, 1});
  }
  return lines;
}

Shape pooled_shape(const Tensor& x, const std::vector<Line>& lines) {
  Shape shape = x.shape();
  const int dims = static_cast<int>(lines.size());
  for (int d = 0; d < dims; ++d) shape[x.rank() - dims + d] = lines[static_cast<std::size_t>(d)].out;
  return shape;
}

bool empty_window(const PoolLayout::Window& w) { return w.begin >= w.end; }

PoolLayout layout_of(const char* name, const Tensor& x, const std::vector<Line>& lines, bool adaptive) {
  PoolLayout p{.adaptive = adaptive};
  const int missing = 3 - static_cast<int>(lines.size());
  for (int d = missing; d < 3; ++d) {
    const Line& l = lines[static_cast<std::size_t>(d - missing)];
    p.in[d] = l.in, p.out[d] = l.out, p.kernel[d] = l.kernel, p.stride[d] = l.stride;
    p.padding[d] = l.padding, p.dilation[d] = l.dilation;
    // Only the first windows overlap the padding before x, and only the last one the padding after it.
    const std::int64_t first = std::min(l.out, adaptive ? 0 : l.padding / l.stride + 1);
    for (std::int64_t o = 0; o <= first; ++o)
      if (const std::int64_t at = o < first ? o : l.out - 1; empty_window(p.window(d, at)))
        throw ShapeError(str(name, " cannot pool ", x.shape(), " with a dilation of ", l.dilation),
                         str("window ", at, " of dimension ", d - 3, " would hold nothing but padding"),
                         "use less padding or a smaller dilation");
  }
  p.planes = x.numel() / p.inputs();
  return p;
}

// The places of the largest elements are only recorded for a gradient.
Tensor max_pool(const char* name, const Tensor& given, const std::vector<Line>& lines, bool adaptive) {
  return through_f32(as_float(given), [&](const Tensor& x) {
    const PoolLayout p = layout_of(name, x, lines, adaptive);
    const Tensor flat = contiguous(reshape(x, {p.planes, p.inputs()}));
    const Tensor out = empty({p.planes, p.outputs()}, x);
    const bool noted = grad_enabled() && flat.requires_grad();
    const Tensor index = noted ? empty(out.shape(), DType::i64, x.device()) : Tensor();
    if (p.planes > 0) kernels(x).max_pool(p, flat.view(), out.view(), OptionalView(index));
    return reshape(noted ? gathered(out, name, flat, 1, index) : out, pooled_shape(x, lines));
  });
}

// The means of windows, or their transpose. Both are linear, and each is the other's gradient.
Tensor averaged(const PoolLayout& p, bool transposed, const Tensor& given) {
  const Tensor from = contiguous(given);
  const Tensor out = empty({p.planes, transposed ? p.inputs() : p.outputs()}, from);
  if (p.planes > 0) kernels(from).avg_pool(p, transposed, from.view(), out.view());
  return record(
      "avg_pool", out, {from}, [=](const Tensor& g) -> Grads { return {averaged(p, !transposed, g)}; },
      false);
}

Tensor average(const Tensor& x, const PoolLayout& p, const std::vector<Line>& lines) {
  return reshape(averaged(p, false, reshape(x, {p.planes, p.inputs()})), pooled_shape(x, lines));
}

Tensor avg_pool(const char* name, const Tensor& given, const std::vector<Line>& lines,
                bool count_include_pad) {
  return through_f32(as_float(given), [&](const Tensor& x) {
    PoolLayout p = layout_of(name, x, lines, false);
    p.counts_padding = count_include_pad;
    return average(x, p, lines);
  });
}

// If every size divides: splits each dimension into [out, in / out], and takes the mean over the latter.
Tensor mean_of_equal_windows(const Tensor& x, const std::vector<Line>& lines) {
  Shape apart;
  Dims within;
  const int leading = x.rank() - static_cast<int>(lines.size());
  for (int d = 0; d < leading; ++d) apart.push_back(x.size(d));
  for (const Line& l : lines) {
    apart.push_back(l.out);
    within.push_back(apart.rank());
    apart.push_back(l.in / l.out);
  }
  return mean(reshape(x, apart), within);
}

Tensor adaptive_avg_pool(const char* name, int dims, const Tensor& given, const PerDim& size) {
  const std::vector<Line> lines = adaptive_lines(name, dims, given, size);
  return through_f32(as_float(given), [&](const Tensor& x) {
    const auto divides = [](const Line& l) { return l.in % l.out == 0; };
    if (std::all_of(lines.begin(), lines.end(), divides)) return mean_of_equal_windows(x, lines);
    return average(x, layout_of(name, x, lines, true), lines);
  });
}

Tensor max_pool(const char* name, int dims, const Tensor& x, const PerDim& kernel, const MaxPoolOptions& o) {
  return max_pool(name, x, lines_of(name, dims, x, kernel, o.stride, o.padding, o.dilation, o.ceil_mode),
                  false);
}

Tensor avg_pool(const char* name, int dims, const Tensor& x, const PerDim& kernel, const AvgPoolOptions& o) {
  return avg_pool(name, x, lines_of(name, dims, x, kernel, o.stride, o.padding, 1, o.ceil_mode),
                  o.count_include_pad);
}

}  // namespace

Tensor max_pool1d(const Tensor& x, const PerDim& kernel, const MaxPoolOptions& options) {
  return max_pool("max_pool1d", 1, x, kernel, options);
}
Tensor max_pool2d(const Tensor& x, const PerDim& kernel, const MaxPoolOptions& options) {
  return max_pool("max_pool2d", 2, x, kernel, options);
}
Tensor max_pool3d(const Tensor& x, const PerDim& kernel, const MaxPoolOptions& options) {
  return max_pool("max_pool3d", 3, x, kernel, options);
}

Tensor avg_pool1d(const Tensor& x, const PerDim& kernel, const AvgPoolOptions& options) {
  return avg_pool("avg_pool1d", 1, x, kernel, options);
}
Tensor avg_pool2d(const Tensor& x, const PerDim& kernel, const AvgPoolOptions& options) {
  return avg_pool("avg_pool2d", 2, x, kernel, options);
}
Tensor avg_pool3d(const Tensor& x, const PerDim& kernel, const AvgPoolOptions& options) {
  return avg_pool("avg_pool3d", 3, x, kernel, options);
}

Tensor adaptive_max_pool1d(const Tensor& x, const PerDim& size) {
  return max_pool("adaptive_max_pool1d", x, adaptive_lines("adaptive_max_pool1d", 1, x, size), true);
}
Tensor adaptive_max_pool2d(const Tensor& x, const PerDim& size) {
  return max_pool("adaptive_max_pool2d", x, adaptive_lines("adaptive_max_pool2d", 2, x, size), true);
}
Tensor adaptive_max_pool3d(const Tensor& x, const PerDim& size) {
  return max_pool("adaptive_max_pool3d", x, adaptive_lines("adaptive_max_pool3d", 3, x, size), true);
}
Tensor adaptive_avg_pool1d(const Tensor& x, const PerDim& size) {
  return adaptive_avg_pool("adaptive_avg_pool1d", 1, x, size);
}
Tensor adaptive_avg_pool2d(const Tensor& x, const PerDim& size) {
  return adaptive_avg_pool("adaptive_avg_pool2d", 2, x, size);
}
Tensor adaptive_avg_pool3d(const Tensor& x, const PerDim& size) {
  return adaptive_avg_pool("adaptive_avg_pool3d", 3, x, size);
}

}  // namespace veldt
