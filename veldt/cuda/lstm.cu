// The steps of an LSTM: each a product and one kernel for all gates and states.
#include "veldt/kernels/lstm-inl.h"

#include <utility>

#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

template <class T> __device__ inline scalar::LstmGates<T> load_gates(const T* row, std::int64_t hidden) {
  return {row[0], row[hidden], row[2 * hidden], row[3 * hidden]};
}
template <class T>
__device__ inline void store_gates(const scalar::LstmGates<T>& y, std::int64_t hidden, T* row) {
  row[0] = y.i;
  row[hidden] = y.f;
  row[2 * hidden] = y.g;
  row[3 * hidden] = y.o;
}

// gates [n, 4 hidden]: their sums, then the gates. Rows of c_before are `before_row` apart, out is [n, 2
// hidden].
template <class T>
__global__ void __launch_bounds__(kThreads)
    step_kernel(std::int64_t n, std::int64_t hidden, const T* c_before, std::int64_t before_row, T* gates,
                T* out) {
  for (std::int64_t at = first_element(); at < n * hidden; at += element_step()) {
    const std::int64_t i = at / hidden, j = at % hidden;
    T *const row = gates + i * 4 * hidden + j, *const state = out + i * 2 * hidden + j;
    const scalar::LstmGates<T> y = scalar::lstm_gates(load_gates(row, hidden));
    const T c = scalar::lstm_cell(y, c_before[i * before_row + j]);
    store_gates(y, hidden, row);
    state[0] = scalar::lstm_output(y, c);
    state[hidden] = c;
  }
}

// dh and dc [n, hidden]: of the step behind; with `last` there is none. dc becomes that of this one.
template <class T>
__global__ void __launch_bounds__(kThreads)
    slope_kernel(std::int64_t n, std::int64_t hidden, bool last, const T* c_before, std::int64_t before_row,
                 const T* gates, const T* out, const T* g, const T* dh, T* dgates, T* dc) {
  for (std::int64_t at = first_element(); at < n * hidden; at += element_step()) {
    const std::int64_t i = at / hidden, j = at % hidden, two = i * 2 * hidden + j;
    T by_c = g[two + hidden] + (last ? T(0) : dc[at]);
    const T by_h = g[two] + (last ? T(0) : dh[at]);
    store_gates(scalar::lstm_slope(load_gates(gates + i * 4 * hidden + j, hidden), out[two + hidden],
                                   c_before[i * before_row + j], by_h, by_c),
                hidden, dgates + i * 4 * hidden + j);
    dc[at] = by_c;
  }
}

// An array [time, n, width] in the order of the steps.
struct Order {
  std::int64_t time;
  bool reverse;

  View at(const View& all, std::int64_t step, std::int64_t columns) const {
    View v = all;
    v.data = static_cast<char*>(all.data) + (reverse ? time - 1 - step : step) * all.strides[0] *
                                                static_cast<std::int64_t>(size_of(all.dtype));
    v.shape = {1, all.shape[1], columns};
    return v;
  }
};

// [rows, cols] as a batch of one.
View one(View v) {
  v.shape = {1, v.shape[0], v.shape[1]};
  v.strides = {0, v.strides[0], v.strides[1]};
  return v;
}
View transposed(View v) {
  std::swap(v.shape[1], v.shape[2]);
  std::swap(v.strides[1], v.strides[2]);
  return v;
}

// c of the step before: of [n, hidden] or of [n, 2 hidden].
template <class T> struct CellBefore {
  const T* data;
  std::int64_t row;
  CellBefore(const Order& order, const View& c, const View& out, std::int64_t step)
      : data(step == 0 ? c.as<const T>()
                       : order.at(out, step - 1, c.shape[1]).template as<const T>() + c.shape[1]),
        row(step == 0 ? c.shape[1] : 2 * c.shape[1]) {}
};

template <class T>
void run(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
         const View& gates, const View& out) {
  const std::int64_t n = inputs.shape[1], hidden = weight.shape[1];
  const Order order{inputs.shape[0], reverse};
  for (std::int64_t step = 0; step < order.time; ++step) {
    const View sums = order.at(gates, step, 4 * hidden), added = order.at(inputs, step, 4 * hidden);
    matmul(step == 0 ? one(h) : order.at(out, step - 1, hidden), transposed(one(weight)), &added, sums);
    const CellBefore<T> before(order, c, out, step);
    launch(step_kernel<T>, blocks_for(n * hidden), kThreads, 0, n, hidden, before.data, before.row,
           sums.as<T>(), order.at(out, step, hidden).template as<T>());
  }
}

template <class T>
void run_slope(bool reverse, const View& weight, const View& c, const View& gates, const View& out,
               const View& g, const View& dgates, const View& dh, const View& dc) {
  const std::int64_t n = gates.shape[1], hidden = weight.shape[1];
  const Order order{gates.shape[0], reverse};
  for (std::int64_t step = order.time - 1; step >= 0; --step) {
    const CellBefore<T> before(order, c, out, step);
    const View by = order.at(dgates, step, 4 * hidden);
    launch(slope_kernel<T>, blocks_for(n * hidden), kThreads, 0, n, hidden, step == order.time - 1,
           before.data, before.row, order.at(gates, step, hidden).template as<const T>(),
           order.at(out, step, hidden).template as<const T>(),
           order.at(g, step, hidden).template as<const T>(), dh.as<const T>(), by.as<T>(), dc.as<T>());
    matmul(by, one(weight), nullptr, one(dh));
  }
}

}  // namespace

void lstm(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
          const View& gates, const View& out) {
  if (numel(out.shape) == 0) return;
  if (out.dtype == DType::f32) return run<float>(reverse, inputs, weight, h, c, gates, out);
  run<double>(reverse, inputs, weight, h, c, gates, out);
}

void lstm_slope(bool reverse, const View& weight, const View& c, const View& gates, const View& out,
                const View& g, const View& dgates, const View& dh, const View& dc) {
  if (numel(out.shape) == 0) return;
  if (out.dtype == DType::f32) return run_slope<float>(reverse, weight, c, gates, out, g, dgates, dh, dc);
  run_slope<double>(reverse, weight, c, gates, out, g, dgates, dh, dc);
}

}  // namespace veldt::cuda
