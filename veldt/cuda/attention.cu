// Attention without its matrix of weights (after Dao et al. 2022). A warp has a few rows of its own, queries
// or keys, and meets those of the other kind 32 at a time: a lane makes the score of its own rows with one of
// them, and then holds a column or more of the sums that the weights make.
#include <limits>

#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"
#include "veldt/cuda/scratch.h"
#include "veldt/kernels/math-inl.h"

namespace veldt::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kWarps = 4;  // of a block
constexpr int kOwn = 4;    // rows of a warp
constexpr int kRows = kWarps * kOwn;
constexpr int kColumns = 4;               // of a lane
constexpr int kWidth = kColumns * kWarp;  // columns that a block sums; wider ones take several blocks

// [n, heads, rows, columns] of any strides.
template <class T> struct Operand {
  T* data;
  std::int64_t example, head, row, column;

  __device__ Operand of_head(std::int64_t which, std::int64_t heads) const {
    return {data + which / heads * example + which % heads * head, 0, 0, row, column};
  }
  __device__ T& at(std::int64_t i, std::int64_t j) const { return data[i * row + j * column]; }
};

template <class T> struct Attention {
  bool causal;
  T scale;
  std::int64_t count, heads, queries, keys, size, width;  // count: examples times heads
  Operand<const T> q, k, v, g;
  Operand<const T> added;       // a mask [queries, keys] of each head, or one
  Operand<const bool> visible;  // of booleans, or none: without data
  Operand<T> out, dq, dk, dv;
  T *sums, *own;  // [count, queries]: see Backend::attend, and the product of each row of g and of out
};

// What the warps of a block share.
template <class T> struct Shared {
  T own[kRows][kWarp + 1], others[kWarp][kWarp + 1];
  T weights[2][kWarps][kOwn][kWarp];
};

