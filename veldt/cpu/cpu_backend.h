// The CPU as a Backend: Highway kernels chosen for the processor at run time, and oneDNN for matrix products.
// Tests: tests/core/entries_test.cpp, tests/ops/targets_test.cpp
#pragma once

#include "veldt/core/backend.h"

namespace veldt::cpu {

const Backend& backend();

// The instruction set that the kernels were chosen for, such as "AVX3_ZEN4" or "SSE4".
const char* instruction_set();

}  // namespace veldt::cpu
