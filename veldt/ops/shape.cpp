// Makes views by sizes and strides, and copies where no view is possible.
#include "veldt/ops/shape.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

// Strides that show x's memory as `shape`, if there are any: each group of dimensions that is merged or split
// must be contiguous within itself.
std::optional<Strides> strides_for(const Tensor& x, const Shape& shape) {
  if (x.is_contiguous() || x.numel() == 0) return contiguous_strides(shape);
  Strides strides = Shape::filled(shape.rank(), 0);
  int to = shape.rank() - 1;
  std::int64_t span = 1;  // elements of the group so far, on x's side
  std::int64_t base = 0;  // stride of the group's last dimension
  std::int64_t filled = 1;
  bool open = false;
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (x.size(d) == 1) continue;
    if (!open) {
      base = x.strides()[d];
      open = true;
    } else if (x.strides()[d] != base * span) {
      // A new group: the collected elements must be covered by complete target dimensions.
      if (filled != span) return std::nullopt;
      base = x.strides()[d];
      span = filled = 1;
    }
    span *= x.size(d);
    while (to >= 0 && filled < span && span % (filled * shape[to]) == 0) {
      strides[to] = base * filled;
      filled *= shape[to--];
    }
  }
  if (filled != span) return std::nullopt;
  for (; to >= 0; --to) {
    if (shape[to] != 1) return std::nullopt;
    strides[to] = 0;
  }
  return strides;
}

Shape resolve(const Tensor& x, Shape shape) {
  int unknown = -1;
  Shape rest = shape;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == -1 && unknown < 0) {
      unknown = d;
      rest[d] = 1;
    }
  }
  const std::int64_t known = numel(rest);
  if (unknown >= 0 && known > 0 && x.numel() % known == 0) shape[unknown] = x.numel() / known;
  if ((unknown >= 0 && shape[unknown] == -1) || numel(shape) != x.numel())
    throw ShapeError(str("cannot reshape ", x.shape(), " into ", shape),
                     known < 0 ? std::string("one size may be -1, and none is below 0 otherwise")
                     : unknown >= 0
                         ? str("the sizes beside -1 make ", known, ", which does not divide ", x.numel())
                         : str("the first has ", x.numel(), " elements, the other ", known),
                     "make the products of the sizes equal, or leave one size as -1");
  return shape;
}

// A view with `backward` as its gradient function.
Tensor recorded_view(const char* name, const Tensor& x, const Shape& shape, const Strides& strides,
                     std::int64_t offset, BackwardFn backward) {
  return record(name, x.alias(shape, strides, offset), {x}, std::move(backward), false);
}

std::int64_t clamp_position(std::int64_t p, std::int64_t size) {
  if (p < 0) p += size;
  return p < 0 ? 0 : p > size ? size : p;
}

// Zeros of `shape` with g in the sliced part: the gradient of slice.
Tensor unslice(const Tensor& g, const Shape& shape, int dim, std::int64_t begin, std::int64_t step) {
  const Tensor out = zeros(shape, g.dtype(), g.device());
  Strides strides = out.strides();
  const std::int64_t offset = begin * strides[dim];
  if (g.size(dim) > 1) strides[dim] *= step;
  kernels(g).copy(g.view(), out.alias(g.shape(), strides, offset).view());
  const std::int64_t end = g.size(dim) > 0 ? begin + (g.size(dim) - 1) * step + 1 : begin;
  return record(
      "unslice", out, {g},
      [dim, begin, end, step](const Tensor& gg) -> Grads { return {slice(gg, dim, begin, end, step)}; },
      false);
}

// A copy of x with dimension d from the last position to the first. No view: kernels take strides below 0 in
// copies alone.
Tensor turned(const Tensor& x, int d) {
  View from = x.view();
  if (x.numel() > 0) {
    Shape last = x.shape();
    last[d] = 1;
    from.data = x.alias(last, x.strides(), (x.size(d) - 1) * x.strides()[d]).view().data;
  }
  from.strides[d] = -from.strides[d];
  const Tensor out = empty(x.shape(), x);
  kernels(x).copy(from, out.view());
  return record(
      "slice", out, {x}, [d](const Tensor& g) -> Grads { return {turned(g, d)}; }, false);
}

