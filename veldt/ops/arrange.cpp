// Splits and joins tensors by views and copies, each with its gradient.
#include "veldt/ops/arrange.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

void check_count(const char* op, std::int64_t count, std::int64_t least) {
  if (count < least)
    throw ShapeError(str(op, " was given a count of ", count), str("it must be ", least, " or more"),
                     "give a larger one");
}

// Copies x into the view (shape, strides, offset) of `out`; the gradient is that view of g.
struct Place {
  Shape shape;
  Strides strides;
  std::int64_t offset;
};

std::int64_t diagonal_length(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  const std::int64_t n = offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns);
  return std::max<std::int64_t>(0, n);
}

Place diagonal_of(const Tensor& x, std::int64_t offset, int row, int column) {
  Place p{{}, {}, 0};
  for (int d = 0; d < x.rank(); ++d) {
    if (d == row || d == column) continue;
    p.shape.push_back(x.size(d));
    p.strides.push_back(x.strides()[d]);
  }
  const std::int64_t n = diagonal_length(x.size(row), x.size(column), offset);
  p.shape.push_back(n);
  p.strides.push_back(x.strides()[row] + x.strides()[column]);
  if (n > 0) p.offset = offset >= 0 ? offset * x.strides()[column] : -offset * x.strides()[row];
  return p;
}

// Zeros of `shape` with g on a diagonal: the gradient of diagonal().
Tensor undiagonal(const Tensor& g, const Shape& shape, std::int64_t offset, int row, int column) {
  const Tensor out = zeros(shape, g.dtype(), g.device());
  const Place p = diagonal_of(out, offset, row, column);
  kernels(g).copy(g.view(), out.alias(p.shape, p.strides, p.offset).view());
  return record(
      "undiagonal", out, {g},
      [offset, row, column](const Tensor& gg) -> Grads { return {diagonal(gg, offset, row, column)}; },
      false);
}

// Column minus row for each element of the last two dimensions, compared with `offset`.
Tensor beyond_diagonal(const Tensor& x, std::int64_t offset) {
  if (x.rank() < 2)
    throw ShapeError(str("there is no diagonal in ", x.shape()), "a matrix has two dimensions",
                     "give a tensor of rank 2 or more");
  const Tensor rows = reshape(arange(x.size(-2), DType::i64, x.device()), {x.size(-2), 1});
  return greater(arange(x.size(-1), DType::i64, x.device()), rows + offset);
}

// The sizes of pad()'s result, and the amounts before x.
std::pair<Shape, Shape> padded(const Tensor& x, const std::vector<std::int64_t>& amounts) {
  const int count = static_cast<int>(amounts.size() / 2);
  if (amounts.size() % 2 != 0 || count > x.rank())
    throw ShapeError(str("pad was given ", amounts.size(), " amounts for ", x.shape()),
                     "they come in pairs, at most one for each dimension",
                     "give before and after for the last dimension first");
  Shape shape = x.shape(), before = Shape::filled(x.rank(), 0);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    const int d = x.rank() - 1 - i;
    check_count("pad", std::min(amounts[at], amounts[at + 1]), 0);
    before[d] = amounts[at];
    if (__builtin_add_overflow(shape[d], amounts[at], &shape[d]) ||
        __builtin_add_overflow(shape[d], amounts[at + 1], &shape[d]))
      throw ShapeError(str("pad cannot add ", amounts[at], " and ", amounts[at + 1], " elements"),
                       "the size would overflow", "pad less");
  }
  return {shape, before};
}

// The sources of the elements around the n of dimension d, which begin at `front`: `count` from `from` on, by
// `step`.
struct Source {
  std::int64_t from, step;
};
Source source_in_front(PadMode mode, std::int64_t front, std::int64_t n) {
  if (mode == PadMode::replicate) return {front, 0};
  return mode == PadMode::reflect ? Source{2 * front, -1} : Source{n, 1};
}
Source source_behind(PadMode mode, std::int64_t front, std::int64_t n) {
  if (mode == PadMode::replicate) return {front + n - 1, 0};
  return mode == PadMode::reflect ? Source{front + n - 2, -1} : Source{front, 1};
}

