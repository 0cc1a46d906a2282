// Merges and reorders dimensions until rows are long, and stages operands without dense rows in blocks.
#include "veldt/cpu/elementwise.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "veldt/core/coalesce.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/stage.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements per task: about 10 us of the cheapest kernel
constexpr std::int64_t kStage = 512;      // elements of a staged row
constexpr std::int64_t kTurnedBytes =
    16384;                           // bytes of a transposed block: three should fit into the L1 cache
constexpr std::int64_t kShort = 16;  // shorter rows are distributed several at a time

// The views with their dimensions in the order of the output's memory, merged where all operands allow it.
// The last two dimensions are walked a block at a time.
struct BlockWalk : Coalesced<kMaxOperands> {  // never below rank 2
  int count = 0;
  char* data[kMaxOperands] = {};
  std::int64_t bytes[kMaxOperands] = {};
  DType half[kMaxOperands] = {};       // bf16 or f16 if the kernel needs floats instead, else f32
  bool turned[kMaxOperands] = {};      // transposed: its neighbours are along the second-to-last dimension
  bool joins_rows = false;             // rows are short: the kernel gets those of a block as one
  std::int64_t rows = 1, columns = 1;  // of a block

  std::int64_t size() const { return sizes[rank - 1]; }
  std::int64_t height() const { return sizes[rank - 2]; }
  std::int64_t stride(int k) const { return strides[k][rank - 1]; }
  std::int64_t row_stride(int k) const { return strides[k][rank - 2]; }
};

// The dimensions by descending strides of the output, so that it is written in memory order.
int output_order(const View& out, int* order) {
  int rank = 0;
  for (int d = 0; d < out.shape.rank(); ++d) {
    if (out.shape[d] == 1) continue;
    int at = rank++;
    for (; at > 0 && std::abs(out.strides[order[at - 1]]) < std::abs(out.strides[d]); --at)
      order[at] = order[at - 1];
    order[at] = d;
  }
  return rank;
}

BlockWalk merge(const View* const* views, int count, Halves halves) {
  BlockWalk w;
  w.count = count;
  for (int k = 0; k < count; ++k) {
    w.data[k] = views[k]->as<char>();
    w.bytes[k] = static_cast<std::int64_t>(size_of(views[k]->dtype));
    if (halves == Halves::as_f32 && is_half(views[k]->dtype)) w.half[k] = views[k]->dtype;
  }
  int order[kMaxRank];
  const int rank = output_order(*views[count - 1], order);
  for (int i = 0; i < rank; ++i)
    w.push(views[0]->shape[order[i]], count, [&](int k) { return views[k]->strides[order[i]]; });
  while (w.rank < 2) {  // dimensions of 1 in front
    w.sizes[w.rank] = w.sizes[0];
    w.sizes[0] = 1;
    for (int k = 0; k < count; ++k) {
      w.strides[k][w.rank] = w.strides[k][0];
      w.strides[k][0] = w.rank == 0 ? 1 : 0;
    }
    ++w.rank;
  }
  return w;
}

// Dimension d becomes the second-to-last.
void move_to_rows(BlockWalk& w, int d) {
  for (int to = w.rank - 2; d < to; ++d) {
    std::swap(w.sizes[d], w.sizes[d + 1]);
    for (int k = 0; k < w.count; ++k) std::swap(w.strides[k][d], w.strides[k][d + 1]);
  }
}

// The dimension of a transposed input's neighbours, -1 if none is transposed.
int turned_dimension(const BlockWalk& w) {
  constexpr std::int64_t kLeast = 4;
  for (int k = 0; k + 1 < w.count; ++k) {
    if (std::abs(w.stride(k)) < kLeast) continue;
    for (int d = w.rank - 2; d >= 0; --d)
      if (w.strides[k][d] == 1 && w.sizes[d] >= kLeast) return d;
  }
  return -1;
}

// The largest dimension except the last one; if some are equal, the last of them.
int largest_dimension(const BlockWalk& w) {
  int largest = w.rank - 2;
  for (int d = largest - 1; d >= 0; --d)
    if (w.sizes[d] > w.sizes[largest]) largest = d;
  return largest;
}