// Positions begin, begin + step, .. above end, for a step below 0.
Tensor slice_back(const Tensor& x, int d, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const std::int64_t n = x.size(d), stride = -std::max(step, -std::numeric_limits<std::int64_t>::max());
  const auto clamped = [n](std::int64_t p) { return std::clamp<std::int64_t>(p < 0 ? p + n : p, -1, n - 1); };
  const std::int64_t first = clamped(begin), past = clamped(end);
  if (first <= past) return slice(x, d, 0, 0);
  const std::int64_t lowest = first - (first - past - 1) / stride * stride;
  return turned(slice(x, d, lowest, first + 1, stride), d);
}

// Without gaps, the dimensions in the order of x's memory; row-major if x repeats elements. Dimensions of
// size 1 get their row-major stride if that is the order, because products check whether matrices stack.
Strides dense_strides(const Tensor& x) {
  int order[kMaxRank];
  for (int d = 0; d < x.rank(); ++d) {
    const auto width = [&](int of) { return x.size(of) == 1 ? 0 : std::abs(x.strides()[of]); };
    if (x.size(d) != 1 && x.strides()[d] == 0) return contiguous_strides(x.shape());
    int at = d;
    for (; at > 0 && x.size(d) != 1 && width(order[at - 1]) < width(d); --at) order[at] = order[at - 1];
    order[at] = d;
  }
  Strides strides = x.strides();
  std::int64_t step = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    strides[order[i]] = step;
    step *= x.size(order[i]);
  }
  return is_contiguous(x.shape(), strides) ? contiguous_strides(x.shape()) : strides;
}

}  // namespace

Tensor empty_along(const Shape& shape, DType dtype, std::initializer_list<const Tensor*> operands) {
  const Tensor out = empty(shape, dtype, (*operands.begin())->device());
  for (const Tensor* x : operands) {
    if (x->shape() != shape) continue;
    return x->is_contiguous() ? out : out.alias(shape, dense_strides(*x), 0);
  }
  return out;
}

Tensor reshape(const Tensor& x, const Shape& wanted) {
  const Shape shape = resolve(x, wanted);
  if (shape == x.shape()) return x;
  const auto strides = strides_for(x, shape);
  if (!strides) return reshape(contiguous(x), shape);
  return recorded_view("reshape", x, shape, *strides, 0,
                       [from = x.shape()](const Tensor& g) -> Grads { return {reshape(g, from)}; });
}

Tensor flatten(const Tensor& x, int from) {
  Shape shape;
  const int first = x.rank() == 0 ? 0 : wrap_dim(from, x.rank(), "flatten");
  for (int d = 0; d < first; ++d) shape.push_back(x.size(d));
  std::int64_t rest = 1;
  for (int d = first; d < x.rank(); ++d) rest *= x.size(d);
  shape.push_back(rest);
  return reshape(x, shape);
}

Tensor transpose(const Tensor& x, int a, int b) {
  const int i = wrap_dim(a, x.rank(), "transpose"), j = wrap_dim(b, x.rank(), "transpose");
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[i], shape[j]);
  std::swap(strides[i], strides[j]);
  return recorded_view("transpose", x, shape, strides, 0,
                       [i, j](const Tensor& g) -> Grads { return {transpose(g, i, j)}; });
}

