// The steps of an LSTM. The sequences of a batch are independent, so each thread takes its rows through all
// steps without waiting for others; the weight is packed once for all of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/lstm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/product-inl.h"
#include "veldt/cpu/room.h"
#include "veldt/kernels/lstm-inl.h"

#ifndef VELDT_CPU_LSTM_TASK
#define VELDT_CPU_LSTM_TASK
namespace veldt::cpu {
namespace {

// The arrays of core/backend.h's lstm, or of its lstm_slope if there is a g; contiguous.
template <class T> struct LstmSteps {
  std::int64_t time, n, hidden;
  bool reverse;
  const T *inputs, *h, *c, *g;
  T *gates, *out, *dgates, *dh, *dc;

  // Row `row` of a step's part of an array [time, n, width].
  template <class U> U* row(U* array, std::int64_t step, std::int64_t row, std::int64_t width) const {
    return array + ((reverse ? time - 1 - step : step) * n + row) * width;
  }
  const T* cell_before(std::int64_t step, std::int64_t i) const {
    return step == 0 ? c + i * hidden : row(out, step - 1, i, 2 * hidden) + hidden;
  }
  // Gradients go from the last step to the first.
  std::int64_t step_of(std::int64_t turn) const { return g ? time - 1 - turn : turn; }
  // The columns of the result of a step's product, and how many products each of them sums.
  std::int64_t columns() const { return g ? hidden : 4 * hidden; }
  std::int64_t depth() const { return g ? 4 * hidden : hidden; }
  std::int64_t panels(std::int64_t width) const { return (columns() + width - 1) / width; }
};

// Some rows of the batch and their working memory: a state [count, hidden], h or its gradient, and the sums
// of gates [count, 4 hidden], or the gradients by them; and the distance of rows.
template <class T> struct LstmRows {
  std::int64_t first, count, state_row, sums_row;
  T *state, *sums;

  LstmRows part(std::int64_t from, std::int64_t of) const {
    return {first + from, of, state_row, sums_row, state + from * state_row, sums + from * sums_row};
  }
};

template <class T> struct LstmKernels {
  void (*begin)(const LstmSteps<T>&, const LstmRows<T>&);
  void (*cells)(const LstmSteps<T>&, std::int64_t step, const LstmRows<T>&);
  void (*multiply)(const LstmSteps<T>&, std::int64_t step, const LstmRows<T>&, const T* packed,
                   std::int64_t first_panel, std::int64_t end_panel);
  void (*end)(const LstmSteps<T>&, const LstmRows<T>&);
  void (*all)(const LstmSteps<T>&, const LstmRows<T>&, const T* packed);  // of these rows
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
template <class T> struct Tail {
  std::size_t count;
  HWY_INLINE Lanes<T> load(const T* from) const { return Lanes<T>::load_part(from, count); }
  HWY_INLINE void store(Lanes<T> x, T* to) const { x.store_part(to, count); }
};
template <class T, class Each> HWY_INLINE void for_registers(std::int64_t n, const Each& each) {
  const std::int64_t lanes = lanes_of<T>();
  std::int64_t j = 0;
  for (; j + lanes <= n; j += lanes) each(Whole<T>(), j);
  if (j < n) each(Tail<T>{static_cast<std::size_t>(n - j)}, j);
}

// The four gates of a row at one place, `hidden` apart.
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
  for_registers<T>(hidden, [&](const auto& memory, std::int64_t j) HWY_ATTR {
    const Gates<T> a = load_gates(memory, x + j, hidden), b = load_gates(memory, sums + j, hidden);
    const Gates<T> y = lstm_gates(Gates<T>{a.i + b.i, a.f + b.f, a.g + b.g, a.o + b.o});
    const Lanes<T> c = lstm_cell(y, memory.load(before + j)), h = lstm_output(y, c);
    store_gates(memory, y, hidden, gates + j);
    memory.store(h, out + j);
    memory.store(c, out + hidden + j);
    memory.store(h, state + j);
  });
}

// dh of the step after this one is in `state`; the gradients by the sums go to `sums` too.
template <class T>
void slope_row(const LstmSteps<T>& s, std::int64_t step, std::int64_t i, const T* state, T* sums) {
  const std::int64_t hidden = s.hidden;
  const T *const gates = s.row(s.gates, step, i, 4 * hidden), *const g = s.row(s.g, step, i, 2 * hidden);
  const T *const cell = s.row(s.out, step, i, 2 * hidden) + hidden, *const before = s.cell_before(step, i);
  T *const dgates = s.row(s.dgates, step, i, 4 * hidden), *const by_c = s.dc + i * hidden;
  for_registers<T>(hidden, [&](const auto& memory, std::int64_t j) HWY_ATTR {
    Lanes<T> dc = memory.load(by_c + j) + memory.load(g + hidden + j);
    const Lanes<T> dh = memory.load(state + j) + memory.load(g + j);
    const Gates<T> by = lstm_slope(load_gates(memory, gates + j, hidden), memory.load(cell + j),
                                   memory.load(before + j), dh, dc);
    store_gates(memory, by, hidden, dgates + j);
    store_gates(memory, by, hidden, sums + j);
    memory.store(dc, by_c + j);
  });
}

template <class T> void cells(const LstmSteps<T>& s, std::int64_t step, const LstmRows<T>& rows) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    T *const state = rows.state + i * rows.state_row, *const sums = rows.sums + i * rows.sums_row;
    s.g ? slope_row(s, step, rows.first + i, state, sums) : step_row(s, step, rows.first + i, sums, state);
  }
}

