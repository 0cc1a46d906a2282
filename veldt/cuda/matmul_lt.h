// Large matrix products, and all of halves, by cublasLt.
// Tests: tests/cuda/matmul_test.cpp
#pragma once

#include "veldt/core/view.h"

namespace veldt::cuda {

// Whether the library multiplies matrices of this dtype here: f32 and f64 in their own precision, bf16 and
// f16 summed in f32 and rounded once.
bool lt_multiplies(DType dtype);

// As Backend::matmul. False, with nothing done, for what the library does not take, or what is not worth it:
// products of f32 and f64 that are small, or of views that are no matrices to it.
bool lt_matmul(const View& a, const View& b, const View* bias, const View& out);

}  // namespace veldt::cuda
