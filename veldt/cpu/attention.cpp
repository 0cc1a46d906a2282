// Attention in blocks of queries: the scores of a block with all its keys stay in the cache from the first
// product to the last, and are never written to memory (after Dao et al. 2022, but without a running softmax,
// because a block's rows are complete).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/attention.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/product-inl.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/stage.h"
#include "veldt/kernels/math-inl.h"

#ifndef VELDT_CPU_ATTENTION_TASK
#define VELDT_CPU_ATTENTION_TASK
namespace veldt::cpu {
namespace {

constexpr std::int64_t kBlock = 24;  // queries of a block: rows of one or more register tiles

// One example and head: [queries or keys, size or width] matrices, and `sums` of each query. There is at most
// one of the masks [queries, keys].
template <class T> struct Attention {
  bool causal;
  Matrix<const T> added;
  Matrix<const bool> visible;
  T scale;
  std::int64_t queries, keys, size, width;
  Matrix<const T> q, k, v, g;
  Matrix<T> out, dq, dk, dv;
  T* sums;
};

inline std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

}  // namespace
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T> using Lanes = veldt::HWY_NAMESPACE::Lanes<T>;

// Rows of one head are far apart, where the processor does not prefetch.
constexpr std::int64_t kAhead = 8;

// [rows, cols] times a factor, of each row its own, to other strides.
template <class T, class Factor>
HWY_INLINE void copy_rows(Matrix<const T> from, std::int64_t rows, std::int64_t cols, const Factor& factor,
                          Matrix<T> to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < rows; ++i) {
    const T by = factor(i);
    const T* const source = from.data + i * from.row;
    fetch(source + kAhead * from.row, cols);
    T* const target = to.data + i * to.row;
    std::int64_t j = 0;
    if (from.col == 1 && to.col == 1)
      for (; j + lanes <= cols; j += lanes)
        hn::StoreU(hn::Mul(hn::LoadU(d, source + j), hn::Set(d, by)), d, target + j);
    for (; j < cols; ++j) target[j * to.col] = source[j * from.col] * by;
  }
}

// [rows, cols] times a factor into dense rows `row` apart, filled up with zeros; and its transpose.
template <class T>
void pack(Matrix<const T> from, std::int64_t rows, std::int64_t cols, T factor, T* to, std::int64_t row) {
  copy_rows(from, rows, cols, [=](std::int64_t) { return factor; }, {to, row, 1});
  for (std::int64_t i = 0; i < rows; ++i) std::fill(to + i * row + cols, to + (i + 1) * row, T(0));
}
template <class T>
void pack_transposed(Matrix<const T> from, std::int64_t rows, std::int64_t cols, T* to, std::int64_t row) {
  for (std::int64_t i = 0; i < rows; i += kAhead) {
    const std::int64_t count = std::min(kAhead, rows - i);
    const T* const source = from.data + i * from.row;
    for (std::int64_t q = 0; q < count; ++q) fetch(source + (kAhead + q) * from.row, cols);
    if (from.col == 1)
      stage().turn[stage_index(sizeof(T))](source, from.row, to + i, row, cols, count);
    else
      for (std::int64_t q = 0; q < count; ++q)
        for (std::int64_t j = 0; j < cols; ++j) to[j * row + i + q] = source[q * from.row + j * from.col];
  }
  for (std::int64_t j = 0; j < cols; ++j) std::fill(to + j * row + rows, to + (j + 1) * row, T(0));
}

// Back from dense rows.
template <class T>
void unpack(const T* from, std::int64_t row, std::int64_t rows, std::int64_t cols, Matrix<T> to) {
  copy_rows<T>(
      {from, row, 1}, rows, cols, [](std::int64_t) { return T(1); }, to);
}