// The memory that the cells read after this step's product: columns j .. j + count of `hidden`.
template <class T>
HWY_INLINE void fetch_row(const LstmSteps<T>& s, std::int64_t step, std::int64_t i, std::int64_t j,
                          std::int64_t count) {
  if (!s.g) return fetch(s.row(s.inputs, step, i, 4 * s.hidden) + 4 * j, 4 * count);
  if (step == 0) return;
  fetch(s.row(s.gates, step - 1, i, 4 * s.hidden) + 4 * j, 4 * count);
  fetch(s.row(s.out, step - 1, i, 2 * s.hidden) + s.hidden + j, count);
  fetch(s.row(s.g, step - 1, i, 2 * s.hidden) + 2 * j, 2 * count);
}

// sums = state weight^T, or state = sums weight for the gradients: panels `begin` .. `end` of the packed
// weight.
template <class T>
void multiply_panels(const LstmSteps<T>& s, std::int64_t step, const LstmRows<T>& rows, const T* packed,
                     std::int64_t begin, std::int64_t end) {
  const std::int64_t width = 2 * lanes_of<T>(), k = s.depth();
  const Matrix<const T> from =
      s.g ? Matrix<const T>{rows.sums, rows.sums_row, 1} : Matrix<const T>{rows.state, rows.state_row, 1};
  T* const to = s.g ? rows.state : rows.sums;
  const std::int64_t to_row = s.g ? rows.state_row : rows.sums_row;
  const std::int64_t share = s.g ? width : width / 4;  // columns of hidden in a panel
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t j = std::min(panel * share, s.hidden), count = std::min(share, s.hidden - j);
    for (std::int64_t i = 0; i < rows.count; ++i) fetch_row(s, step, rows.first + i, j, count);
    product<T>(rows.count, width, k, from, packed + panel * k * width, width, to + panel * width, to_row,
               false);
  }
}

template <class T> void begin_rows(const LstmSteps<T>& s, const LstmRows<T>& rows) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    T* const state = rows.state + i * rows.state_row;
    if (!s.g) {
      std::copy_n(s.h + (rows.first + i) * s.hidden, s.hidden, state);
    } else {
      std::fill_n(state, s.hidden, T(0));
      std::fill_n(s.dc + (rows.first + i) * s.hidden, s.hidden, T(0));
    }
  }
}

