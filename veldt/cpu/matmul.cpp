// Matrix products: chooses the kernel for each shape.
#include <cstdint>

#include "veldt/core/error.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/kernels.h"

namespace veldt::cpu {
namespace {

template <class T>
Matrix<T> matrix(const View& v, std::int64_t batch) {
  return {v.as<T>() + batch * v.strides[0], v.strides[1], v.strides[2]};
}

template <class T>
void run(const View& a, const View& b, const View* bias, const View& out, Stream stream) {
  if (bias) copy(*bias, out, stream);
  const std::int64_t m = out.shape[1], n = out.shape[2], k = a.shape[2];
  for (std::int64_t i = 0; i < out.shape[0]; ++i)
    gemm(m, n, k, matrix<const T>(a, i), matrix<const T>(b, i), matrix<T>(out, i), bias != nullptr);
}

}  // namespace

void matmul(const View& a, const View& b, const View* bias, const View& out, Stream stream) {
  if (numel(out.shape) == 0) return;
  if (a.dtype == DType::f32) return run<float>(a, b, bias, out, stream);
  if (a.dtype == DType::f64) return run<double>(a, b, bias, out, stream);
  throw DeviceError(str("the cpu cannot multiply matrices of ", a.dtype), "it has kernels for f32 and f64",
                    "convert both to f32");
}

}  // namespace veldt::cpu