// x in the middle of `out`, with the padding of the mode around it, dimension by dimension.
void fill_around(const Tensor& x, const Shape& before, PadMode mode, const Tensor& out) {
  if (x.numel() == 0) return;
  Shape area = x.shape();
  std::int64_t corner = 0;  // of the area that is filled
  for (int d = 0; d < x.rank(); ++d) corner += before[d] * out.strides()[d];
  kernels(x).copy(x.view(), out.alias(area, out.strides(), corner).view());
  for (int d = x.rank() - 1; d >= 0; --d) {
    const std::int64_t n = x.size(d), stride = out.strides()[d], start = corner - before[d] * stride;
    const auto copy = [&](std::int64_t to, std::int64_t count, Source source) {
      if (count == 0) return;
      area[d] = count;
      Strides strides = out.strides();
      strides[d] = source.step * stride;
      View from = out.alias(area, out.strides(), start + source.from * stride).view();
      from.strides = strides;
      kernels(x).copy(from, out.alias(area, out.strides(), start + to * stride).view());
    };
    copy(0, before[d], source_in_front(mode, before[d], n));
    copy(before[d] + n, out.size(d) - n - before[d], source_behind(mode, before[d], n));
    area[d] = out.size(d);
    corner = start;
  }
}

// Adds g, whose dimensions up to d - 1 are done, to `into`: its middle, and the parts before and after it to
// their sources. The middle of all dimensions is copied.
void fold_into(const Tensor& into, const Tensor& g, const Shape& before, PadMode mode, int d, bool middle) {
  if (d == into.rank())
    return middle ? kernels(g).copy(g.view(), into.view()) : kernels(g).accumulate(g.view(), into.view());
  const std::int64_t n = into.shape()[d], front = before[d], behind = g.size(d) - n - front;
  const auto add_back = [&](std::int64_t begin, std::int64_t count, Source source) {
    if (count == 0) return;
    Tensor part = narrow(g, d, begin, count);
    if (source.step == 0) part = sum(part, {d}, true);
    if (source.step < 0) part = flip(part, {d});
    const std::int64_t at = source.from - front - (source.step < 0 ? count - 1 : 0);
    fold_into(narrow(into, d, at, part.size(d)), part, before, mode, d + 1, false);
  };
  fold_into(into, narrow(g, d, front, n), before, mode, d + 1, middle);
  add_back(0, front, source_in_front(mode, front, n));
  add_back(front + n, behind, source_behind(mode, front, n));
}

// g with the parts around its middle added to their sources: the gradient of fill_around().
Tensor folded(const Tensor& g, const Shape& inner, const std::vector<std::int64_t>& amounts,
              const Shape& before, PadMode mode) {
  const Tensor out = empty(inner, g);
  {
    const NoGrad off;
    fold_into(out, g, before, mode, 0, true);
  }
  return record(
      "fold", out, {g}, [amounts, mode](const Tensor& gg) -> Grads { return {pad(gg, amounts, mode)}; },
      false);
}

Tensor zero_of(const Tensor& x) { return full({}, 0, x.dtype(), x.device()); }

}  // namespace

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int dim) {
  check_count("split", size, 1);
  const int d = wrap_dim(dim, x.rank(), "split");
  std::vector<Tensor> parts;
  for (std::int64_t at = 0; at == 0 || at < x.size(d); at += size) {
    parts.push_back(slice(x, d, at, std::min(x.size(d), at + std::min(size, x.size(d)))));
    if (size >= x.size(d) - at) break;
  }
  return parts;
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t count, int dim) {
  check_count("chunk", count, 1);
  const std::int64_t n = x.size(wrap_dim(dim, x.rank(), "chunk"));
  return split(x, std::max<std::int64_t>(1, n / count + (n % count != 0)), dim);
}