// x[0..n) = e^(x - shift); their sum. n is a multiple of a register.
template <class T> HWY_INLINE double exponentials(T* x, std::int64_t n, T shift) {
  constexpr std::int64_t kSpan = 1024;  // elements that are added in T
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Lanes<T> by(hn::Set(d, shift));
  double sum = 0;
  for (std::int64_t first = 0; first < n; first += kSpan) {
    auto part = hn::Zero(d);
    for (std::int64_t i = first; i < std::min(n, first + kSpan); i += lanes) {
      const Lanes<T> e = exp(Lanes<T>(hn::Load(d, x + i)) - by);
      hn::Store(e.v, d, x + i);
      part = hn::Add(part, e.v);
    }
    sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, part)));
  }
  return sum;
}

// The largest of n, a multiple of a register; a NaN takes precedence.
template <class T> HWY_INLINE T largest(const T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto most = hn::Load(d, x);
  for (std::int64_t i = lanes; i < n; i += lanes) {
    const auto here = hn::Load(d, x + i);
    most = hn::IfThenElse(hn::Or(hn::Gt(here, most), hn::IsNaN(here)), here, most);
  }
  if (!hn::AllFalse(d, hn::IsNaN(most))) return std::numeric_limits<T>::quiet_NaN();
#if HWY_TARGET == HWY_EMU128
  HWY_ALIGN T each[hn::MaxLanes(d)];
  hn::Store(most, d, each);
  return *std::max_element(each, each + hn::Lanes(d));  // its MaxOfLanes does not handle -infinity
#else
  return hn::GetLane(hn::MaxOfLanes(d, most));
#endif
}

// The sum of x[i] y[i].
template <class T> HWY_INLINE T inner(const T* x, Matrix<const T> y, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  std::int64_t j = 0;
  if (y.col == 1)
    for (; j + lanes <= n; j += lanes) sum = hn::MulAdd(hn::LoadU(d, x + j), hn::LoadU(d, y.data + j), sum);
  T all = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; j < n; ++j) all += x[j] * y.data[j * y.col];
  return all;
}

// to[i] = x[i] + log(y[i]) for up to kBlock of them.
template <class T> HWY_INLINE void add_logarithms(const T* y, const T* x, std::int64_t n, T* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (std::int64_t i = 0; i < n; i += lanes) {
    const auto count = static_cast<std::size_t>(std::min(lanes, n - i));
    (Lanes<T>::load_part(x + i, count) + log(Lanes<T>::load_part(y + i, count))).store_part(to + i, count);
  }
}

// Working memory of one task, in elements. Rows of scores have an extra register at the end, so that a column
// does not fall into one cache set.
struct Room {
  std::int64_t lanes, row, size, width;  // of a row of scores, of q and k, of v and g
  template <class T>
  Room(const Attention<T>& a, T)
      : lanes(static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()))),
        row(round_up(a.keys, lanes) + lanes),
        size(round_up(a.size, lanes)),
        width(round_up(a.width, lanes)) {}
};

// The keys that query i sees.
template <class T> std::int64_t seen(const Attention<T>& a, std::int64_t i) {
  return a.causal ? std::min(a.keys, i + 1) : a.keys;
}

template <class T> std::int64_t room_for(const Attention<T>& a, bool backward) {
  const Room r(a, T());
  if (!backward) return a.size * r.row + (a.keys + kBlock) * r.width + kBlock * (r.size + r.row);
  return (a.size + a.width) * r.row + (a.queries + 2 * a.keys + kBlock) * r.size +
         (a.queries + a.keys) * r.width + 2 * kBlock * r.row;
}

// Which of the next booleans hold, for lanes of a float or a double.
template <class D> HWY_INLINE hn::Mask<D> holds(D d, const bool* from) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint8_t, D> bytes;
  const auto read = hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from));
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(du, read), hn::Zero(du)));
  } else {
    const hn::Rebind<std::uint32_t, D> words;
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(du, hn::PromoteTo(words, read)), hn::Zero(du)));
  }
}

