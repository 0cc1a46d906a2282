// Pooling.
#include <algorithm>
#include <array>

#include "veldt/core/pooling.h"
#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

// x as [n, channels, spatial ..], whose planes are n times channels, with the last `dims` of the layout's
// three.
struct Planes {
  int value = 0;
  std::size_t dims = 1;
  Sizes lead;  // sizes in front of the spatial ones
};

std::size_t dims_of(const PoolLayout& p) {
  for (int d = 0; d < 3; ++d)
    if (p.in[d] != 1 || p.out[d] != 1 || p.kernel[d] != 1) return static_cast<std::size_t>(3 - d);
  return 1;
}

Planes planes_of(const PoolLayout& p, const View& x) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  Planes found{.value = 0, .dims = dims_of(p), .lead = {x.shape[0], 1}};
  const std::optional<WholeValue> whole = t.held().whole(x, p.in[2]);
  // A picture of one row is one of two dimensions, if the value says so.
  if (whole && whole->shape.size() >= 3 && whole->shape.size() <= 5 &&
      whole->shape.size() - 2 >= found.dims) {
    const std::size_t dims = whole->shape.size() - 2;
    bool fits = true;
    for (std::size_t d = 0; d < dims; ++d) fits = fits && whole->shape[2 + d] == p.in[3 - dims + d];
    if (fits) return {whole->value, dims, {whole->shape[0], whole->shape[1]}};
  }
  Sizes shape = found.lead;
  shape.insert(shape.end(), p.in + (3 - found.dims), p.in + 3);
  found.value = n.reshape(t.held().read(x), shape);
  return found;
}

Sizes last_of(const std::int64_t (&list)[3], std::size_t dims) { return {list + (3 - dims), list + 3}; }

Sizes joined(Sizes front, const Sizes& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

// Padding before and behind, so that there are as many windows as the layout says.
Sizes pads_of(const PoolLayout& p, std::size_t dims) {
  Sizes pads = last_of(p.padding, dims);
  for (std::size_t d = 3 - dims; d < 3; ++d) {
    const std::int64_t reach = (p.out[d] - 1) * p.stride[d] + (p.kernel[d] - 1) * p.dilation[d] + 1;
    pads.push_back(std::max<std::int64_t>(0, reach - p.in[d] - p.padding[d]));
  }
  return pads;
}

// Windows of any kind along each dimension by a maximum of slices.
int largest_of_windows(TraceNodes& n, int x, const PoolLayout& p, std::size_t dims) {
  for (std::size_t k = 0; k < dims; ++k) {
    const std::size_t d = 2 + k, at = 3 - dims + k;
    const Sizes ones(n.shape(x).size(), 1);
    std::vector<int> parts;
    for (std::int64_t i = 0; i < p.out[at]; ++i) {
      const PoolLayout::Window w = p.window(static_cast<int>(at), i);
      Sizes begin(ones.size(), 0), count = n.shape(x);
      begin[d] = w.begin;
      count[d] = w.end - w.begin;
      parts.push_back(n.reduce("ReduceMax", n.slice(x, begin, count, ones), {static_cast<std::int64_t>(d)}));
    }
    x = n.concat(parts, d);
  }
  return x;
}

void max_pool_entry(const PoolLayout& p, const View& x, const View& out, const View* index) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const Planes planes = planes_of(p, x);
  const Sizes shape = joined(planes.lead, last_of(p.out, planes.dims));
  int y = 0;
  if (p.adaptive) {
    y = largest_of_windows(n, planes.value, p, planes.dims);
  } else {
    y = n.node("MaxPool", {planes.value}, out.dtype, shape,
               {{"kernel_shape", last_of(p.kernel, planes.dims)},
                {"strides", last_of(p.stride, planes.dims)},
                {"pads", pads_of(p, planes.dims)},
                {"dilations", last_of(p.dilation, planes.dims)}});
  }
  t.held().write_packed(out, y);
  if (index)
    t.held().write(*index, n.node("?", {}, DType::i64, {index->shape.begin(), index->shape.end()},
                                  {{"what", std::string("the places of a max_pool's elements")}}));
}

// The shares of the elements of dimension `at` in each mean, [in, out].
int shares(TraceNodes& n, DType dtype, const PoolLayout& p, std::size_t at) {
  const int d = static_cast<int>(at);
  std::vector<double> share(static_cast<std::size_t>(p.in[at] * p.out[at]));
  for (std::int64_t o = 0; o < p.out[at]; ++o) {
    const PoolLayout::Window w = p.window(d, o);
    for (std::int64_t i = w.begin; i < w.end; i += w.step)
      share[static_cast<std::size_t>(i * p.out[at] + o)] = 1 / static_cast<double>(p.averaged(d, o));
  }
  return n.numbers(dtype, {p.in[at], p.out[at]}, share);
}

// Means along each dimension as products, for windows that AveragePool does not have.
int mean_of_windows(TraceNodes& n, int x, const PoolLayout& p, std::size_t dims) {
  for (std::size_t k = 0; k < dims; ++k) {
    const std::size_t rank = n.shape(x).size(), d = rank - dims + k;
    Sizes order;
    for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
    std::swap(order[d], order[rank - 1]);
    x = n.transpose(n.matmul(n.transpose(x, order), shares(n, n.dtype(x), p, 3 - dims + k)), order);
  }
  return x;
}

void avg_pool_entry(const PoolLayout& p, bool transposed, const View& from, const View& to) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  if (transposed) return t.refuse_call();
  const Planes planes = planes_of(p, from);
  const Sizes pads = pads_of(p, planes.dims);
  bool plain = !p.adaptive;
  for (std::size_t d = 0; d < planes.dims; ++d)
    plain = plain && (!p.counts_padding || pads[planes.dims + d] <= pads[d]);
  if (!plain) return t.held().write_packed(to, mean_of_windows(n, planes.value, p, planes.dims));
  t.held().write_packed(
      to, n.node("AveragePool", {planes.value}, to.dtype, joined(planes.lead, last_of(p.out, planes.dims)),
                 {{"kernel_shape", last_of(p.kernel, planes.dims)},
                  {"strides", last_of(p.stride, planes.dims)},
                  {"pads", pads},
                  {"count_include_pad", std::int64_t{p.counts_padding}}}));
}

}  // namespace

void trace_windows(Backend& table) {
  table.max_pool = max_pool_entry;
  table.avg_pool = avg_pool_entry;
}

}  // namespace veldt::onnx