Tensor narrow(const Tensor& x, int dim, std::int64_t begin, std::int64_t length) {
  const int d = wrap_dim(dim, x.rank(), "narrow");
  const std::int64_t first = begin < 0 ? begin + x.size(d) : begin;
  if (first < 0 || length < 0 || first > x.size(d) || length > x.size(d) - first)
    throw ShapeError(str("narrow cannot take ", length, " positions from ", begin, " on in dimension ", d),
                     str("its size is ", x.size(d)), "stay within it, or use slice, which clamps");
  return slice(x, d, first, first + length);
}

Tensor flip(const Tensor& x, const std::vector<int>& dims) {
  View from = x.view();
  Shape seen = Shape::filled(x.rank(), 0);
  std::int64_t offset = 0;
  for (int dim : dims) {
    const int d = wrap_dim(dim, x.rank(), "flip");
    if (seen[d]++)
      throw ShapeError(str("flip was given dimension ", d, " twice"), "it would be turned back",
                       "name it once");
    if (x.size(d) > 0) offset += (x.size(d) - 1) * from.strides[d];
    from.strides[d] = -from.strides[d];
  }
  if (x.numel() > 0) from.data = x.alias(x.shape(), x.strides(), offset).view().data;
  const Tensor out = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).copy(from, out.view());
  return record(
      "flip", out, {x}, [dims](const Tensor& g) -> Grads { return {flip(g, dims)}; }, false);
}

Tensor roll(const Tensor& x, std::int64_t shift, int dim) {
  const int d = wrap_dim(dim, x.rank(), "roll");
  const std::int64_t n = x.size(d);
  if (n == 0) return x;
  const std::int64_t by = (shift % n + n) % n;
  if (by == 0 || x.numel() == 0) return x;
  const Tensor out = empty_along(x.shape(), x.dtype(), {&x});
  const auto move = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    Shape part = x.shape();
    part[d] = count;
    kernels(x).copy(x.alias(part, x.strides(), from * x.strides()[d]).view(),
                    out.alias(part, out.strides(), to * out.strides()[d]).view());
  };
  move(n - by, 0, by);
  move(0, by, n - by);
  return record(
      "roll", out, {x}, [back = n - by, d](const Tensor& g) -> Grads { return {roll(g, back, d)}; }, false);
}

Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts) {
  const int rank = static_cast<int>(counts.size()), lead = rank - x.rank();
  if (lead < 0)
    throw ShapeError(str("repeat was given ", rank, " counts for ", x.shape()),
                     "each dimension needs a count", "give 1 for those that stay");
  Tensor y = x;
  for (int d = 0; d < lead; ++d) y = unsqueeze(y, 0);
  // One dimension at a time, so that no rank grows by more than one.
  for (int d = 0; d < rank; ++d) {
    const std::int64_t count = counts[static_cast<std::size_t>(d)];
    check_count("repeat", count, 0);
    if (count == 1) continue;
    const Tensor raised = unsqueeze(y, d);
    Shape wide = raised.shape(), joined = y.shape();
    wide[d] = count;
    joined[d] *= count;
    y = reshape(expand(raised, wide), joined);
  }
  return y;
}

Tensor repeat_interleave(const Tensor& x, std::int64_t count, int dim) {
  check_count("repeat_interleave", count, 0);
  const int d = wrap_dim(dim, x.rank(), "repeat_interleave");
  const Tensor raised = unsqueeze(x, d + 1);
  Shape wide = raised.shape(), joined = x.shape();
  wide[d + 1] = count;
  joined[d] *= count;
  return reshape(expand(raised, wide), joined);
}

Tensor movedim(const Tensor& x, int from, int to) {
  const int i = wrap_dim(from, x.rank(), "movedim"), j = wrap_dim(to, x.rank(), "movedim");
  std::vector<int> order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != i) order.push_back(d);
  order.insert(order.begin() + j, i);
  return permute(x, order);
}

