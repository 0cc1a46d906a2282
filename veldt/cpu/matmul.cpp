// Matrix products: chooses the kernel for each shape. Measured on a Zen 4 and a Sapphire Rapids, f32: small
// ones are computed without packing, skinny ones by gemm_skinny, layers with large batches by Veldt's gemm,
// the rest by oneDNN if it is built in and can read the operands; f64 and everything else by Veldt's gemm.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/onednn.h"
#include "veldt/kernels/binary-inl.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kTiny = 1 << 9;    // multiplications: fewer than a call of a larger kernel costs
constexpr std::int64_t kNear = 1 << 13;   // elements of all three matrices that the L1 cache holds
constexpr std::int64_t kLarge = 1 << 20;  // multiplications worth splitting among all threads
constexpr std::int64_t kGrain = 1 << 16;  // multiplications a task, for a batch of smaller products

template <class T> struct Product {
  std::int64_t m, n, k;
  Matrix<const T> a, b;
  Matrix<T> c;
  const T* bias;  // null, or element (0, 0) of [m, n] with these strides:
  std::int64_t bias_row, bias_col;
};

template <class T>
Product<T> product(const View& a, const View& b, const View* bias, const View& out, std::int64_t i) {
  const auto matrix = [i]<class U>(const View& v, U*) -> Matrix<U> {
    return {v.as<U>() + i * v.strides[0], v.strides[1], v.strides[2]};
  };
  Product<T> p = {out.shape[1],
                  out.shape[2],
                  a.shape[2],
                  matrix(a, static_cast<const T*>(nullptr)),
                  matrix(b, static_cast<const T*>(nullptr)),
                  matrix(out, static_cast<T*>(nullptr)),
                  nullptr,
                  0,
                  0};
  if (bias) {
    p.bias = bias->as<const T>() + i * bias->strides[0];
    p.bias_row = bias->strides[1];
    p.bias_col = bias->strides[2];
  }
  return p;
}

template <class T> void multiply_tiny(const Product<T>& p) {
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = p.bias ? p.bias[i * p.bias_row + j * p.bias_col] : T(0);
      for (std::int64_t q = 0; q < p.k; ++q) sum += p.a.at(i, q) * p.b.at(q, j);
      p.c.at(i, j) = sum;
    }
}

// The bias, to which the product is then added.
template <class T> void start_from_bias(const Product<T>& p) {
  const std::int64_t rows = std::max<std::int64_t>(1, kGrain / p.n);
  parallel_for(p.m, rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) p.c.at(i, j) = p.bias[i * p.bias_row + j * p.bias_col];
  });
}

bool is_skinny(std::int64_t m, std::int64_t n) { return std::min(m, n) <= 4; }

// Many rows of a in place, and panels of b that stay in the L1 cache: layers with large batches, where
// Veldt's gemm prefetches rows and writes c once. Without a bias oneDNN is faster with registers of 64 bytes.
template <class T> bool is_layer(const Product<T>& p) {
  constexpr std::int64_t kPanel = 32 << 10;  // bytes
  const auto width = panel_width(T()), bytes = width * static_cast<std::int64_t>(sizeof(T));
  return p.m >= 512 && p.n >= 32 && p.k * bytes <= kPanel && p.a.col == 1 && p.c.col == 1 &&
         (p.bias || bytes < 128);
}

template <class T> void multiply_wide(const Product<T>& p) {
  if (p.m * p.n * p.k <= kTiny) return multiply_tiny(p);
  if (!is_skinny(p.m, p.n) && (!p.bias || (p.bias_row == 0 && p.bias_col == 1 && p.c.col == 1))) {
    const std::int64_t elements = p.m * p.k + p.k * p.n + p.m * p.n;
    if (!p.bias && elements <= kNear && gemm_in_place(p.m, p.n, p.k, p.a, p.b, p.c)) return;
    if constexpr (sizeof(T) == sizeof(float))
      if (!is_layer(p) && onednn_matmul(p.m, p.n, p.k, p.a, p.b, p.bias, p.c, false)) return;
    return gemm(p.m, p.n, p.k, p.a, p.b, p.c, false, p.bias);
  }
  const bool add = p.bias != nullptr;
  if (add) start_from_bias(p);
  if (gemm_skinny(p.m, p.n, p.k, p.a, p.b, p.c, add)) return;
  if constexpr (sizeof(T) == sizeof(float))
    if (onednn_matmul(p.m, p.n, p.k, p.a, p.b, nullptr, p.c, add)) return;
  gemm(p.m, p.n, p.k, p.a, p.b, p.c, add);
}

