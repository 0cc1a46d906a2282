// The steps of an LSTM. The sequences of a batch do not meet, so a task takes its rows through all steps by
// itself: no thread waits for another between two steps. The weight is packed once for all of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/lstm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/product-inl.h"
#include "veldt/cpu/room.h"
#include "veldt/kernels/lstm-inl.h"

#ifndef VELDT_CPU_LSTM_TASK
#define VELDT_CPU_LSTM_TASK
namespace veldt::cpu {
namespace {

// The arrays of core/backend.h's lstm and lstm_slope, contiguous.
template <class T> struct LstmSteps {
  std::int64_t time, n, hidden;
  bool reverse;
  const T *inputs, *h, *c, *g;
  T *gates, *out, *dgates, *dh, *dc;

  std::int64_t at(std::int64_t step) const { return reverse ? time - 1 - step : step; }
  // Row `row` of that step's part of an array [time, n, width].
  template <class U> U* row(U* array, std::int64_t step, std::int64_t row, std::int64_t width) const {
    return array + (at(step) * n + row) * width;
  }
  const T* cell_before(std::int64_t step, std::int64_t i) const {
    return step == 0 ? c + i * hidden : row(out, step - 1, i, 2 * hidden) + hidden;
  }
};

// Sizes of working memory, in elements. Rows end in a panel more than they need, so that a column of them
// does not fall into one set of the cache.
struct LstmRoom {
  std::int64_t columns, panel, hidden, gates;  // hidden and gates: a row's
  LstmRoom(std::int64_t hidden_, std::int64_t panel_)
      : columns(hidden_), panel(panel_), hidden(padded(1) + panel), gates(padded(4) + panel) {}
  std::int64_t padded(std::int64_t count) const { return (count * columns + panel - 1) / panel * panel; }
  std::int64_t row() const { return hidden + gates; }
  std::int64_t weight(bool slope) const { return (slope ? 4 * padded(1) : padded(4)) * columns; }
};

}  // namespace
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T> using Lanes = veldt::HWY_NAMESPACE::Lanes<T>;
template <class T> using Gates = veldt::HWY_NAMESPACE::LstmGates<Lanes<T>>;

template <class T> std::int64_t lanes_of() {
  return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

// A whole register of a row, and the last part of one.
template <class T> struct Whole {
  HWY_INLINE Lanes<T> load(const T* from) const { return hn::LoadU(hn::ScalableTag<T>(), from); }
  HWY_INLINE void store(Lanes<T> x, T* to) const { hn::StoreU(x.v, hn::ScalableTag<T>(), to); }
};
template <class T> struct Part {
  std::size_t count;
  HWY_INLINE Lanes<T> load(const T* from) const { return Lanes<T>::load_part(from, count); }
  HWY_INLINE void store(Lanes<T> x, T* to) const { x.store_part(to, count); }
};
template <class T, class Each> HWY_INLINE void for_registers(std::int64_t n, const Each& each) {
  const std::int64_t lanes = lanes_of<T>();
  std::int64_t j = 0;
  for (; j + lanes <= n; j += lanes) each(Whole<T>(), j);
  if (j < n) each(Part<T>{static_cast<std::size_t>(n - j)}, j);
}

// What four gates of a row have at one place, `hidden` apart.
template <class T, class Memory>
HWY_INLINE Gates<T> load_gates(const Memory& memory, const T* row, std::int64_t hidden) {
  return {memory.load(row), memory.load(row + hidden), memory.load(row + 2 * hidden),
          memory.load(row + 3 * hidden)};
}
template <class T, class Memory>
HWY_INLINE void store_gates(const Memory& memory, const Gates<T>& y, std::int64_t hidden, T* row) {
  memory.store(y.i, row);
  memory.store(y.f, row + hidden);
  memory.store(y.g, row + 2 * hidden);
  memory.store(y.o, row + 3 * hidden);
}

// From sums of h weight^T of one row: its gates and its state. h goes to `state` too.
template <class T>
void step_row(const LstmSteps<T>& s, std::int64_t step, std::int64_t i, const T* sums, T* state) {
  const std::int64_t hidden = s.hidden;
  const T *const x = s.row(s.inputs, step, i, 4 * hidden), *const before = s.cell_before(step, i);
  T *const gates = s.row(s.gates, step, i, 4 * hidden), *const out = s.row(s.out, step, i, 2 * hidden);
  for_registers<T>(hidden, [&](const auto& memory, std::int64_t j) {
    const Gates<T> a = load_gates(memory, x + j, hidden), b = load_gates(memory, sums + j, hidden);
    const Gates<T> y = lstm_gates(Gates<T>{a.i + b.i, a.f + b.f, a.g + b.g, a.o + b.o});
    const Lanes<T> c = lstm_cell(y, memory.load(before + j)), h = lstm_output(y, c);
    store_gates(memory, y, hidden, gates + j);
    memory.store(h, out + j);
    memory.store(c, out + hidden + j);
    memory.store(h, state + j);
  });
}

// dh of the step behind is in `state`; the gradients by the sums go to `sums` too.
template <class T>
void slope_row(const LstmSteps<T>& s, std::int64_t step, std::int64_t i, const T* state, T* sums) {
  const std::int64_t hidden = s.hidden;
  const T *const gates = s.row(s.gates, step, i, 4 * hidden), *const g = s.row(s.g, step, i, 2 * hidden);
  const T *const cell = s.row(s.out, step, i, 2 * hidden) + hidden, *const before = s.cell_before(step, i);
  T *const dgates = s.row(s.dgates, step, i, 4 * hidden), *const by_c = s.dc + i * hidden;
  for_registers<T>(hidden, [&](const auto& memory, std::int64_t j) {
    Lanes<T> dc = memory.load(by_c + j) + memory.load(g + hidden + j);
    const Lanes<T> dh = memory.load(state + j) + memory.load(g + j);
    const Gates<T> by = lstm_slope(load_gates(memory, gates + j, hidden), memory.load(cell + j),
                                   memory.load(before + j), dh, dc);
    store_gates(memory, by, hidden, dgates + j);
    store_gates(memory, by, hidden, sums + j);
    memory.store(dc, by_c + j);
  });
}

// c [m, n] = a [m, k] times the packed b; rows of a and c are dense, c has room for whole panels. Before
// each panel ahead(share) may ask for memory that is read behind the product, this share of it.
template <class T, class Ahead>
HWY_INLINE void by_panels(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row,
                          const T* packed, T* c, std::int64_t c_row, const Ahead& ahead) {
  const std::int64_t width = 2 * lanes_of<T>();
  for (std::int64_t j = 0; j < n; j += width, packed += k * width) {
    ahead(j, std::min(width, n - j));
    product<T>(m, width, k, {a, a_row, 1}, packed, width, c + j, c_row, false);
  }
}

template <class T> HWY_INLINE void fetch(const T* from, std::int64_t count) {
  for (std::int64_t j = 0; j < count; j += static_cast<std::int64_t>(64 / sizeof(T))) hwy::Prefetch(from + j);
}

template <class T>
void run_rows(const LstmSteps<T>& s, const T* weight, std::int64_t first, std::int64_t end, T* room) {
  const LstmRoom r(s.hidden, 2 * lanes_of<T>());
  const std::int64_t m = end - first;
  T *const state = room, *const sums = room + m * r.hidden;
  for (std::int64_t i = 0; i < m; ++i)
    std::copy_n(s.h + (first + i) * s.hidden, s.hidden, state + i * r.hidden);
  for (std::int64_t step = 0; step < s.time; ++step) {
    by_panels(m, 4 * s.hidden, s.hidden, state, r.hidden, weight, sums, r.gates,
              [&](std::int64_t j, std::int64_t count) {
                for (std::int64_t i = first; i < end; ++i)
                  fetch(s.row(s.inputs, step, i, 4 * s.hidden) + j, count);
              });
    for (std::int64_t i = 0; i < m; ++i)
      step_row(s, step, first + i, sums + i * r.gates, state + i * r.hidden);
  }
}

template <class T>
void slope_rows(const LstmSteps<T>& s, const T* weight, std::int64_t first, std::int64_t end, T* room) {
  const LstmRoom r(s.hidden, 2 * lanes_of<T>());
  const std::int64_t m = end - first;
  T *const state = room, *const sums = room + m * r.hidden;
  std::fill(state, sums, T(0));
  std::fill(s.dc + first * s.hidden, s.dc + end * s.hidden, T(0));
  for (std::int64_t step = s.time - 1; step >= 0; --step) {
    for (std::int64_t i = 0; i < m; ++i)
      slope_row(s, step, first + i, state + i * r.hidden, sums + i * r.gates);
    by_panels(m, s.hidden, 4 * s.hidden, sums, r.gates, weight, state, r.hidden,
              [&](std::int64_t j, std::int64_t count) {
                if (step == 0) return;
                for (std::int64_t i = first; i < end; ++i) {
                  fetch(s.row(s.gates, step - 1, i, 4 * s.hidden) + 4 * j, 4 * count);
                  fetch(s.row(s.out, step - 1, i, 2 * s.hidden) + s.hidden + j, count);
                  fetch(s.row(s.g, step - 1, i, 2 * s.hidden) + 2 * j, 2 * count);
                }
              });
  }
  for (std::int64_t i = 0; i < m; ++i)
    std::copy_n(state + i * r.hidden, s.hidden, s.dh + (first + i) * s.hidden);
}

void step_f32(const LstmSteps<float>& s, std::int64_t step, std::int64_t i, const float* sums, float* state) {
  step_row(s, step, i, sums, state);
}
void step_f64(const LstmSteps<double>& s, std::int64_t step, std::int64_t i, const double* sums,
              double* state) {
  step_row(s, step, i, sums, state);
}
void rows_f32(const LstmSteps<float>& s, const float* weight, std::int64_t first, std::int64_t end,
              float* room) {
  s.g ? slope_rows(s, weight, first, end, room) : run_rows(s, weight, first, end, room);
}
void rows_f64(const LstmSteps<double>& s, const double* weight, std::int64_t first, std::int64_t end,
              double* room) {
  s.g ? slope_rows(s, weight, first, end, room) : run_rows(s, weight, first, end, room);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
HWY_EXPORT(step_f32);
HWY_EXPORT(step_f64);
HWY_EXPORT(rows_f32);
HWY_EXPORT(rows_f64);

constexpr const char* kWork = "the steps of an LSTM";
constexpr std::int64_t kFew = 4;        // rows
constexpr std::int64_t kLeastRows = 8;  // of a task: fewer read the weight too often for what they compute
constexpr std::int64_t kRows = 48;      // of a task at most: its working memory stays in L2

template <class T> struct LstmKernels {
  void (*step)(const LstmSteps<T>&, std::int64_t step, std::int64_t i, const T* sums, T* state);
  void (*rows)(const LstmSteps<T>&, const T* weight, std::int64_t first, std::int64_t end, T* room);
};
LstmKernels<float> lstm_kernels(float) {
  return {HWY_DYNAMIC_DISPATCH(step_f32), HWY_DYNAMIC_DISPATCH(rows_f32)};
}
LstmKernels<double> lstm_kernels(double) {
  return {HWY_DYNAMIC_DISPATCH(step_f64), HWY_DYNAMIC_DISPATCH(rows_f64)};
}

// A few rows, as when a text is written letter by letter, or one step: packing would cost more than it saves.
template <class T> void run_few(const LstmSteps<T>& s, Matrix<const T> weight) {
  thread_local Room<T> room;
  T* const state = room.of(5 * s.n * s.hidden, kWork);
  T* const sums = state + s.n * s.hidden;
  std::copy_n(s.h, s.n * s.hidden, state);
  for (std::int64_t step = 0; step < s.time; ++step) {
    const Matrix<const T> h{state, s.hidden, 1};
    const Matrix<T> out{sums, 4 * s.hidden, 1};
    if (!gemm_skinny(s.n, 4 * s.hidden, s.hidden, h, weight, out, false))
      gemm(s.n, 4 * s.hidden, s.hidden, h, weight, out, false);
    for (std::int64_t i = 0; i < s.n; ++i)
      lstm_kernels(T()).step(s, step, i, sums + i * 4 * s.hidden, state + i * s.hidden);
  }
}

template <class T> void run_lstm(const LstmSteps<T>& s, Matrix<const T> weight) {
  thread_local Room<T> packed, rooms;
  const LstmRoom r(s.hidden, panel_width(T()));
  const bool slope = s.g != nullptr;
  T* const panels = packed.of(r.weight(slope), kWork);
  pack_panels((slope ? 1 : 4) * s.hidden, (slope ? 4 : 1) * s.hidden, weight, panels);
  // Rows give the same bits in any company, so the cut may follow the number of threads.
  const std::int64_t threads = num_threads(),
                     tasks = (s.n + threads * kRows - 1) / (threads * kRows) * threads;
  const std::int64_t grain = ((s.n + tasks - 1) / tasks + 3) / 4 * 4;
  parallel_for(s.n, grain, [&](std::int64_t begin, std::int64_t end) {
    lstm_kernels(T()).rows(s, panels, begin, end, rooms.of((end - begin) * r.row(), kWork));
  });
}

template <class T>
void lstm_of(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
             const View& gates, const View& out) {
  LstmSteps<T> s{};
  s.time = inputs.shape[0], s.n = inputs.shape[1], s.hidden = weight.shape[1], s.reverse = reverse;
  s.inputs = inputs.as<const T>(), s.h = h.as<const T>(), s.c = c.as<const T>();
  s.gates = gates.as<T>(), s.out = out.as<T>();
  const Matrix<const T> transposed{weight.as<const T>(), 1, s.hidden};
  const bool few = s.n <= kFew || s.time == 1;
  few ? run_few<T>(s, transposed) : run_lstm<T>(s, transposed);
}

template <class T>
void slope_of(bool reverse, const View& weight, const View& c, const View& gates, const View& out,
              const View& g, const View& dgates, const View& dh, const View& dc) {
  LstmSteps<T> s{};
  s.time = gates.shape[0], s.n = gates.shape[1], s.hidden = weight.shape[1], s.reverse = reverse;
  s.c = c.as<const T>(), s.gates = gates.as<T>(), s.out = out.as<T>(), s.g = g.as<const T>();
  s.dgates = dgates.as<T>(), s.dh = dh.as<T>(), s.dc = dc.as<T>();
  run_lstm<T>(s, {weight.as<const T>(), s.hidden, 1});
}

[[noreturn]] void refuse_lstm(DType dtype) {
  throw DeviceError(str("the cpu has no LSTM of ", dtype), "it has kernels for f32 and f64",
                    "convert the tensors to f32 first");
}

}  // namespace

void lstm(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
          const View& gates, const View& out, Stream) {
  if (numel(out.shape) == 0) return;
  if (out.dtype == DType::f32) return lstm_of<float>(reverse, inputs, weight, h, c, gates, out);
  if (out.dtype == DType::f64) return lstm_of<double>(reverse, inputs, weight, h, c, gates, out);
  refuse_lstm(out.dtype);
}

void lstm_slope(bool reverse, const View& weight, const View& c, const View& gates, const View& out,
                const View& g, const View& dgates, const View& dh, const View& dc, Stream) {
  if (numel(out.shape) == 0) return;
  if (out.dtype == DType::f32) return slope_of<float>(reverse, weight, c, gates, out, g, dgates, dh, dc);
  if (out.dtype == DType::f64) return slope_of<double>(reverse, weight, c, gates, out, g, dgates, dh, dc);
  refuse_lstm(out.dtype);
}

}  // namespace veldt::cpu
#endif