Tensor permute(const Tensor& x, const std::vector<int>& order) {
  const auto rank = static_cast<std::size_t>(x.rank());
  std::vector<int> inverse(rank, -1);
  Shape shape, strides;
  for (std::size_t i = 0; i < order.size() && i < rank; ++i) {
    const int d = wrap_dim(order[i], x.rank(), "permute");
    inverse[static_cast<std::size_t>(d)] = static_cast<int>(i);
    shape.push_back(x.size(d));
    strides.push_back(x.strides()[d]);
  }
  bool each_once = order.size() == rank;
  for (int i : inverse) each_once = each_once && i >= 0;
  if (!each_once)
    throw ShapeError(str("permute cannot order ", x.shape(), " with ", order.size(), " entries"),
                     "each dimension must be named exactly once", str("give all of 0 to ", x.rank() - 1));
  return recorded_view("permute", x, shape, strides, 0,
                       [inverse](const Tensor& g) -> Grads { return {permute(g, inverse)}; });
}

View broadcast_view(const Tensor& x, const Shape& shape) {
  View v = x.view();
  Strides strides = Shape::filled(shape.rank(), 0);
  const int lead = shape.rank() - v.shape.rank();
  for (int d = 0; d < v.shape.rank(); ++d)
    if (v.shape[d] != 1 || shape[lead + d] == 1) strides[lead + d] = v.strides[d];
  v.shape = shape;
  v.strides = strides;
  return v;
}

Tensor expand(const Tensor& x, const Shape& wanted) {
  Shape shape = wanted;
  const int lead = shape.rank() - x.rank();
  for (int d = std::max(0, lead); d < shape.rank(); ++d)
    if (shape[d] == -1) shape[d] = x.size(d - lead);
  if (shape == x.shape()) return x;
  numel(shape);  // throws on a negative size
  if (broadcast(x.shape(), shape, "expand") != shape)
    throw ShapeError(str("cannot expand ", x.shape(), " to ", shape), "only sizes of 1 can be repeated",
                     "give a shape that the tensor broadcasts to");
  return recorded_view("expand", x, shape, broadcast_view(x, shape).strides, 0,
                       [from = x.shape()](const Tensor& g) -> Grads { return {sum_to(g, from)}; });
}

Tensor slice(const Tensor& x, int dim, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const int d = wrap_dim(dim, x.rank(), "slice");
  if (step == 0)
    throw ShapeError(str("slice cannot take steps of 0 in dimension ", d, " of ", x.shape()),
                     "it would never reach the end", "give a step above or below 0");
  if (step < 0) return slice_back(x, d, begin, end, step);
  const std::int64_t first = clamp_position(begin, x.size(d)), last = clamp_position(end, x.size(d));
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape[d] = last > first ? (last - first - 1) / step + 1 : 0;
  const std::int64_t offset = shape[d] > 0 ? first * strides[d] : 0;
  if (shape[d] > 1) strides[d] *= step;  // a step may be as large as its type allows
  return recorded_view("slice", x, shape, strides, offset,
                       [from = x.shape(), d, first, step](const Tensor& g) -> Grads {
                         return {unslice(g, from, d, first, step)};
                       });
}

Tensor select(const Tensor& x, int dim, std::int64_t index) {
  const int d = wrap_dim(dim, x.rank(), "select");
  const std::int64_t n = x.size(d), i = index < 0 ? index + n : index;
  if (i < 0 || i >= n)
    throw ShapeError(str("there is no position ", index, " in dimension ", d, " of ", x.shape()),
                     str("its size is ", n),
                     n > 0 ? str("take one of ", -n, " to ", n - 1) : "take none of an empty dimension");
  return recorded_view("select", x, x.shape().without(d), x.strides().without(d), i * x.strides()[d],
                       [from = x.shape(), d, i](const Tensor& g) -> Grads {
                         return {unslice(unsqueeze(g, d), from, d, i, 1)};
                       });
}

Tensor unsqueeze(const Tensor& x, int dim) {
  return reshape(x, x.shape().with_inserted(wrap_dim(dim, x.rank() + 1, "unsqueeze"), 1));
}