template <class T> std::vector<float> floats_of(Matrix<const T> x, std::int64_t rows, std::int64_t columns) {
  std::vector<float> to(static_cast<std::size_t>(rows * columns));
  float* next = to.data();
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) *next++ = scalar::load(x.at(i, j));
  return to;
}

// A product of halves: large operands are read directly, everything else is floats, and each sum is rounded
// once.
template <class T> void multiply_halves(const Product<T>& p) {
  if (p.n > p.m)  // c^T = b^T a^T
    return multiply_halves(Product<T>{p.n, p.m, p.k, p.b.transposed(), p.a.transposed(), p.c.transposed(),
                                      p.bias, p.bias_col, p.bias_row});
  const bool add = p.bias != nullptr;
  const std::vector<float> b = floats_of(p.b, p.k, p.n);
  std::vector<float> c = add ? floats_of(Matrix<const T>{p.bias, p.bias_row, p.bias_col}, p.m, p.n)
                             : std::vector<float>(static_cast<std::size_t>(p.m * p.n));
  const Matrix<const float> right{b.data(), p.n, 1};
  const Matrix<float> sums{c.data(), p.n, 1};
  if (!gemm_skinny(p.m, p.n, p.k, p.a, right, sums, add)) {
    const std::vector<float> a = floats_of(p.a, p.m, p.k);
    gemm(p.m, p.n, p.k, {a.data(), p.k, 1}, right, sums, add);
  }
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) p.c.at(i, j) = scalar::store<T>(sums.at(i, j));
}

template <class T> void multiply(const Product<T>& p) {
  if constexpr (sizeof(T) == 2)
    multiply_halves(p);
  else
    multiply_wide(p);
}

// A batch that shares b and is stored like one tall matrix is one product.
template <class T>
bool fold_batch(const View& a, const View& b, const View* bias, const View& out, Product<T>& p) {
  const auto stacks = [](const View& v) { return v.strides[0] == v.shape[1] * v.strides[1]; };
  if (b.strides[0] != 0 || !stacks(a) || !stacks(out) || (bias && !stacks(*bias))) return false;
  p.m *= out.shape[0];
  return true;
}

// Columns times rows: each element is one product without a sum.
void multiply_elements(View a, View b, const View& out) {
  a.shape = b.shape = out.shape;
  a.strides[2] = b.strides[1] = 0;
  binary(IndexOf<scalar::Mul, scalar::BinaryOps>::value, a, b, out);
}

template <class T> void run(const View& a, const View& b, const View* bias, const View& out) {
  const std::int64_t batch = out.shape[0];
  if (a.shape[2] == 1 && !bias && numel(out.shape) > kTiny) return multiply_elements(a, b, out);
  Product<T> first = product<T>(a, b, bias, out, 0);
  if (batch == 1 || fold_batch(a, b, bias, out, first)) return multiply(first);
  const std::int64_t work = first.m * first.n * std::max<std::int64_t>(1, first.k);
  if (work >= kLarge) {
    for (std::int64_t i = 0; i < batch; ++i) multiply(product<T>(a, b, bias, out, i));
    return;
  }
  parallel_for(batch, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) multiply(product<T>(a, b, bias, out, i));
  });
}

}  // namespace

void matmul(const View& a, const View& b, const View* bias, const View& out) {
  if (numel(out.shape) == 0) return;
  if (a.dtype == DType::f32) return run<float>(a, b, bias, out);
  if (a.dtype == DType::f64) return run<double>(a, b, bias, out);
  if (a.dtype == DType::bf16) return run<scalar::BFloat16>(a, b, bias, out);
  run<scalar::Float16>(a, b, bias, out);
}

// Halves, if a conversion would take longer than the product: a matrix and a few columns or rows.
bool multiplies(DType dtype, std::int64_t m, std::int64_t n) {
  return dtype == DType::f32 || dtype == DType::f64 ||
         (is_half(dtype) && is_skinny(m, n) && std::max(m, n) > 4);
}

}  // namespace veldt::cpu