// x[first..n) = value; n is a multiple of a register.
template <class T> HWY_INLINE void fill_end(T* x, std::int64_t first, std::int64_t n, T value) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = first / lanes * lanes; j < n; j += lanes) {
    const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(0, first - j));
    hn::Store(hn::IfThenElse(hn::FirstN(d, kept), hn::Load(d, x + j), hn::Set(d, value)), d, x + j);
  }
}

// Applies the mask of query i to its scores of `sees` keys; keys from there to n are never seen.
template <class T>
void mask_scores(const Attention<T>& a, std::int64_t i, std::int64_t sees, std::int64_t n, T* scores) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr T kNever = -std::numeric_limits<T>::infinity();
  fill_end(scores, sees, n, kNever);
  std::int64_t j = 0;
  if (a.added.data) {
    const T* const row = &a.added.at(i, 0);
    if (a.added.col == 1)
      for (; j + lanes <= sees; j += lanes)
        hn::Store(hn::Add(hn::Load(d, scores + j), hn::LoadU(d, row + j)), d, scores + j);
    for (; j < sees; ++j) scores[j] += row[j * a.added.col];
  } else if (a.visible.data) {
    const bool* const row = &a.visible.at(i, 0);
    if (a.visible.col == 1)
      for (; j + lanes <= sees; j += lanes)
        hn::Store(hn::IfThenElse(holds(d, row + j), hn::Load(d, scores + j), hn::Set(d, kNever)), d,
                  scores + j);
    for (; j < sees; ++j) scores[j] = row[j * a.visible.col] ? scores[j] : kNever;
  }
}

// Whether a query sees no key, by the largest of its scores, or the logarithm of their sum.
template <class T> bool sees_nothing(const Attention<T>& a, T score) {
  return (a.visible.data || a.added.data) && score == -std::numeric_limits<T>::infinity();
}

// Queries first..end of one head.
template <class T> void attend_head(const Attention<T>& a, std::int64_t first, std::int64_t end, T* room) {
  const Room r(a, T());
  T* const keys = room;  // [size, keys]
  T* const values = keys + a.size * r.row;
  T* const queries = values + a.keys * r.width;
  T* const scores = queries + kBlock * r.size;
  T* const sums = scores + kBlock * r.row;
  const std::int64_t all = seen(a, end - 1);
  pack_transposed<T>(a.k, all, a.size, keys, r.row);
  pack<T>(a.v, all, a.width, T(1), values, r.width);
  for (std::int64_t i = first; i < end; i += kBlock) {
    const std::int64_t m = std::min(kBlock, end - i), last = seen(a, i + m - 1), n = round_up(last, r.lanes);
    pack<T>({&a.q.at(i, 0), a.q.row, a.q.col}, m, a.size, a.scale, queries, r.size);
    product<T>(m, n, a.size, {queries, r.size, 1}, keys, r.row, scores, r.row, false);
    HWY_ALIGN T shares[kBlock], totals[kBlock], tops[kBlock];
    for (std::int64_t k = 0; k < m; ++k) {
      T* const line = scores + k * r.row;
      mask_scores(a, i + k, seen(a, i + k), n, line);
      const T most = largest(line, n);
      const bool blind = sees_nothing(a, most);
      const double sum = exponentials(line, n, blind ? T(0) : most);
      shares[k] = blind ? T(0) : static_cast<T>(1 / sum);
      totals[k] = static_cast<T>(sum);
      tops[k] = most;
    }
    add_logarithms(totals, tops, m, a.sums + i);
    product<T>(m, r.width, last, {scores, r.row, 1}, values, r.width, sums, r.width, false);
    copy_rows<T>({sums, r.width, 1}, m, a.width, [&](std::int64_t k) { return shares[k]; },
                 {&a.out.at(i, 0), a.out.row, a.out.col});
  }
}

