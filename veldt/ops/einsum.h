// Sums of products, written with subscripts.
// Tests: tests/support/op_rows_index.cpp, tests/ops/edges_test.cpp, tests/ops/lines_test.cpp
#pragma once

#include <string_view>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt {

// As torch.einsum: "bij,bjk->bik" names the dimensions of each tensor by letters, and those of the result;
// all other letters are summed over. A letter twice in one tensor takes its diagonal. "..." stands for
// leading dimensions, which broadcast. Without "->" the result has the letters that occur once in all terms
// together, in the order of the alphabet: "ii" is the trace. Tensors are joined from left to right, by matrix
// products. Throws ShapeError naming the subscript that does not fit.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& tensors);

}  // namespace veldt