Tensor unflatten(const Tensor& x, int dim, const Shape& sizes) {
  const int d = wrap_dim(dim, x.rank(), "unflatten");
  Shape shape, given = sizes;
  std::int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] == -1 && unknown < 0)
      unknown = i;
    else
      known *= sizes[i];
  }
  if (unknown >= 0 && known > 0 && x.size(d) % known == 0) given[unknown] = x.size(d) / known;
  if (numel(given.rank() ? given : Shape{1}) != x.size(d))
    throw ShapeError(str("unflatten cannot take dimension ", d, " of ", x.shape(), " apart into ", sizes),
                     str("its size is ", x.size(d)), "make the product of the sizes equal to it");
  for (int i = 0; i < x.rank(); ++i) {
    if (i != d)
      shape.push_back(x.size(i));
    else
      for (std::int64_t size : given) shape.push_back(size);
  }
  return reshape(x, shape);
}

Tensor pad(const Tensor& given, const std::vector<std::int64_t>& wanted, double value) {
  Tensor x = given;
  std::vector<std::int64_t> amounts = wanted;  // without those below 0, which remove elements
  for (std::size_t i = 0; i + 1 < amounts.size() && static_cast<int>(i / 2) < x.rank(); i += 2) {
    const int d = x.rank() - 1 - static_cast<int>(i / 2);
    std::int64_t &before = amounts[i], &after = amounts[i + 1];
    if (before >= 0 && after >= 0) continue;
    const std::int64_t begin = std::max<std::int64_t>(0, -before),
                       left = x.size(d) - begin + std::min<std::int64_t>(0, after);
    if (left < 0)
      throw ShapeError(str("pad cannot take ", begin, " and ", std::max<std::int64_t>(0, -after),
                           " elements from dimension ", d, " of ", x.shape()),
                       "it has fewer", "take fewer away");
    x = narrow(x, d, begin, left);
    before = std::max<std::int64_t>(0, before);
    after = std::max<std::int64_t>(0, after);
  }
  const auto [shape, in_front] = padded(x, amounts);
  const Shape before = in_front;  // lambdas cannot capture a structured binding
  const Tensor out = full(shape, value, x.dtype(), x.device());
  std::int64_t offset = 0;
  if (x.numel() > 0)
    for (int d = 0; d < x.rank(); ++d) offset += before[d] * out.strides()[d];
  kernels(x).copy(x.view(), out.alias(x.shape(), out.strides(), offset).view());
  return record(
      "pad", out, {x},
      [before, inner = x.shape()](const Tensor& g) -> Grads {
        Tensor part = g;
        for (int d = 0; d < inner.rank(); ++d)
          if (part.size(d) != inner[d]) part = slice(part, d, before[d], before[d] + inner[d]);
        return {part};
      },
      false);
}

Tensor pad(const Tensor& x, const std::vector<std::int64_t>& amounts, PadMode mode) {
  if (mode == PadMode::zeros) return pad(x, amounts);
  const auto [shape, in_front] = padded(x, amounts);
  const Shape before = in_front;
  for (int d = x.rank() - 1; d >= 0; --d) {
    const std::int64_t n = x.size(d), front = before[d], after = shape[d] - n - front;
    const std::int64_t least = mode == PadMode::replicate ? 1 : std::max(front, after);
    if ((front > 0 || after > 0) && n < least + (mode == PadMode::reflect))
      throw ShapeError(
          str("pad cannot add ", front, " and ", after, " elements to dimension ", d, " of ", x.shape()),
          "there are not enough elements to copy", "pad less, or with zeros");
  }
  if (shape == x.shape()) return x;
  const Tensor out = empty(shape, x);
  fill_around(x, before, mode, out);
  return record(
      "pad", out, {x},
      [amounts, before, inner = x.shape(), mode](const Tensor& g) -> Grads {
        return {folded(g, inner, amounts, before, mode)};
      },
      false);
}

