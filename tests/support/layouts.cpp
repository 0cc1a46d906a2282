// Lays the same numbers out transposed, stepped, at an offset, padded or repeated, with poison in the gaps.
#include "tests/support/layouts.h"

#include <algorithm>
#include <limits>

namespace veldt::test {
namespace {

Tensor poisoned(std::int64_t n, DType dtype) {
  const Tensor t = empty({n}, dtype);
  const double gap = is_float(dtype) ? std::numeric_limits<double>::quiet_NaN() : 0;
  write_into(t, build({n}, [&](const Shape&) { return gap; }));
  return t;
}

// A view of fresh memory: `step` elements apart in dimensions taken in `order`, innermost last, with `gap`
// more elements after each row, `offset` elements in.
Tensor strided(const Shape& shape, DType dtype, bool column_major, std::int64_t step, std::int64_t gap,
               std::int64_t offset) {
  Strides strides = shape;
  std::int64_t next = step;
  for (int i = 0; i < shape.rank(); ++i) {
    const int d = column_major ? i : shape.rank() - 1 - i;
    strides[d] = next;
    next = next * std::max<std::int64_t>(shape[d], 1) + (i == 0 ? gap : 0);
  }
  return poisoned(offset + next, dtype).alias(shape, strides, offset);
}

Tensor repeated(const Values& values, DType dtype, int dim) {
  if (values.shape.rank() == 0 || values.shape[dim] == 0) return write(values, dtype);
  Shape first = values.shape;
  first[dim] = 1;
  const Tensor base = write(build(first, [&](const Shape& index) { return values.at(index); }), dtype);
  Strides strides = base.strides();
  strides[dim] = 0;
  return base.alias(values.shape, strides, 0);
}

}  // namespace

const std::vector<Layout>& own_memory_layouts() {
  static const std::vector<Layout> list = {Layout::contiguous, Layout::transposed, Layout::stepped,
                                           Layout::offset, Layout::padded};
  return list;
}

const std::vector<Layout>& all_layouts() {
  static const std::vector<Layout> list = [] {
    std::vector<Layout> l = own_memory_layouts();
    l.push_back(Layout::repeated_first);
    l.push_back(Layout::repeated_last);
    return l;
  }();
  return list;
}

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::contiguous: return "contiguous";
    case Layout::transposed: return "transposed";
    case Layout::stepped: return "stepped";
    case Layout::offset: return "offset";
    case Layout::padded: return "padded";
    case Layout::repeated_first: return "repeated_first";
    case Layout::repeated_last: return "repeated_last";
  }
  return "?";
}

Tensor lay_out(const Values& values, DType dtype, Layout layout) {
  Tensor t;
  switch (layout) {
    case Layout::contiguous: return write(values, dtype);
    case Layout::transposed: t = strided(values.shape, dtype, true, 1, 0, 0); break;
    case Layout::stepped: t = strided(values.shape, dtype, false, 2, 0, 1); break;
    case Layout::offset: t = strided(values.shape, dtype, false, 1, 0, 3); break;
    case Layout::padded: t = strided(values.shape, dtype, false, 1, 5, 0); break;
    case Layout::repeated_first: return repeated(values, dtype, 0);
    case Layout::repeated_last: return repeated(values, dtype, values.shape.rank() - 1);
  }
  write_into(t, values);
  return t;
}

}  // namespace veldt::test