template <class T> void end_rows(const LstmSteps<T>& s, const LstmRows<T>& rows) {
  for (std::int64_t i = 0; s.g && i < rows.count; ++i)
    std::copy_n(rows.state + i * rows.state_row, s.hidden, s.dh + (rows.first + i) * s.hidden);
}

template <class T> void all_steps(const LstmSteps<T>& s, const LstmRows<T>& rows, const T* packed) {
  const std::int64_t panels = s.panels(2 * lanes_of<T>());
  begin_rows(s, rows);
  for (std::int64_t turn = 0; turn < s.time; ++turn) {
    const std::int64_t step = s.step_of(turn);
    if (s.g) cells(s, step, rows);
    multiply_panels(s, step, rows, packed, 0, panels);
    if (!s.g) cells(s, step, rows);
  }
  end_rows(s, rows);
}

const LstmKernels<float>& table_f32() {
  static constexpr LstmKernels<float> table{begin_rows<float>, cells<float>, multiply_panels<float>,
                                            end_rows<float>, all_steps<float>};
  return table;
}
const LstmKernels<double>& table_f64() {
  static constexpr LstmKernels<double> table{begin_rows<double>, cells<double>, multiply_panels<double>,
                                             end_rows<double>, all_steps<double>};
  return table;
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(table_f32);
VELDT_EXPORT(table_f64);

constexpr const char* kWhat = "the steps of an LSTM";
constexpr std::int64_t kFew = 4;          // rows
constexpr std::int64_t kLeastRows = 4;    // rows that a thread should have
constexpr std::int64_t kMostRows = 48;    // of a task
constexpr std::int64_t kLarge = 1 << 16;  // elements of a weight whose product should use all threads
constexpr std::int64_t kCells = 1 << 11;  // elements of a state per task, if a step is split

const LstmKernels<float>& lstm_kernels(float) { return VELDT_DISPATCH(table_f32)(); }
const LstmKernels<double>& lstm_kernels(double) { return VELDT_DISPATCH(table_f64)(); }

// Working memory of this thread. Rows have an extra panel at the end, so that a column does not fall into one
// cache set.
template <class T> LstmRows<T> rows_of(const LstmSteps<T>& s, std::int64_t first, std::int64_t count) {
  thread_local Room<T> room;
  const std::int64_t panel = panel_width(T());
  const auto padded = [&](std::int64_t n) { return (n + panel - 1) / panel * panel + panel; };
  LstmRows<T> rows{first, count, padded(s.hidden), padded(4 * s.hidden), nullptr, nullptr};
  rows.state = room.of(count * (rows.state_row + rows.sums_row), kWhat);
  rows.sums = rows.state + count * rows.state_row;
  return rows;
}

template <class T> void cells_in_parallel(const LstmSteps<T>& s, std::int64_t step, const LstmRows<T>& rows) {
  parallel_for(rows.count, std::max<std::int64_t>(1, kCells / s.hidden),
               [&](std::int64_t begin, std::int64_t end) {
                 lstm_kernels(T()).cells(s, step, rows.part(begin, end - begin));
               });
}

// The weight without packing: for a few rows, as when a text is generated letter by letter, or one step,
// packing would cost more than it saves.
template <class T> void run_unpacked(const LstmSteps<T>& s, const View& weight) {
  const auto batch = [](T* data, std::int64_t rows, std::int64_t columns, std::int64_t row,
                        std::int64_t column) {
    return View{data, dtype_of<T>, {1, rows, columns}, {0, row, column}};
  };
  const LstmRows<T> rows = rows_of(s, 0, s.n);
  const View h = batch(rows.state, s.n, s.hidden, rows.state_row, 1),
             transposed = batch(weight.as<T>(), s.hidden, 4 * s.hidden, 1, s.hidden),
             sums = batch(rows.sums, s.n, 4 * s.hidden, rows.sums_row, 1);
  lstm_kernels(T()).begin(s, rows);
  for (std::int64_t step = 0; step < s.time; ++step) {
    matmul(h, transposed, nullptr, sums);
    cells_in_parallel(s, step, rows);
  }
}

// If there are too few rows for the threads, they do each step together, first its product by columns, then
// its cells.
template <class T> void run_together(const LstmSteps<T>& s, const T* packed) {
  const LstmKernels<T>& use = lstm_kernels(T());
  const LstmRows<T> rows = rows_of(s, 0, s.n);
  const std::int64_t panels = s.panels(panel_width(T()));
  use.begin(s, rows);
  for (std::int64_t turn = 0; turn < s.time; ++turn) {
    const std::int64_t step = s.step_of(turn);
    if (s.g) cells_in_parallel(s, step, rows);
    parallel_for(panels, even_grain(panels, panels, 1), [&](std::int64_t begin, std::int64_t end) {
      use.multiply(s, step, rows, packed, begin, end);
    });
    if (!s.g) cells_in_parallel(s, step, rows);
  }
  use.end(s, rows);
}

// An element is the same sum in any split, so rows and columns may be split by the number of threads.
template <class T> void run_packed(const LstmSteps<T>& s, Matrix<const T> weight) {
  thread_local Room<T> room;
  const std::int64_t panel = panel_width(T());
  T* const packed = room.of(s.panels(panel) * panel * s.depth(), kWhat);
  pack_panels(s.columns(), s.depth(), weight, packed);
  if (s.n < kLeastRows * threads_here() && 4 * s.hidden * s.hidden >= kLarge) return run_together(s, packed);
  parallel_for(s.n, even_grain(s.n, kMostRows, kLeastRows), [&](std::int64_t begin, std::int64_t end) {
    lstm_kernels(T()).all(s, rows_of(s, begin, end - begin), packed);
  });
}

template <class T>
void lstm_of(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
             const View& gates, const View& out) {
  LstmSteps<T> s{};
  s.time = inputs.shape[0], s.n = inputs.shape[1], s.hidden = weight.shape[1], s.reverse = reverse;
  s.inputs = inputs.as<const T>(), s.h = h.as<const T>(), s.c = c.as<const T>();
  s.gates = gates.as<T>(), s.out = out.as<T>();
  if (s.n <= kFew || s.time == 1) return run_unpacked<T>(s, weight);
  run_packed<T>(s, {weight.as<const T>(), 1, s.hidden});
}

template <class T>
void slope_of(bool reverse, const View& weight, const View& c, const View& gates, const View& out,
              const View& g, const View& dgates, const View& dh, const View& dc) {
  LstmSteps<T> s{};
  s.time = gates.shape[0], s.n = gates.shape[1], s.hidden = weight.shape[1], s.reverse = reverse;
  s.c = c.as<const T>(), s.gates = gates.as<T>(), s.out = out.as<T>(), s.g = g.as<const T>();
  s.dgates = dgates.as<T>(), s.dh = dh.as<T>(), s.dc = dc.as<T>();
  run_packed<T>(s, {weight.as<const T>(), s.hidden, 1});
}

}  // namespace

void lstm(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
          const View& gates, const View& out) {
  if (numel(out.shape) == 0) return;
  if (out.dtype == DType::f32) return lstm_of<float>(reverse, inputs, weight, h, c, gates, out);
  lstm_of<double>(reverse, inputs, weight, h, c, gates, out);
}

void lstm_slope(bool reverse, const View& weight, const View& c, const View& gates, const View& out,
                const View& g, const View& dgates, const View& dh, const View& dc) {
  if (numel(out.shape) == 0) return;
  if (out.dtype == DType::f32) return slope_of<float>(reverse, weight, c, gates, out, g, dgates, dh, dc);
  slope_of<double>(reverse, weight, c, gates, out, g, dgates, dh, dc);
}

}  // namespace veldt::cpu
#endif
