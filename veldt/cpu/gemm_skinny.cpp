// Matrix products that are bound by memory: one side has at most four columns, as in the last layer of a
// neural field and in the gradients of its first and last one. General kernels
// spend their time packing there.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/gemm_skinny.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/register_tile-inl.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/stage.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The last n % lanes elements of a row, the other lanes 0. Never reads outside the row.
template <class T> HWY_INLINE hn::Vec<hn::ScalableTag<T>> last_elements(const T* row, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), rest = n % lanes;
  HWY_ALIGN T buffer[hn::MaxLanes(d)] = {};
  std::copy(row + n - rest, row + n, buffer);
  return hn::Load(d, buffer);
}

// b [k, n] to [k / lanes][n][lanes], filled up with zeros: the order in which `dots` reads it.
template <class T> void pack_columns(std::int64_t n, std::int64_t k, Matrix<const T> b, T* to) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (std::int64_t p = 0; p < k; p += lanes)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t l = 0; l < lanes; ++l) *to++ = p + l < k ? b.at(p + l, j) : T(0);
}

// The N dot products of each row of a [rows, k], dense along k, with the columns of b. Four rows at a time
// share the loads of b.
template <int N, class T>
HWY_INLINE void dots(std::int64_t rows, std::int64_t k, Matrix<const T> a, const T* b, Matrix<T> c,
                     bool add) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < rows; i += 4) {
    const std::int64_t count = std::min<std::int64_t>(4, rows - i);
    // Beyond the end: the last row again.
    const T *x0 = a.data + i * a.row, *x1 = x0 + std::min<std::int64_t>(1, count - 1) * a.row;
    const T *x2 = x0 + std::min<std::int64_t>(2, count - 1) * a.row, *x3 = x0 + (count - 1) * a.row;
    RegisterRow<T, N> s0, s1, s2, s3;
    std::int64_t p = 0;
    for (; p + lanes <= k; p += lanes) {
      const RegisterRow<T, N> columns(b + p * N);
      s0.add_scaled(hn::LoadU(d, x0 + p), columns);
      s1.add_scaled(hn::LoadU(d, x1 + p), columns);
      s2.add_scaled(hn::LoadU(d, x2 + p), columns);
      s3.add_scaled(hn::LoadU(d, x3 + p), columns);
    }
    if (p < k) {
      const RegisterRow<T, N> columns(b + p * N);
      s0.add_scaled(last_elements(x0, k), columns);
      s1.add_scaled(last_elements(x1, k), columns);
      s2.add_scaled(last_elements(x2, k), columns);
      s3.add_scaled(last_elements(x3, k), columns);
    }
    T sums[4 * N];
    s0.store_sums(sums);
    s1.store_sums(sums + N);
    s2.store_sums(sums + 2 * N);
    s3.store_sums(sums + 3 * N);
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t j = 0; j < N; ++j)
        c.at(i + r, j) = add ? c.at(i + r, j) + sums[r * N + j] : sums[r * N + j];
  }
}

// The product of two lists, in four independent sums.
template <class T> T dot(std::int64_t n, const T* a, const T* b) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto at = [&](std::int64_t i, auto sum)
                      HWY_ATTR { return hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum); };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = at(i, s0);
    s1 = at(i + lanes, s1);
    s2 = at(i + 2 * lanes, s2);
    s3 = at(i + 3 * lanes, s3);
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// sums[c, j] += over r of w(r, c) x(r, j), for N rows c and `Wide` registers of neighbouring j.
template <int N, int Wide, class T>
HWY_INLINE void weighted_block(std::int64_t rows, const T* x, std::int64_t stride, Matrix<const T> w, T* sums,
                               std::int64_t sums_stride) {
  RegisterTile<T, N, Wide> sum;
  for (std::int64_t r = 0; r < rows; ++r)
    sum.add_outer(w.data + r * w.row, w.col, RegisterRow<T, Wide>(x + r * stride));
  sum.add_to(sums, sums_stride);
}

// The same for any number of columns. `rows` is at most kMaxRows.
inline constexpr std::int64_t kMaxRows = 256;
template <int N, class T>
HWY_INLINE void weighted(std::int64_t rows, std::int64_t cols, const T* x, std::int64_t stride,
                         Matrix<const T> w, T* sums) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr int kRegisters = HWY_TARGET <= HWY_AVX3 ? 24 : 12;  // of 32 or 16; the others hold x and w
  constexpr int kWide = kRegisters / N >= 8 ? 8 : kRegisters / N >= 4 ? 4 : 2;
  std::int64_t j = 0;
  for (; j + kWide * lanes <= cols; j += kWide * lanes)
    weighted_block<N, kWide>(rows, x + j, stride, w, sums + j, cols);
  for (; j + lanes <= cols; j += lanes) weighted_block<N, 1>(rows, x + j, stride, w, sums + j, cols);
  if (j == cols) return;
  HWY_ALIGN T tail[kMaxRows * hn::MaxLanes(d)] = {}, tail_sums[N * hn::MaxLanes(d)] = {};
  for (std::int64_t r = 0; r < rows; ++r)
    std::copy(x + r * stride + j, x + r * stride + cols, tail + r * lanes);
  weighted_block<N, 1>(rows, tail, lanes, w, tail_sums, lanes);
  for (int c = 0; c < N; ++c)
    for (std::int64_t i = j; i < cols; ++i) sums[c * cols + i] += tail_sums[c * lanes + i - j];
}

