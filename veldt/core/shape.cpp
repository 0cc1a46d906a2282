// Broadcasting, and shapes as text.
#include "veldt/core/shape.h"

#include "veldt/core/error.h"

namespace veldt {

void Shape::refuse_rank() {
  throw ShapeError(str("a tensor cannot have more than ", kMaxRank, " dimensions"),
                   str("one more than ", kMaxRank, " sizes were given"), "merge dimensions with reshape");
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

std::int64_t numel_checked(const Shape& shape) {
  std::int64_t n = 1;
  bool overflow = false;
  for (std::int64_t s : shape) {
    if (s < 0)
      throw ShapeError(str("a shape cannot be ", shape), str("the size ", s, " is below zero"),
                       "give sizes of zero or more");
    if (s == 0) return 0;
    overflow = overflow || n > kMaxNumel / s;
    if (!overflow) n *= s;
  }
  if (overflow)
    throw ShapeError(str("a tensor cannot be as large as ", shape), "its number of elements is beyond 2^62",
                     "check the sizes; if they came from a file, the file is damaged");
  return n;
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
    throw ShapeError(
        str(op, " has no dimension ", dim), str("the tensor has ", rank, " dimensions"),
        rank == 0 ? "reshape it to [1] first" : str("give a dimension from ", -rank, " to ", rank - 1));
  return wrapped;
}

}  // namespace veldt
