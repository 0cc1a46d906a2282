// One step of an LSTM for one element (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al.
// 2000).
// Tests: tests/cpu/lstm_test.cpp, tests/cuda/lines_test.cpp
#if defined(VELDT_KERNELS_LSTM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_LSTM_INL
#undef VELDT_KERNELS_LSTM_INL
#else
#define VELDT_KERNELS_LSTM_INL
#endif

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/open-inl.h"

// In memory order: input, forget, cell, output.
template <class F> struct LstmGates { F i, f, g, o; };

// The gates from the sums of their inputs.
template <class F> VELDT_FN LstmGates<F> lstm_gates(LstmGates<F> sums) {
  return {logistic(sums.i), logistic(sums.f), tanh(sums.g), logistic(sums.o)};
}

template <class F> VELDT_FN F lstm_cell(LstmGates<F> y, F c_before) { return y.f * c_before + y.i * y.g; }
template <class F> VELDT_FN F lstm_output(LstmGates<F> y, F c) { return y.o * tanh(c); }

// The gradients by the sums, from those by h and c; dc becomes the gradient by c_before.
template <class F> VELDT_FN LstmGates<F> lstm_slope(LstmGates<F> y, F c, F c_before, F dh, F& dc) {
  const F one(1), level = tanh(c), by_c = dc + dh * y.o * (one - level * level);
  dc = by_c * y.f;
  return {by_c * y.g * y.i * (one - y.i), by_c * c_before * y.f * (one - y.f), by_c * y.i * (one - y.g * y.g),
          dh * level * y.o * (one - y.o)};
}

#include "veldt/kernels/close-inl.h"
#endif
