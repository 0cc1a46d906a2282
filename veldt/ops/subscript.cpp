// The brackets of a tensor, x[i] and x(i, j), and assignment to what they give: select(), slice() and
// assign().
#include "veldt/core/error.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/scalar.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/tensor.h"

namespace veldt {
namespace {

Tensor sliced(const Tensor& x, int dim, const Slice& s) {
  // A copy would take what is assigned to it, and x would stay as it is.
  if (s.step < 1)
    throw ShapeError(str("cannot view ", x.shape(), " in steps of ", s.step), "a view goes forward",
                     "copy with slice() or flip()");
  return slice(x, dim, s.begin.value_or(0), s.end.value_or(x.size(dim)), s.step);
}

}  // namespace

Tensor Tensor::operator[](const Position& position) const { return at({position}); }

Tensor Tensor::at(std::initializer_list<Position> positions) const {
  if (static_cast<int>(positions.size()) > rank())
    throw ShapeError(str("cannot take ", positions.size(), " positions of ", shape()),
                     str("it has ", rank(), " dimension(s)"), "give at most one position for each dimension");
  Tensor out = *this;
  int dim = 0;
  for (const Position& p : positions)
    if (p.is_slice()) {
      out = sliced(out, dim++, p.slice());
    } else {
      out = select(out, dim, p.at());
    }
  return out;
}

void Tensor::operator=(const Tensor& source) && {
  if (source.requires_grad() && grad_enabled())
    throw Error("what is written into a part of a tensor has no gradient", "the source requires one",
                "build the tensor with cat(), stack(), where() or scatter(), or write source.detach()");
  assign(source.shape() == shape() ? source : expand(source.detach(), shape()));
}

void Tensor::operator=(const Scalar& value) && {
  assign(expand(constant(value, value.beside(dtype()), device()), shape()));
}

}  // namespace veldt