// With P the weights and D_i = g_i out_i: dv = P^T g, dS = P (g v^T - D), dq = scale dS k, dk = scale dS^T q.
template <class T> void slope_head(const Attention<T>& a, T* room) {
  const hn::ScalableTag<T> d;
  const Room r(a, T());
  T* const keys_t = room;  // [size, keys]
  T* const values_t = keys_t + a.size * r.row;
  T* const queries = values_t + a.width * r.row;
  T* const keys = queries + a.queries * r.size;
  T* const grads = keys + a.keys * r.size;
  T* const dk = grads + a.queries * r.width;
  T* const dv = dk + a.keys * r.size;
  T* const scores = dv + a.keys * r.width;
  T* const dscores = scores + kBlock * r.row;
  T* const dq = dscores + kBlock * r.row;
  pack_transposed<T>(a.k, a.keys, a.size, keys_t, r.row);
  pack_transposed<T>(a.v, a.keys, a.width, values_t, r.row);
  pack<T>(a.q, a.queries, a.size, a.scale, queries, r.size);
  pack<T>(a.k, a.keys, a.size, a.scale, keys, r.size);
  pack<T>(a.g, a.queries, a.width, T(1), grads, r.width);
  std::fill(dk, scores, T(0));
  for (std::int64_t i = 0; i < a.queries; i += kBlock) {
    const std::int64_t m = std::min(kBlock, a.queries - i), last = seen(a, i + m - 1),
                       n = round_up(last, r.lanes);
    const T *const q = queries + i * r.size, *const g = grads + i * r.width;
    product<T>(m, n, a.size, {q, r.size, 1}, keys_t, r.row, scores, r.row, false);
    product<T>(m, n, a.width, {g, r.width, 1}, values_t, r.row, dscores, r.row, false);
    for (std::int64_t k = 0; k < m; ++k) {
      T *const p = scores + k * r.row, *const ds = dscores + k * r.row;
      const std::int64_t sees = seen(a, i + k);
      fetch(&a.out.at(i + k, 0) + kAhead * a.out.row, a.width);
      const T own = inner<T>(g + k * r.width, {&a.out.at(i + k, 0), a.out.row, a.out.col}, a.width);
      const T sum = a.sums[i + k];
      const Lanes<T> by(hn::Set(d, sees_nothing(a, sum) ? T(0) : sum)), less(hn::Set(d, own));
      mask_scores(a, i + k, sees, n, p);
      for (std::int64_t j = 0; j < n; j += r.lanes) {
        const Lanes<T> e = exp(Lanes<T>(hn::Load(d, p + j)) - by);
        hn::Store(e.v, d, p + j);
        hn::Store((e * (Lanes<T>(hn::Load(d, ds + j)) - less)).v, d, ds + j);
      }
      fill_end(ds, sees, n, T(0));
    }
    product<T>(m, r.size, last, {dscores, r.row, 1}, keys, r.size, dq, r.size, false);
    product<T>(last, r.size, m, {dscores, 1, r.row}, q, r.size, dk, r.size, true);
    product<T>(last, r.width, m, {scores, 1, r.row}, g, r.width, dv, r.width, true);
    unpack(dq, r.size, m, a.size, {&a.dq.at(i, 0), a.dq.row, a.dq.col});
  }
  unpack(dk, r.size, a.keys, a.size, a.dk);
  unpack(dv, r.width, a.keys, a.width, a.dv);
}

std::int64_t room_f32(const Attention<float>& a, bool backward) { return room_for(a, backward); }
std::int64_t room_f64(const Attention<double>& a, bool backward) { return room_for(a, backward); }
void attend_f32(const Attention<float>& a, std::int64_t first, std::int64_t end, float* room) {
  attend_head(a, first, end, room);
}
void attend_f64(const Attention<double>& a, std::int64_t first, std::int64_t end, double* room) {
  attend_head(a, first, end, room);
}
void slope_f32(const Attention<float>& a, float* room) { slope_head(a, room); }
void slope_f64(const Attention<double>& a, double* room) { slope_head(a, room); }

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(room_f32);
VELDT_EXPORT(room_f64);
VELDT_EXPORT(attend_f32);
VELDT_EXPORT(attend_f64);
VELDT_EXPORT(slope_f32);
VELDT_EXPORT(slope_f64);