template <class T>
void dots_of(std::int64_t n, std::int64_t rows, std::int64_t k, Matrix<const T> a, const T* b, Matrix<T> c,
             bool add) {
  if (n == 1) return dots<1>(rows, k, a, b, c, add);
  if (n == 2) return dots<2>(rows, k, a, b, c, add);
  if (n == 3) return dots<3>(rows, k, a, b, c, add);
  return dots<4>(rows, k, a, b, c, add);
}
template <class T>
void weighted_of(std::int64_t n, std::int64_t rows, std::int64_t cols, const T* x, std::int64_t stride,
                 Matrix<const T> w, T* sums) {
  if (n == 1) return weighted<1>(rows, cols, x, stride, w, sums);
  if (n == 2) return weighted<2>(rows, cols, x, stride, w, sums);
  if (n == 3) return weighted<3>(rows, cols, x, stride, w, sums);
  return weighted<4>(rows, cols, x, stride, w, sums);
}

void dots_f32(std::int64_t n, std::int64_t rows, std::int64_t k, Matrix<const float> a, const float* b,
              Matrix<float> c, bool add) {
  dots_of(n, rows, k, a, b, c, add);
}
void dots_f64(std::int64_t n, std::int64_t rows, std::int64_t k, Matrix<const double> a, const double* b,
              Matrix<double> c, bool add) {
  dots_of(n, rows, k, a, b, c, add);
}
float dot_f32(std::int64_t n, const float* a, const float* b) { return dot(n, a, b); }
double dot_f64(std::int64_t n, const double* a, const double* b) { return dot(n, a, b); }
void pack_columns_f32(std::int64_t n, std::int64_t k, Matrix<const float> b, float* to) {
  pack_columns(n, k, b, to);
}
void pack_columns_f64(std::int64_t n, std::int64_t k, Matrix<const double> b, double* to) {
  pack_columns(n, k, b, to);
}
void weighted_f32(std::int64_t n, std::int64_t rows, std::int64_t cols, const float* x, std::int64_t stride,
                  Matrix<const float> w, float* sums) {
  weighted_of(n, rows, cols, x, stride, w, sums);
}
void weighted_f64(std::int64_t n, std::int64_t rows, std::int64_t cols, const double* x, std::int64_t stride,
                  Matrix<const double> w, double* sums) {
  weighted_of(n, rows, cols, x, stride, w, sums);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(dots_f32);
VELDT_EXPORT(dots_f64);
VELDT_EXPORT(dot_f32);
VELDT_EXPORT(dot_f64);
VELDT_EXPORT(pack_columns_f32);
VELDT_EXPORT(pack_columns_f64);
VELDT_EXPORT(weighted_f32);
VELDT_EXPORT(weighted_f64);

constexpr std::int64_t kGrain = 1 << 15;  // elements of the large operand a task
constexpr std::int64_t kPiece = 1 << 12;  // elements of a dot product that are added in T
constexpr std::int64_t kSlab = 256;       // rows summed up before they are added to the rest (N_*::kMaxRows)
constexpr std::int64_t kPadding = 16;     // elements of the widest register

template <class T> auto dots_kernel() {
  if constexpr (sizeof(T) == 4)
    return VELDT_DISPATCH(dots_f32);
  else
    return VELDT_DISPATCH(dots_f64);
}
template <class T> auto dot_kernel() {
  if constexpr (sizeof(T) == 4)
    return VELDT_DISPATCH(dot_f32);
  else
    return VELDT_DISPATCH(dot_f64);
}
template <class T> auto pack_kernel() {
  if constexpr (sizeof(T) == 4)
    return VELDT_DISPATCH(pack_columns_f32);
  else
    return VELDT_DISPATCH(pack_columns_f64);
}
template <class T> auto weighted_kernel() {
  if constexpr (sizeof(T) == 4)
    return VELDT_DISPATCH(weighted_f32);
  else
    return VELDT_DISPATCH(weighted_f64);
}

Stage::Convert widening(scalar::BFloat16) { return stage().widen_bf16; }
Stage::Convert widening(scalar::Float16) { return stage().widen_f16; }

// Calls of(rows, their distance, first, count) for rows begin..end of `width` neighbours: all at once in
// place, or for halves as many as fit in the L1 cache as floats; a multiple of four.
template <class T, class S, class Of>
void for_rows(const S* rows, std::int64_t step, std::int64_t width, std::int64_t begin, std::int64_t end,
              const Of& of) {
  if constexpr (std::is_same_v<T, S>) {
    of(rows + begin * step, step, begin, end - begin);
  } else {
    constexpr std::int64_t kElements = 1 << 13;
    const std::int64_t most = std::max<std::int64_t>(4, kElements / width / 4 * 4);
    const Stage::Convert widen = widening(S());
    thread_local Room<T> room;
    T* const wide = room.of(most * width, "a product");
    for (std::int64_t i = begin; i < end; i += most) {
      const std::int64_t count = std::min(most, end - i);
      for (std::int64_t r = 0; r < count; ++r) widen(rows + (i + r) * step, wide + r * width, width);
      of(wide, width, i, count);
    }
    room.trim();
  }
}

template <class T, class S>
void by_dots(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const S> a, Matrix<const T> b,
             Matrix<T> c, bool add) {
  const std::int64_t padded = (k + kPadding - 1) / kPadding * kPadding;
  std::vector<T> columns(static_cast<std::size_t>(n * padded));
  pack_kernel<T>()(n, k, b, columns.data());
  const auto kernel = dots_kernel<T>();
  parallel_for(m, std::max<std::int64_t>(1, kGrain / k), [&](std::int64_t begin, std::int64_t end) {
    for_rows<T>(
        a.data, a.row, k, begin, end,
        [&](const T* rows, std::int64_t step, std::int64_t first, std::int64_t count) {
          kernel(n, count, k, {rows, step, 1}, columns.data(), {c.data + first * c.row, c.row, c.col}, add);
        });
  });
}

// k is long and memory runs along m: each piece of k gives a partial [n, m], and these are added in order.
template <class T, class S>
void by_weighted_rows(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const S> a, Matrix<const T> b,
                      Matrix<T> c, bool add) {
  const std::int64_t piece = std::max<std::int64_t>(1, kGrain / (m * kSlab)) * kSlab;
  const std::int64_t pieces = (k + piece - 1) / piece;
  std::vector<T> partials(static_cast<std::size_t>(pieces * n * m));
  const auto kernel = weighted_kernel<T>();
  parallel_for(k, piece, [&](std::int64_t begin, std::int64_t end) {
    T* const sums = partials.data() + begin / piece * n * m;
    for (std::int64_t r = begin; r < end; r += kSlab)
      for_rows<T>(a.data, a.col, m, r, std::min(end, r + kSlab),
                  [&](const T* rows, std::int64_t step, std::int64_t first, std::int64_t count) {
                    kernel(n, count, m, rows, step, {&b.at(first, 0), b.row, b.col}, sums);
                  });
  });
  for (std::int64_t p = 1; p < pieces; ++p)
    for (std::int64_t i = 0; i < n * m; ++i)
      partials[static_cast<std::size_t>(i)] += partials[static_cast<std::size_t>(p * n * m + i)];
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      const T value = partials[static_cast<std::size_t>(j * m + i)];
      c.at(i, j) = add ? c.at(i, j) + value : value;
    }
}

