// Recurrent steps over whole sequences, each as one op: used by layers.
// Tests: tests/support/op_rows_recurrent.cpp, tests/cpu/lstm_test.cpp, tests/ops/autocast_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

// All steps of an LSTM (nn/recurrent.h has the formulas): inputs [time, n, 4 hidden], the contributions of
// each step to the gates i, f, g, o; weight [4 hidden, hidden]; h and c, the state before, [n, hidden].
// Returns [time, n, 2 hidden], h of each step followed by c. `backward`: from the last step to the first. All
// have one float dtype; bf16 and f16 are computed as f32 and rounded once. Throws ShapeError naming what does
// not fit.
Tensor lstm_steps(const Tensor& inputs, const Tensor& weight, const Tensor& h, const Tensor& c,
                  bool backward = false);

}  // namespace veldt