void choose_block(BlockWalk& w) {
  const std::int64_t inner = w.size(), rows = w.height();
  const bool one_row = std::all_of(w.sizes, w.sizes + w.rank - 1, [](std::int64_t n) { return n == 1; });
  if (inner < kShort && !one_row) {
    if (rows < kShort) move_to_rows(w, largest_dimension(w));
    w.joins_rows = true;
    w.columns = inner;
    w.rows = std::min(w.height(), kStage / inner);
    return;
  }
  const int d = turned_dimension(w);
  if (d < 0) {
    w.columns = std::min(inner, kGrain);
    w.rows = std::clamp<std::int64_t>(kGrain / inner, 1, rows);
    return;
  }
  move_to_rows(w, d);
  std::int64_t widest = 1;
  for (int k = 0; k + 1 < w.count; ++k) {
    w.turned[k] = w.row_stride(k) == 1 && w.stride(k) != 1 && w.stride(k) != 0;
    if (w.turned[k]) widest = std::max(widest, w.bytes[k]);
  }
  w.rows = std::min<std::int64_t>(w.height(), widest < 4 ? 64 : 32);  // a cache line or two
  w.columns = std::min(inner, kTurnedBytes / widest / w.rows / 16 * 16);
}

void stage_in(const BlockWalk& w, int k, const char* from, std::int64_t stride, char* to, std::int64_t n) {
  const Stage& s = stage();
  if (w.half[k] == DType::f32) return s.move[stage_index(w.bytes[k])](from, stride, to, 1, n);
  alignas(64) std::uint16_t halves[kStage];
  if (stride != 1) s.move[stage_index(2)](from, stride, halves, 1, n);
  const void* dense = stride == 1 ? static_cast<const void*>(from) : halves;
  (w.half[k] == DType::bf16 ? s.widen_bf16 : s.widen_f16)(dense, to, n);
}

void stage_out(const BlockWalk& w, int k, const char* from, char* to, std::int64_t stride, std::int64_t n) {
  const Stage& s = stage();
  if (w.half[k] == DType::f32) return s.move[stage_index(w.bytes[k])](from, 1, to, stride, n);
  const auto narrow = w.half[k] == DType::bf16 ? s.narrow_bf16 : s.narrow_f16;
  if (stride == 1) return narrow(from, to, n);
  alignas(64) std::uint16_t halves[kStage];
  narrow(from, halves, n);
  s.move[stage_index(2)](halves, 1, to, stride, n);
}

// n elements at `at`, of the strides given.
void run_row(const BlockWalk& w, char* const* at, const std::int64_t* strides, std::int64_t n,
             const RowKernel& kernel) {
  const int out = w.count - 1;
  bool staged[kMaxOperands];
  bool any = false;
  for (int k = 0; k < w.count; ++k) {
    staged[k] = (strides[k] != 1 && n > 1) || w.half[k] != DType::f32;
    any = any || staged[k];
  }
  if (!any) return kernel(at, n);
  alignas(64) char buffer[kMaxOperands][kStage * 8];
  for (std::int64_t i = 0; i < n; i += kStage) {
    const std::int64_t m = std::min(kStage, n - i);
    char* rows[kMaxOperands];
    for (int k = 0; k < w.count; ++k) {
      char* here = at[k] + i * strides[k] * w.bytes[k];
      rows[k] = staged[k] ? buffer[k] : here;
      if (staged[k] && k != out && (strides[k] != 0 || i == 0))
        stage_in(w, k, here, strides[k], buffer[k], m);
    }
    kernel(rows, m);
    if (staged[out])
      stage_out(w, out, buffer[out], at[out] + i * strides[out] * w.bytes[out], strides[out], m);
  }
}

// A block row by row. Transposed operands are transposed first, a whole block at a time.
void run_long_rows(const BlockWalk& w, char* const* start, std::int64_t rows, std::int64_t columns,
                   const RowKernel& kernel) {
  alignas(64) char turned[kMaxOperands - 1][kTurnedBytes];
  char* at[kMaxOperands];
  std::int64_t strides[kMaxOperands], down[kMaxOperands];
  for (int k = 0; k < w.count; ++k) {
    at[k] = start[k];
    strides[k] = w.stride(k);
    down[k] = w.row_stride(k) * w.bytes[k];
    if (!w.turned[k]) continue;
    stage().turn[stage_index(w.bytes[k])](start[k], strides[k], turned[k], columns, rows, columns);
    at[k] = turned[k];
    strides[k] = 1;
    down[k] = columns * w.bytes[k];
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    run_row(w, at, strides, columns, kernel);
    for (int k = 0; k < w.count; ++k) at[k] += down[k];
  }
}