Tensor pixel_shuffle(const Tensor& x, std::int64_t r) {
  check_count("pixel_shuffle", r, 1);
  if (x.rank() < 3 || x.size(-3) / r % r != 0 || x.size(-3) % r != 0)
    throw ShapeError(
        str("pixel_shuffle cannot make squares of ", r, " by ", r, " from ", x.shape()),
        "an input is [.., channels, height, width], and each square takes as many channels as pixels",
        str("give a number of channels that ", r, " times ", r, " divides"));
  const std::int64_t c = x.size(-3) / r / r, h = x.size(-2), w = x.size(-1);
  Shape shape = x.shape();
  shape[x.rank() - 3] = c, shape[x.rank() - 2] = h * r, shape[x.rank() - 1] = w * r;
  std::int64_t n = 1;
  for (int d = 0; d < x.rank() - 3; ++d) n *= x.size(d);
  return reshape(permute(reshape(x, {n * c, r, r, h, w}), {0, 3, 1, 4, 2}), shape);
}

Tensor pixel_unshuffle(const Tensor& x, std::int64_t r) {
  check_count("pixel_unshuffle", r, 1);
  if (x.rank() < 3 || x.size(-2) % r != 0 || x.size(-1) % r != 0)
    throw ShapeError(str("pixel_unshuffle cannot cut ", x.shape(), " into squares of ", r, " by ", r),
                     "an input is [.., channels, height, width]", str("give sizes that ", r, " divides"));
  const std::int64_t c = x.size(-3), h = x.size(-2) / r, w = x.size(-1) / r;
  Shape shape = x.shape();
  shape[x.rank() - 3] = c * r * r, shape[x.rank() - 2] = h, shape[x.rank() - 1] = w;
  std::int64_t n = 1;
  for (int d = 0; d < x.rank() - 3; ++d) n *= x.size(d);
  return reshape(permute(reshape(x, {n * c, h, r, w, r}), {0, 2, 4, 1, 3}), shape);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& lists) {
  Shape shape;
  for (const Tensor& list : lists) {
    if (list.rank() != 1)
      throw ShapeError(str("meshgrid cannot use ", list.shape()), "it wants lists", "flatten() it first");
    shape.push_back(list.size(0));
  }
  std::vector<Tensor> out;
  for (int d = 0; d < shape.rank(); ++d) {
    Shape column = Shape::filled(shape.rank(), 1);
    column[d] = shape[d];
    out.push_back(expand(reshape(lists[static_cast<std::size_t>(d)], column), shape));
  }
  return out;
}

Tensor tril(const Tensor& x, std::int64_t offset) { return where(beyond_diagonal(x, offset), zero_of(x), x); }
Tensor triu(const Tensor& x, std::int64_t offset) {
  return where(beyond_diagonal(x, offset - 1), x, zero_of(x));
}

Tensor diagonal(const Tensor& x, std::int64_t offset, int dim1, int dim2) {
  const int row = wrap_dim(dim1, x.rank(), "diagonal"), column = wrap_dim(dim2, x.rank(), "diagonal");
  if (row == column)
    throw ShapeError(str("diagonal was given dimension ", row, " twice"), "a diagonal crosses two",
                     "name two dimensions");
  const Place p = diagonal_of(x, offset, row, column);
  return record(
      "diagonal", x.alias(p.shape, p.strides, p.offset), {x},
      [shape = x.shape(), offset, row, column](const Tensor& g) -> Grads {
        return {undiagonal(g, shape, offset, row, column)};
      },
      false);
}

Tensor diag(const Tensor& x, std::int64_t offset) {
  if (x.rank() == 2) return diagonal(x, offset);
  if (x.rank() != 1)
    throw ShapeError(str("diag cannot use ", x.shape()), "it wants a list or a matrix",
                     "use diagonal() for higher ranks");
  const std::int64_t n = x.size(0) + (offset < 0 ? -offset : offset);
  return undiagonal(x, {n, n}, offset, 0, 1);
}

}  // namespace veldt
