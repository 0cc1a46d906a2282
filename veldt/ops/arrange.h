// Splits, joins and reorders tensors. All functions pass gradients.
// Tests: tests/support/op_rows_arrange.cpp, tests/ops/memory_order_test.cpp, tests/ops/error_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt {

// Pieces of `size` along dim, views, the last one shorter / at most `count` pieces of equal size.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int dim = 0);
std::vector<Tensor> chunk(const Tensor& x, std::int64_t count, int dim = 0);
// `length` positions from `begin` on, a view. Unlike slice it throws ShapeError beyond the size.
Tensor narrow(const Tensor& x, int dim, std::int64_t begin, std::int64_t length);
// The positions in reverse order along each of `dims`.
Tensor flip(const Tensor& x, const std::vector<int>& dims);
// Moves positions by `shift`; those beyond the end wrap to the start.
Tensor roll(const Tensor& x, std::int64_t shift, int dim);
// The whole tensor counts[d] times along dimension d; counts for leading new dimensions may come first.
Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts);
// Each element `count` times in a row.
Tensor repeat_interleave(const Tensor& x, std::int64_t count, int dim);
// Dimension `from` becomes dimension `to`, the others keep their order.
Tensor movedim(const Tensor& x, int from, int to);
// One dimension split into several; one size may be -1.
Tensor unflatten(const Tensor& x, int dim, const Shape& sizes);
// `value` around x: amounts before and after for the last dimension, then for the one before it, and so on.
// An amount below 0 removes elements.
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& amounts, double value = 0);
// The elements around x: 0; x mirrored at its first and last element, which are not repeated; these two
// repeated; x continued from its other end. Throws ShapeError if x is too small for that.
enum class PadMode : std::uint8_t { zeros, reflect, replicate, circular };
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& amounts, PadMode mode);
// [.., c r^2, h, w] -> [.., c, h r, w r] and back: channel c r^2 + i r + j holds the pixels (i, j) of each
// square of r by r (Shi et al. 2016). Throws ShapeError if the sizes do not fit such squares.
Tensor pixel_shuffle(const Tensor& x, std::int64_t r);
Tensor pixel_unshuffle(const Tensor& x, std::int64_t r);
// From n lists, n tensors that each vary along one dimension: result i is list i, repeated ("ij" indexing).
std::vector<Tensor> meshgrid(const std::vector<Tensor>& lists);

// Below / above a diagonal, zeros elsewhere; `offset` counts diagonals upwards from the main one.
Tensor tril(const Tensor& x, std::int64_t offset = 0);
Tensor triu(const Tensor& x, std::int64_t offset = 0);
// The diagonal of two dimensions, as a new last one. A view.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int dim1 = 0, int dim2 = 1);
// A list as the diagonal of a matrix of zeros; of a matrix its diagonal.
Tensor diag(const Tensor& x, std::int64_t offset = 0);

}  // namespace veldt
