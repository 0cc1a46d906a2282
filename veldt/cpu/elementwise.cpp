#include "veldt/cpu/elementwise.h"

#include <algorithm>
#include <cstring>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/kernels/convert.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements a task: about 10 us of the cheapest kernel
constexpr std::int64_t kStage = 256;      // elements of a stack buffer

// The views with dimensions merged where all operands allow it.
struct Walk {
  int count = 0;
  Shape shape;                    // never rank 0
  Strides strides[kMaxOperands];  // in elements
  char* data[kMaxOperands] = {};
  std::int64_t bytes[kMaxOperands] = {};
  DType half[kMaxOperands] = {};  // bf16 or f16 where the kernel wants floats instead, else f32
};

Walk merge(const View* const* views, int count, Halves halves) {
  Walk w;
  w.count = count;
  const Shape& shape = views[0]->shape;
  for (int k = 0; k < count; ++k) {
    w.data[k] = views[k]->as<char>();
    w.bytes[k] = static_cast<std::int64_t>(size_of(views[k]->dtype));
    if (halves == Halves::as_f32 && is_half(views[k]->dtype)) w.half[k] = views[k]->dtype;
  }
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    bool joins = w.shape.rank() > 0;
    for (int k = 0; joins && k < count; ++k) joins = w.strides[k].back() == views[k]->strides[d] * shape[d];
    if (joins) {
      const int last = w.shape.rank() - 1;
      w.shape[last] *= shape[d];
      for (int k = 0; k < count; ++k) w.strides[k][last] = views[k]->strides[d];
    } else {
      w.shape.push_back(shape[d]);
      for (int k = 0; k < count; ++k) w.strides[k].push_back(views[k]->strides[d]);
    }
  }
  if (w.shape.rank() == 0) {
    w.shape.push_back(1);
    for (int k = 0; k < count; ++k) w.strides[k].push_back(1);
  }
  return w;
}

template <class T> void gather_strided(const char* from, std::int64_t stride, char* to, std::int64_t n) {
  const T* f = reinterpret_cast<const T*>(from);
  T* t = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) t[i] = f[i * stride];
}

template <class T> void scatter_strided(const char* from, char* to, std::int64_t stride, std::int64_t n) {
  const T* f = reinterpret_cast<const T*>(from);
  T* t = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) t[i * stride] = f[i];
}

// Dense halves go eight at a time, which g++ turns into SIMD.
template <class Half> void widen(const char* from, std::int64_t stride, char* to, std::int64_t n) {
  const Half* __restrict f = reinterpret_cast<const Half*>(from);
  float* __restrict t = reinterpret_cast<float*>(to);
  std::int64_t i = 0;
  for (; stride == 1 && i + 8 <= n; i += 8)
    for (std::int64_t l = 0; l < 8; ++l) t[i + l] = scalar::load(f[i + l]);
  for (; i < n; ++i) t[i] = scalar::load(f[i * stride]);
}

template <class Half> void narrow(const char* from, char* to, std::int64_t stride, std::int64_t n) {
  const float* __restrict f = reinterpret_cast<const float*>(from);
  Half* __restrict t = reinterpret_cast<Half*>(to);
  std::int64_t i = 0;
  for (; stride == 1 && i + 8 <= n; i += 8)
    for (std::int64_t l = 0; l < 8; ++l) t[i + l] = scalar::store<Half>(f[i + l]);
  for (; i < n; ++i) t[i * stride] = scalar::store<Half>(f[i]);
}

void stage_in(const char* from, std::int64_t stride, std::int64_t bytes, DType half, char* to,
              std::int64_t n) {
  if (half == DType::bf16) return widen<scalar::BFloat16>(from, stride, to, n);
  if (half == DType::f16) return widen<scalar::Float16>(from, stride, to, n);
  switch (bytes) {
    case 1: return gather_strided<std::uint8_t>(from, stride, to, n);
    case 2: return gather_strided<std::uint16_t>(from, stride, to, n);
    case 4: return gather_strided<std::uint32_t>(from, stride, to, n);
    default: return gather_strided<std::uint64_t>(from, stride, to, n);
  }
}