constexpr std::int64_t kQueries = 20 * kBlock;  // per task, which packs keys and values for them

template <class T> struct Kernels {
  std::int64_t (*room)(const Attention<T>&, bool backward);
  void (*attend)(const Attention<T>&, std::int64_t first, std::int64_t end, T* room);
  void (*slope)(const Attention<T>&, T* room);
};
Kernels<float> kernels_of(float) {
  return {VELDT_DISPATCH(room_f32), VELDT_DISPATCH(attend_f32), VELDT_DISPATCH(slope_f32)};
}
Kernels<double> kernels_of(double) {
  return {VELDT_DISPATCH(room_f64), VELDT_DISPATCH(attend_f64), VELDT_DISPATCH(slope_f64)};
}

template <class T> T* room_of(std::int64_t count) {
  thread_local Room<T> room;
  return room.of(count, "attention");
}

// Example and head `which` of a view [n, heads, ..].
template <class T> Matrix<T> head_of(const View& v, std::int64_t which) {
  const std::int64_t heads = v.shape[1];
  return {v.as<T>() + which / heads * v.strides[0] + which % heads * v.strides[1], v.strides[2],
          v.strides[3]};
}

template <class T>
Attention<T> head(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
                  const View& sums, const View& out, std::int64_t which) {
  Attention<T> a{};
  a.causal = causal;
  a.scale = static_cast<T>(scale);
  a.queries = q.shape[2], a.keys = k.shape[2], a.size = q.shape[3], a.width = v.shape[3];
  a.q = head_of<const T>(q, which), a.k = head_of<const T>(k, which), a.v = head_of<const T>(v, which);
  a.out = head_of<T>(out, which);
  if (mask && mask->dtype == DType::boolean)
    a.visible = head_of<const bool>(*mask, which);
  else if (mask)
    a.added = head_of<const T>(*mask, which);
  a.sums = sums.as<T>() + which * a.queries;
  return a;
}

template <class T>
void run(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
         const View& sums, const View& out) {
  const Kernels<T> use = kernels_of(T());
  const std::int64_t parts = (q.shape[2] + kQueries - 1) / kQueries;
  parallel_for(q.shape[0] * q.shape[1] * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Attention<T> a = head<T>(causal, scale, q, k, v, mask, sums, out, i / parts);
      const std::int64_t first = i % parts * kQueries;
      use.attend(a, first, std::min(a.queries, first + kQueries), room_of<T>(use.room(a, false)));
    }
  });
}

// A head is one task, because all its queries add to the gradients of its keys.
template <class T>
void run_slope(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
               const View& sums, const View& out, const View& g, const View& dq, const View& dk,
               const View& dv) {
  const Kernels<T> use = kernels_of(T());
  parallel_for(q.shape[0] * q.shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Attention<T> a = head<T>(causal, scale, q, k, v, mask, sums, out, i);
      a.g = head_of<const T>(g, i);
      a.dq = head_of<T>(dq, i), a.dk = head_of<T>(dk, i), a.dv = head_of<T>(dv, i);
      use.slope(a, room_of<T>(use.room(a, true)));
    }
  });
}

}  // namespace

void attend(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
            const View& sums, const View& out) {
  if (q.dtype == DType::f32) return run<float>(causal, scale, q, k, v, mask, sums, out);
  run<double>(causal, scale, q, k, v, mask, sums, out);
}

void attend_slope(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
                  const View& sums, const View& out, const View& g, const View& dq, const View& dk,
                  const View& dv) {
  if (q.dtype == DType::f32) return run_slope<float>(causal, scale, q, k, v, mask, sums, out, g, dq, dk, dv);
  run_slope<double>(causal, scale, q, k, v, mask, sums, out, g, dq, dk, dv);
}

}  // namespace veldt::cpu
#endif