template <class T> __device__ inline T warp_sum(T x) {
  for (int apart = kWarp / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(gpu::kWholeWarp, x, apart);
  return x;
}
template <class T> __device__ inline T warp_largest(T x) {
  for (int apart = kWarp / 2; apart > 0; apart /= 2) {
    const T other = __shfl_xor_sync(gpu::kWholeWarp, x, apart);
    x = other > x ? other : x;
  }
  return x;
}

// sums[r] = the products of this warp's rows of `a`, the block's from row a_first on, with this lane's row of
// `b`. Rows from a_end and b_end on count as 0. All threads of the block take part.
template <class T>
__device__ inline void products(const Operand<const T>& a, std::int64_t a_first, std::int64_t a_end,
                                const Operand<const T>& b, std::int64_t b_first, std::int64_t b_end,
                                std::int64_t columns, Shared<T>& shared, T (&sums)[kOwn]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  GPU_UNROLLED
  for (int r = 0; r < kOwn; ++r) sums[r] = 0;
  GPU_ROLLED
  for (std::int64_t first = 0; first < columns; first += kWarp) {
    const bool inside = first + lane < columns;
    __syncthreads();
    for (int r = warp; r < kRows; r += kWarps)
      shared.own[r][lane] = inside && a_first + r < a_end ? a.at(a_first + r, first + lane) : T(0);
    for (int r = warp; r < kWarp; r += kWarps)
      shared.others[r][lane] = inside && b_first + r < b_end ? b.at(b_first + r, first + lane) : T(0);
    __syncthreads();
    for (int c = 0; c < kWarp; ++c) {
      const T other = shared.others[lane][c];
      GPU_UNROLLED
      for (int r = 0; r < kOwn; ++r) sums[r] += shared.own[warp * kOwn + r][c] * other;
    }
  }
}

// sums[r][c] += the products of weights[r][0..count) with rows first.. of `b`, for this lane's columns from
// `column` on.
template <class T>
__device__ inline void add_rows(const T (&weights)[kOwn][kWarp], const Operand<const T>& b,
                                std::int64_t first, std::int64_t count, std::int64_t column,
                                std::int64_t columns, T (&sums)[kOwn][kColumns]) {
  GPU_ROLLED
  for (std::int64_t j = 0; j < count; ++j) GPU_UNROLLED
  for (int c = 0; c < kColumns; ++c) {
    const std::int64_t at = column + c * kWarp;
    const T x = at < columns ? b.at(first + j, at) : T(0);
    GPU_UNROLLED
    for (int r = 0; r < kOwn; ++r) sums[r][c] += weights[r][j] * x;
  }
}

template <class T> __device__ inline std::int64_t keys_seen(const Attention<T>& a, std::int64_t query) {
  return a.causal && query + 1 < a.keys ? query + 1 : a.keys;
}

// The score of query i with key j from their product; -inf where the key is not seen, or there is no query.
template <class T>
__device__ inline T score_of(const Attention<T>& a, std::int64_t which, std::int64_t i, std::int64_t j,
                             T product) {
  constexpr T kNever = -std::numeric_limits<T>::infinity();
  if (i >= a.queries || j >= keys_seen(a, i)) return kNever;
  if (a.visible.data != nullptr && !a.visible.of_head(which, a.heads).at(i, j)) return kNever;
  const T score = product * a.scale;
  return a.added.data != nullptr ? score + a.added.of_head(which, a.heads).at(i, j) : score;
}

// Its weight, with the logarithm of what the query's softmax divides by. A query that sees nothing has none.
template <class T> __device__ inline T weight_of(T score, T sum) {
  return score == -std::numeric_limits<T>::infinity() ? T(0) : scalar::exp(score - sum);
}

// Blocks (tile, example and head), y: columns.
template <class T> __global__ void __launch_bounds__(kWarps* kWarp) attend_kernel(Attention<T> a) {
  GPU_SHARED(Shared<T>, room, 1);
  Shared<T>& shared = room[0];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t tiles = (a.queries + kRows - 1) / kRows, column = blockIdx.y * kWidth + lane;
  for (std::int64_t item = blockIdx.x; item < tiles * a.count; item += gridDim.x) {
    const std::int64_t which = item / tiles, first = item % tiles * kRows;
    const Operand<const T> q = a.q.of_head(which, a.heads), k = a.k.of_head(which, a.heads),
                           v = a.v.of_head(which, a.heads);
    const Operand<T> out = a.out.of_head(which, a.heads);
    T most[kOwn], total[kOwn], sums[kOwn][kColumns];
    for (int r = 0; r < kOwn; ++r) {
      most[r] = -std::numeric_limits<T>::infinity();
      total[r] = 0;
      for (int c = 0; c < kColumns; ++c) sums[r][c] = 0;
    }
    const std::int64_t end = keys_seen(a, first + kRows - 1);
    for (std::int64_t j = 0; j < end; j += kWarp) {
      T scores[kOwn];
      products(q, first, a.queries, k, j, a.keys, a.size, shared, scores);
      GPU_UNROLLED
      for (int r = 0; r < kOwn; ++r) {
        const T score = score_of(a, which, first + warp * kOwn + r, j + lane, scores[r]);
        const T top = warp_largest(score), now = top > most[r] ? top : most[r];
        // Of scores that are all -inf so far nothing is known, and inf - inf would be no number.
        const T by = now == -std::numeric_limits<T>::infinity() ? T(0) : now;
        const T weight = scalar::exp(score - by), before = scalar::exp(most[r] - by);
        shared.weights[0][warp][r][lane] = weight;
        total[r] = total[r] * before + warp_sum(weight);
        for (int c = 0; c < kColumns; ++c) sums[r][c] *= before;
        most[r] = now;
      }
      __syncwarp();
      add_rows(shared.weights[0][warp], v, j, end - j < kWarp ? end - j : kWarp, column, a.width, sums);
      __syncwarp();
    }
    GPU_UNROLLED
    for (int r = 0; r < kOwn; ++r) {
      const std::int64_t i = first + warp * kOwn + r;
      if (i >= a.queries) continue;
      const bool masked = a.visible.data != nullptr || a.added.data != nullptr,
                 blind = masked && total[r] == 0;
      GPU_UNROLLED
      for (int c = 0; c < kColumns; ++c)
        if (column + c * kWarp < a.width)
          out.at(i, column + c * kWarp) = blind ? T(0) : sums[r][c] / total[r];
      if (lane == 0 && blockIdx.y == 0) a.sums[which * a.queries + i] = most[r] + scalar::log(total[r]);
    }
  }
}

// A warp a query.
template <class T> __global__ void __launch_bounds__(kWarps* kWarp) own_kernel(Attention<T> a) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp; row < a.count * a.queries;
       row += std::int64_t{gridDim.x} * kWarps) {
    const std::int64_t which = row / a.queries, i = row % a.queries;
    const Operand<const T> g = a.g.of_head(which, a.heads);
    const Operand<T> out = a.out.of_head(which, a.heads);
    T sum = 0;
    for (std::int64_t c = lane; c < a.width; c += kWarp) sum += g.at(i, c) * out.at(i, c);
    sum = warp_sum(sum);
    if (lane == 0) a.own[row] = sum;
  }
}