Tensor squeeze(const Tensor& x, int dim) {
  if (x.rank() == 0) {
    wrap_dim(dim, 1, "squeeze");
    return x;
  }
  const int d = wrap_dim(dim, x.rank(), "squeeze");
  if (x.size(d) != 1)
    throw ShapeError(str("squeeze cannot drop dimension ", d, " of ", x.shape()),
                     str("its size is ", x.size(d)), "only a size of 1 can be dropped");
  return reshape(x, x.shape().without(d));
}

Tensor squeeze(const Tensor& x) {
  Shape shape;
  for (std::int64_t size : x.shape())
    if (size != 1) shape.push_back(size);
  return reshape(x, shape);
}

Tensor clone(const Tensor& x) {
  const Tensor out = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).copy(x.view(), out.view());
  return record(
      "clone", out, {x}, [](const Tensor& g) -> Grads { return {g}; }, false);
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  const Tensor out = empty(x.shape(), x);
  kernels(x).copy(x.view(), out.view());
  return record(
      "contiguous", out, {x}, [](const Tensor& g) -> Grads { return {g}; }, false);
}

Tensor to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Tensor out = empty_along(x.shape(), dtype, {&x});
  kernels(x).copy(x.view(), out.view());
  if (!is_float(dtype)) {
    mark_cut(out, x, "a conversion to whole numbers");
    return out;
  }
  return record(
      "to", out, {x}, [from = x.dtype()](const Tensor& g) -> Grads { return {to(g, from)}; }, false);
}

Tensor to(const Tensor& x, Device device) {
  if (x.device() == device) return x;
  Tensor out = empty(x.shape(), x.dtype(), device);
  out.assign(x.detach());
  return record(
      "to", out, {x}, [from = x.device()](const Tensor& g) -> Grads { return {to(g, from)}; }, false);
}

Tensor cat(const std::vector<Tensor>& given, int dim) {
  if (given.empty())
    throw ShapeError("cat was given nothing to join", "the list is empty", "give at least one tensor");
  DType dtype = given[0].dtype();
  for (const Tensor& p : given) {
    check_same_device("cat", given[0], p);
    dtype = promote(dtype, p.dtype());
  }
  std::vector<Tensor> parts;
  for (const Tensor& p : given) parts.push_back(to(p, dtype));
  const int d = wrap_dim(dim, parts[0].rank(), "cat");
  Shape shape = parts[0].shape();
  shape[d] = 0;
  for (const Tensor& p : parts) {
    Shape rest = p.shape();
    if (p.rank() == shape.rank()) rest[d] = shape[d];
    if (rest != shape)
      throw ShapeError(str("cat cannot join ", p.shape(), " to ", parts[0].shape(), " along dimension ", d),
                       "all other sizes must agree", "reshape the parts first");
    shape[d] += p.size(d);
  }
  const Tensor out = empty(shape, parts[0]);
  std::int64_t at = 0;
  for (const Tensor& p : parts) {
    kernels(out).copy(p.view(), out.alias(p.shape(), out.strides(), at * out.strides()[d]).view());
    at += p.size(d);
  }
  TensorList inputs(parts.begin(), parts.end()), places;
  for (const Tensor& p : parts) places.push_back(without_values(p));
  return record(
      "cat", out, std::move(inputs),
      [places, d](const Tensor& g) -> Grads {
        Grads grads;
        std::int64_t begin = 0;
        for (const Tensor& p : places) {
          grads.push_back(needs_grad(p) ? slice(g, d, begin, begin + p.size(d)) : Tensor());
          begin += p.size(d);
        }
        return grads;
      },
      false);
}

Tensor stack(const std::vector<Tensor>& parts, int dim) {
  std::vector<Tensor> raised;
  for (const Tensor& p : parts) {
    if (p.shape() != parts[0].shape())
      throw ShapeError(str("stack cannot join ", p.shape(), " to ", parts[0].shape()),
                       "all shapes must agree", "reshape the parts, or use cat along an existing dimension");
    raised.push_back(unsqueeze(p, dim));
  }
  return cat(raised, dim);
}

}  // namespace veldt
