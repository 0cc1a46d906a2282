#include "veldt/core/shape.h"

#include <algorithm>

#include "veldt/core/error.h"

namespace veldt {

Shape::Shape(std::initializer_list<std::int64_t> sizes) {
  for (std::int64_t s : sizes) push_back(s);
}

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (std::int64_t s : sizes) push_back(s);
}

Shape Shape::filled(int rank, std::int64_t value) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(value);
  return s;
}

void Shape::push_back(std::int64_t size) {
  if (rank_ == kMaxRank)
    throw ShapeError(str("a tensor cannot have more than ", kMaxRank, " dimensions"),
                     str("one more than ", kMaxRank, " sizes were given"), "merge dimensions with reshape");
  sizes_[static_cast<std::size_t>(rank_++)] = size;
}

Shape Shape::without(int i) const {
  Shape s;
  for (int d = 0; d < rank_; ++d)
    if (d != i) s.push_back((*this)[d]);
  return s;
}

Shape Shape::with_inserted(int i, std::int64_t size) const {
  Shape s;
  for (int d = 0; d <= rank_; ++d) {
    if (d == i) s.push_back(size);
    if (d < rank_) s.push_back((*this)[d]);
  }
  return s;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << '[';
  for (int i = 0; i < shape.rank(); ++i) out << (i ? ", " : "") << shape[i];
  return out << ']';
}

std::int64_t numel(const Shape& shape) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  std::int64_t n = 1;
  bool overflow = false;
  for (std::int64_t s : shape) {
    if (s < 0)
      throw ShapeError(str("a shape cannot be ", shape), str("the size ", s, " is below zero"),
                       "give sizes of zero or more");
    if (s == 0) return 0;
    overflow = overflow || n > kLimit / s;
    if (!overflow) n *= s;
  }
  if (overflow)
    throw ShapeError(str("a tensor cannot be as large as ", shape), "its number of elements is beyond 2^62",
                     "check the sizes; if they came from a file, the file is damaged");
  return n;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  // Without elements nothing is walked, and the product of the other sizes may not fit.
  const bool nothing = std::find(shape.begin(), shape.end(), 0) != shape.end();
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    if (!nothing) step *= shape[i];
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

Shape broadcast(const Shape& a, const Shape& b, const char* op) {
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  Shape out = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t sa = i <= a.rank() ? a[a.rank() - i] : 1;
    const std::int64_t sb = i <= b.rank() ? b[b.rank() - i] : 1;
    if (sa != sb && sa != 1 && sb != 1)
      throw ShapeError(str(op, " cannot combine ", a, " with ", b),
                       str("the sizes ", sa, " and ", sb, " of dimension ", -i, " differ and neither is 1"),
                       "reshape one side so that each pair of sizes, from the right, is equal or holds a 1");
    out[rank - i] = sa == 1 ? sb : sa;
  }
  return out;
}

int wrap_dim(int dim, int rank, const char* op) {
  const int wrapped = dim < 0 ? dim + rank : dim;
  if (wrapped < 0 || wrapped >= rank)
    throw ShapeError(str(op, " has no dimension ", dim), str("the tensor has ", rank, " dimensions"),
                     str("give a dimension from ", -rank, " to ", rank - 1));
  return wrapped;
}

}  // namespace veldt