// With P the weights and D_i = g_i out_i: dS = P (g v^T - D), dq = scale dS k.
template <class T> __global__ void __launch_bounds__(kWarps* kWarp) query_slope_kernel(Attention<T> a) {
  GPU_SHARED(Shared<T>, room, 1);
  Shared<T>& shared = room[0];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t tiles = (a.queries + kRows - 1) / kRows, column = blockIdx.y * kWidth + lane;
  for (std::int64_t item = blockIdx.x; item < tiles * a.count; item += gridDim.x) {
    const std::int64_t which = item / tiles, first = item % tiles * kRows;
    const Operand<const T> q = a.q.of_head(which, a.heads), k = a.k.of_head(which, a.heads),
                           v = a.v.of_head(which, a.heads), g = a.g.of_head(which, a.heads);
    const Operand<T> dq = a.dq.of_head(which, a.heads);
    T sums[kOwn][kColumns] = {};
    const std::int64_t end = keys_seen(a, first + kRows - 1);
    for (std::int64_t j = 0; j < end; j += kWarp) {
      T scores[kOwn], slopes[kOwn];
      products(q, first, a.queries, k, j, a.keys, a.size, shared, scores);
      products(g, first, a.queries, v, j, a.keys, a.width, shared, slopes);
      GPU_UNROLLED
      for (int r = 0; r < kOwn; ++r) {
        const std::int64_t i = first + warp * kOwn + r, row = which * a.queries + i;
        const bool there = i < a.queries;
        const T weight = weight_of(score_of(a, which, i, j + lane, scores[r]), there ? a.sums[row] : T(0));
        shared.weights[0][warp][r][lane] = there ? weight * (slopes[r] - a.own[row]) * a.scale : T(0);
      }
      __syncwarp();
      add_rows(shared.weights[0][warp], k, j, end - j < kWarp ? end - j : kWarp, column, a.size, sums);
      __syncwarp();
    }
    GPU_UNROLLED
    for (int r = 0; r < kOwn; ++r) GPU_UNROLLED
    for (int c = 0; c < kColumns; ++c)
      if (first + warp * kOwn + r < a.queries && column + c * kWarp < a.size)
        dq.at(first + warp * kOwn + r, column + c * kWarp) = sums[r][c];
  }
}