// Pieces of a fixed length, whose products are added in double in their order.
template <class T> void by_pieces(std::int64_t k, const T* a, const T* b, T& c, bool add) {
  const std::int64_t pieces = (k + kPiece - 1) / kPiece;
  std::vector<T> parts(static_cast<std::size_t>(pieces));
  const auto kernel = dot_kernel<T>();
  parallel_for(pieces, kGrain / kPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      parts[static_cast<std::size_t>(p)] =
          kernel(std::min(kPiece, k - p * kPiece), a + p * kPiece, b + p * kPiece);
  });
  double sum = add ? static_cast<double>(c) : 0;
  for (const T part : parts) sum += static_cast<double>(part);
  c = static_cast<T>(sum);
}

constexpr std::int64_t kMostColumns = 4;

template <class T, class S>
bool by_columns(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const S> a, Matrix<const T> b,
                Matrix<T> c, bool add) {
  if (n > kMostColumns) return false;
  if (a.col == 1 && k >= 8)
    by_dots(m, n, k, a, b, c, add);
  else if (a.row == 1 && m >= 8 && k >= 64)
    by_weighted_rows(m, n, k, a, b, c, add);
  else
    return false;
  return true;
}

template <class T>
bool skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c,
            bool add) {
  if (m == 1 && n == 1 && a.col == 1 && b.row == 1) {
    by_pieces(k, a.data, b.data, c.at(0, 0), add);
    return true;
  }
  if (n > kMostColumns && m <= kMostColumns)  // c^T = b^T a^T
    return skinny(n, m, k, b.transposed(), a.transposed(), c.transposed(), add);
  return by_columns(m, n, k, a, b, c, add);
}

}  // namespace

bool gemm_skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b,
                 Matrix<float> c, bool add) {
  return skinny(m, n, k, a, b, c, add);
}
bool gemm_skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a,
                 Matrix<const double> b, Matrix<double> c, bool add) {
  return skinny(m, n, k, a, b, c, add);
}

bool gemm_skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const scalar::BFloat16> a,
                 Matrix<const float> b, Matrix<float> c, bool add) {
  return by_columns(m, n, k, a, b, c, add);
}
bool gemm_skinny(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const scalar::Float16> a,
                 Matrix<const float> b, Matrix<float> c, bool add) {
  return by_columns(m, n, k, a, b, c, add);
}

}  // namespace veldt::cpu
#endif
