// Turns views into the walk that elementwise kernels take.
#include "veldt/cuda/elementwise.h"

#include <algorithm>

namespace veldt::cuda {
namespace {

// Whether view k's elements come in fours, each read by one access, or are one and the same.
bool comes_in_fours(const ElementWalk& w, int k, const View& v, bool written) {
  const int inner = w.rank - 1;
  if (!written && w.strides[k][inner] == 0) return true;
  const std::size_t bytes = std::min<std::size_t>(4 * size_of(v.dtype), 16);
  if (w.strides[k][inner] != 1 || reinterpret_cast<std::uintptr_t>(v.data) % bytes != 0) return false;
  return std::all_of(w.strides[k], w.strides[k] + inner, [](std::int64_t s) { return s % 4 == 0; });
}

}  // namespace

Divider divider_of(std::int64_t divisor) {
  std::uint32_t shift = 0;
  while (std::int64_t{1} << shift < divisor) ++shift;
  const std::uint64_t d = static_cast<std::uint64_t>(divisor), power = std::uint64_t{1} << shift;
  return {static_cast<std::uint32_t>(((power - d) << 32) / d + 1), shift};
}

ElementWalk walk_of(std::initializer_list<const View*> list) {
  const View* const* const views = list.begin();
  const int count = static_cast<int>(list.size());
  ElementWalk w;
  const Shape& shape = views[0]->shape;
  w.count = numel(shape);
  for (int d = 0; d < shape.rank(); ++d)
    if (shape[d] != 1) w.push(shape[d], count, [&](int k) { return views[k]->strides[d]; });
  if (w.rank == 0) {  // one element, wherever it is
    w.sizes[w.rank++] = 1;
    for (int k = 0; k < count; ++k) w.strides[k][0] = 1;
  }
  w.contiguous =
      w.rank == 1 && std::all_of(w.strides, w.strides + count, [](const auto& of) { return of[0] == 1; });
  w.small = w.count < std::int64_t{1} << 31;
  for (int d = 0; w.small && w.count > 0 && d < w.rank; ++d) w.dividers[d] = divider_of(w.sizes[d]);
  bool fours = w.rank == 1 || w.sizes[w.rank - 1] % 4 == 0;
  for (int k = 0; fours && k < count; ++k) fours = comes_in_fours(w, k, *views[k], k == count - 1);
  if (fours) w.fours = w.count / 4;
  return w;
}

}  // namespace veldt::cuda