// dv = P^T g, dk = scale dS^T q.
template <class T> __global__ void __launch_bounds__(kWarps* kWarp) key_slope_kernel(Attention<T> a) {
  GPU_SHARED(Shared<T>, room, 1);
  Shared<T>& shared = room[0];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t tiles = (a.keys + kRows - 1) / kRows, column = blockIdx.y * kWidth + lane;
  for (std::int64_t item = blockIdx.x; item < tiles * a.count; item += gridDim.x) {
    const std::int64_t which = item / tiles, first = item % tiles * kRows;
    const Operand<const T> q = a.q.of_head(which, a.heads), k = a.k.of_head(which, a.heads),
                           v = a.v.of_head(which, a.heads), g = a.g.of_head(which, a.heads);
    const Operand<T> dk = a.dk.of_head(which, a.heads), dv = a.dv.of_head(which, a.heads);
    T by_k[kOwn][kColumns] = {}, by_v[kOwn][kColumns] = {};
    // The first query that sees any of these keys, rounded down to whole tiles.
    for (std::int64_t i = a.causal ? first / kWarp * kWarp : 0; i < a.queries; i += kWarp) {
      T scores[kOwn], slopes[kOwn];
      products(k, first, a.keys, q, i, a.queries, a.size, shared, scores);
      products(v, first, a.keys, g, i, a.queries, a.width, shared, slopes);
      const std::int64_t row = which * a.queries + i + lane;
      const bool there = i + lane < a.queries;
      const T sum = there ? a.sums[row] : T(0), own = there ? a.own[row] : T(0);
      GPU_UNROLLED
      for (int r = 0; r < kOwn; ++r) {
        const T weight = weight_of(score_of(a, which, i + lane, first + warp * kOwn + r, scores[r]), sum);
        shared.weights[0][warp][r][lane] = weight;
        shared.weights[1][warp][r][lane] = weight * (slopes[r] - own) * a.scale;
      }
      __syncwarp();
      const std::int64_t count = a.queries - i < kWarp ? a.queries - i : kWarp;
      add_rows(shared.weights[0][warp], g, i, count, column, a.width, by_v);
      add_rows(shared.weights[1][warp], q, i, count, column, a.size, by_k);
      __syncwarp();
    }
    GPU_UNROLLED
    for (int r = 0; r < kOwn; ++r) GPU_UNROLLED
    for (int c = 0; c < kColumns; ++c) {
      const std::int64_t j = first + warp * kOwn + r, at = column + c * kWarp;
      if (j < a.keys && at < a.size) dk.at(j, at) = by_k[r][c];
      if (j < a.keys && at < a.width) dv.at(j, at) = by_v[r][c];
    }
  }
}

template <class T> Operand<T> operand(const View& v) {
  return {v.as<T>(), v.strides[0], v.strides[1], v.strides[2], v.strides[3]};
}

template <class T>
Attention<T> attention(bool causal, double scale, const View& q, const View& k, const View& v,
                       const View* mask, const View& sums, const View& out) {
  Attention<T> a{};
  a.causal = causal;
  a.scale = static_cast<T>(scale);
  a.heads = q.shape[1], a.count = q.shape[0] * a.heads;
  a.queries = q.shape[2], a.keys = k.shape[2], a.size = q.shape[3], a.width = v.shape[3];
  a.q = operand<const T>(q), a.k = operand<const T>(k), a.v = operand<const T>(v), a.out = operand<T>(out);
  a.sums = sums.as<T>();
  if (mask && mask->dtype == DType::boolean)
    a.visible = operand<const bool>(*mask);
  else if (mask)
    a.added = operand<const T>(*mask);
  return a;
}

// Tiles of so many rows of each head, times the parts of so many columns.
template <class T> dim3 blocks(const Attention<T>& a, std::int64_t rows, std::int64_t columns) {
  const std::int64_t tiles = (rows + kRows - 1) / kRows * a.count;
  return {static_cast<unsigned>(std::min<std::int64_t>(tiles, 1 << 30)),
          static_cast<unsigned>((columns + kWidth - 1) / kWidth)};
}

template <class T>
void run(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
         const View& sums, const View& out) {
  const Attention<T> a = attention<T>(causal, scale, q, k, v, mask, sums, out);
  if (numel(out.shape) > 0) launch(attend_kernel<T>, blocks(a, a.queries, a.width), kWarps * kWarp, 0, a);
}

template <class T>
void run_slope(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
               const View& sums, const View& out, const View& g, const View& dq, const View& dk,
               const View& dv) {
  Attention<T> a = attention<T>(causal, scale, q, k, v, mask, sums, out);
  a.g = operand<const T>(g);
  a.dq = operand<T>(dq), a.dk = operand<T>(dk), a.dv = operand<T>(dv);
  const std::int64_t rows = a.count * a.queries;
  if (a.count == 0) return;
  const Scratch own(static_cast<std::size_t>(rows) * sizeof(T));
  a.own = own.as<T>();
  if (rows > 0) {
    launch(own_kernel<T>, blocks_for(rows * kWarp), kWarps * kWarp, 0, a);
    launch(query_slope_kernel<T>, blocks(a, a.queries, a.size), kWarps * kWarp, 0, a);
  }
  launch(key_slope_kernel<T>, blocks(a, a.keys, std::max(a.size, a.width)), kWarps * kWarp, 0, a);
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

}  // namespace veldt::cuda
