// Veldt's own matrix product, for f32 and f64 and any strides. matmul.cpp decides when it is used.
// Tests: tests/cpu/matmul_test.cpp
#pragma once

#include <cstdint>

#include "veldt/kernels/convert.h"

namespace veldt::cpu {

// A matrix in memory: element (i, j) is data[i * row + j * col].
template <class T> struct Matrix {
  T* data;
  std::int64_t row, col;

  T& at(std::int64_t i, std::int64_t j) const { return data[i * row + j * col]; }
  Matrix transposed() const { return {data, col, row}; }
};

// The part of a matrix that begins at (i, j).
template <class T> Matrix<T> from(Matrix<T> x, std::int64_t i, std::int64_t j) {
  return {&x.at(i, j), x.row, x.col};
}

// c[m, n] = a[m, k] b[k, n], or c += a b with `add`; or the sums of each column begin with its `bias`. The
// bits do not depend on the number of threads.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
          Matrix<float> c, bool add, const float* bias = nullptr);
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b,
          Matrix<double> c, bool add, const double* bias = nullptr);

// c = a b on this thread, without packing: for matrices that fit in the L1 cache. Rows of b and c must be
// dense and whole registers; otherwise returns false and does nothing.
bool gemm_in_place(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a,
                   Matrix<const float> b, Matrix<float> c);
bool gemm_in_place(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a,
                   Matrix<const double> b, Matrix<double> c);

// Columns of b [k, n] as the tiles of products read them, [n / width][k][width], the last panel filled up
// with zeros: `to` has room for round_up(n, width) k. For kernels that multiply by one matrix repeatedly.
std::int64_t panel_width(float);
std::int64_t panel_width(double);
void pack_panels(std::int64_t n, std::int64_t k, Matrix<const float> b, float* to);
void pack_panels(std::int64_t n, std::int64_t k, Matrix<const double> b, double* to);

// The same as gemm if m or n is at most 4 and the memory layout is suitable; otherwise returns false and does
// nothing.
bool gemm_skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
                 Matrix<float> c, bool add);
bool gemm_skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a,
                 Matrix<const double> b, Matrix<double> c, bool add);

// The same for halves times at most four columns of floats.
bool gemm_skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const scalar::BFloat16> a,
                 Matrix<const float> b, Matrix<float> c, bool add);
bool gemm_skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const scalar::Float16> a,
                 Matrix<const float> b, Matrix<float> c, bool add);

}  // namespace veldt::cpu
