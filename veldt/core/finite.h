// Finds infinities and NaN in memory.
// Tests: tests/data/finite_test.cpp, tests/onnx/optimize_test.cpp
#pragma once

#include "veldt/core/view.h"

namespace veldt {

// Whether no number is infinite or NaN: of a contiguous view in the host's memory, of any dtype.
bool all_finite(const View& numbers);

}  // namespace veldt
