// oneDNN behind a few functions: the fastest f32 matrix product for all except the smallest and the skinniest
// shapes, and f32 convolutions.
// Tests: tests/cpu/matmul_test.cpp, tests/cpu/convolution_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/convolution.h"
#include "veldt/cpu/gemm.h"

namespace veldt::cpu {

// c[m, n] = a[m, k] b[k, n], plus c itself with `add`, plus `row_bias` [n] on every row unless it is null
// (never both). Returns false and does nothing if oneDNN cannot do it: it is not built in, it has none for
// this processor, or it cannot read an operand's layout.
bool onednn_matmul(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a,
                   Matrix<const float> b, const float* row_bias, Matrix<float> c, bool add);

// The part of a convolution from the two others; the bias, or null, is for y. Returns false and does nothing
// if oneDNN cannot do it.
bool onednn_convolve(const ConvSizes& sizes, ConvPart part, float* x, float* w, const float* bias, float* y);

// The same for the entry convolve_frozen, over two spatial dimensions and with channels last; `bias` and
// `added` may be null.
bool onednn_convolve_frozen(const FrozenConv& convolution, const ConvSizes& sizes, const float* x,
                            const float* w, const float* bias, const float* added, float* y);
// Whether it is there for this processor, and right.
bool onednn_freezes();

}  // namespace veldt::cpu