// A block whose rows are short, as one row: operands that are not dense are gathered column by column.
void run_short_rows(const BlockWalk& w, char* const* start, std::int64_t rows, std::int64_t columns,
                    const RowKernel& kernel) {
  const Stage& s = stage();
  const int out = w.count - 1;
  alignas(64) char dense[kMaxOperands][kStage * 8];
  char* at[kMaxOperands];
  std::int64_t strides[kMaxOperands];
  const auto is_dense = [&](int k) { return w.stride(k) == 1 && w.row_stride(k) == columns; };
  const auto move = [&](int k) { return s.move[stage_index(w.bytes[k])]; };
  for (int k = 0; k < w.count; ++k) {
    strides[k] = 1;
    at[k] = is_dense(k) ? start[k] : dense[k];
    for (std::int64_t c = 0; k != out && !is_dense(k) && c < columns; ++c)
      move(k)(start[k] + c * w.stride(k) * w.bytes[k], w.row_stride(k), dense[k] + c * w.bytes[k], columns,
              rows);
  }
  run_row(w, at, strides, rows * columns, kernel);
  for (std::int64_t c = 0; !is_dense(out) && c < columns; ++c)
    move(out)(dense[out] + c * w.bytes[out], columns, start[out] + c * w.stride(out) * w.bytes[out],
              w.row_stride(out), rows);
}

// Block `index` of all, counted along the columns first, then the rows, then the other dimensions.
void run_block(const BlockWalk& w, std::int64_t index, const RowKernel& kernel) {
  const std::int64_t inner = w.size(), height = w.height();
  const std::int64_t across = (inner + w.columns - 1) / w.columns, down = (height + w.rows - 1) / w.rows;
  const std::int64_t column = index % across * w.columns, row = index / across % down * w.rows;
  char* at[kMaxOperands];
  for (int k = 0; k < w.count; ++k)
    at[k] = w.data[k] + (row * w.row_stride(k) + column * w.stride(k)) * w.bytes[k];
  std::int64_t rest = index / across / down;
  for (int d = w.rank - 3; d >= 0; --d) {
    const std::int64_t i = rest % w.sizes[d];
    rest /= w.sizes[d];
    for (int k = 0; k < w.count; ++k) at[k] += i * w.strides[k][d] * w.bytes[k];
  }
  const std::int64_t rows = std::min(w.rows, height - row), columns = std::min(w.columns, inner - column);
  (w.joins_rows ? run_short_rows : run_long_rows)(w, at, rows, columns, kernel);
}

// True if a kernel can read all of the memory directly.
bool all_dense(const View* const* views, int count, Halves halves) {
  for (int k = 0; k < count; ++k)
    if (!is_contiguous(views[k]->shape, views[k]->strides) ||
        (halves == Halves::as_f32 && is_half(views[k]->dtype)))
      return false;
  return true;
}

}  // namespace

void for_each_row(const View* const* views, int count, const RowKernel& kernel, Halves halves) {
  const std::int64_t total = numel(views[0]->shape);
  if (total == 0) return;
  if (total <= kGrain && all_dense(views, count, halves)) {  // the most common case of small networks
    char* at[kMaxOperands];
    for (int k = 0; k < count; ++k) at[k] = views[k]->as<char>();
    return kernel(at, total);
  }
  BlockWalk w = merge(views, count, halves);
  choose_block(w);
  std::int64_t blocks = 1;
  for (int d = 0; d < w.rank; ++d) {
    const std::int64_t size = d == w.rank - 1 ? w.columns : d == w.rank - 2 ? w.rows : 1;
    blocks *= (w.sizes[d] + size - 1) / size;
  }
  parallel_for(blocks, std::max<std::int64_t>(1, kGrain / (w.rows * w.columns)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) run_block(w, i, kernel);
               });
}

}  // namespace veldt::cpu