void stage_out(const char* from, char* to, std::int64_t stride, std::int64_t bytes, DType half,
               std::int64_t n) {
  if (half == DType::bf16) return narrow<scalar::BFloat16>(from, to, stride, n);
  if (half == DType::f16) return narrow<scalar::Float16>(from, to, stride, n);
  switch (bytes) {
    case 1: return scatter_strided<std::uint8_t>(from, to, stride, n);
    case 2: return scatter_strided<std::uint16_t>(from, to, stride, n);
    case 4: return scatter_strided<std::uint32_t>(from, to, stride, n);
    default: return scatter_strided<std::uint64_t>(from, to, stride, n);
  }
}

// n elements of the innermost dimension, starting at `at`.
void run_row(const Walk& w, char* const* at, std::int64_t n, const RowKernel& kernel) {
  const int inner = w.shape.rank() - 1, out = w.count - 1;
  bool staged[kMaxOperands];
  bool any = false;
  for (int k = 0; k < w.count; ++k) {
    staged[k] = (w.strides[k][inner] != 1 && n > 1) || w.half[k] != DType::f32;
    any = any || staged[k];
  }
  if (!any) return kernel(at, n);
  alignas(64) char buffer[kMaxOperands][kStage * 8];
  for (std::int64_t i = 0; i < n; i += kStage) {
    const std::int64_t m = std::min(kStage, n - i);
    char* rows[kMaxOperands];
    for (int k = 0; k < w.count; ++k) {
      const std::int64_t stride = w.strides[k][inner];
      char* here = at[k] + i * stride * w.bytes[k];
      rows[k] = staged[k] ? buffer[k] : here;
      if (staged[k] && k != out && (stride != 0 || i == 0))
        stage_in(here, stride, w.bytes[k], w.half[k], buffer[k], m);
    }
    kernel(rows, m);
    if (staged[out])
      stage_out(buffer[out], at[out] + i * w.strides[out][inner] * w.bytes[out], w.strides[out][inner],
                w.bytes[out], w.half[out], m);
  }
}

// Rows first..last of the outer dimensions, elements begin..end of each.
void run_rows(const Walk& w, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
              const RowKernel& kernel) {
  const int inner = w.shape.rank() - 1;
  for (std::int64_t row = first; row < last; ++row) {
    char* at[kMaxOperands];
    for (int k = 0; k < w.count; ++k) at[k] = w.data[k] + begin * w.strides[k][inner] * w.bytes[k];
    std::int64_t rest = row;
    for (int d = inner - 1; d >= 0; --d) {
      const std::int64_t i = rest % w.shape[d];
      rest /= w.shape[d];
      for (int k = 0; k < w.count; ++k) at[k] += i * w.strides[k][d] * w.bytes[k];
    }
    run_row(w, at, end - begin, kernel);
  }
}

// True if a kernel can read all of the memory as it lies.
bool all_dense(const View* const* views, int count, Halves halves) {
  for (int k = 0; k < count; ++k)
    if (!is_contiguous(views[k]->shape, views[k]->strides) ||
        (halves == Halves::as_f32 && is_half(views[k]->dtype)))
      return false;
  return true;
}

}  // namespace

void check_elementwise(DType t) {
  if (!is_float(t))
    throw DeviceError(str("the cpu cannot compute this elementwise op on ", t), "it has kernels for floats",
                      "convert the tensor: to(x, DType::f32)");
}

void for_each_row(const View* const* views, int count, const RowKernel& kernel, Halves halves) {
  const std::int64_t total = numel(views[0]->shape);
  if (total == 0) return;
  if (total <= kGrain && all_dense(views, count, halves)) {  // what small networks do all the time
    char* at[kMaxOperands];
    for (int k = 0; k < count; ++k) at[k] = views[k]->as<char>();
    return kernel(at, total);
  }
  const Walk w = merge(views, count, halves);
  const std::int64_t inner = w.shape.back(), outer = total / inner;
  if (outer == 1) {
    parallel_for(inner, kGrain, [&](std::int64_t b, std::int64_t e) { run_rows(w, 0, 1, b, e, kernel); });
  } else {
    const std::int64_t rows = std::max<std::int64_t>(1, kGrain / inner);
    parallel_for(outer, rows, [&](std::int64_t b, std::int64_t e) { run_rows(w, b, e, 0, inner, kernel); });
  }
}

}  // namespace veldt::cpu
