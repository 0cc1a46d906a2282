// The CPU as a Backend: Highway kernels chosen for the processor at run time, and oneDNN for matrix products.
// Tests: tests/core/entries_test.cpp, tests/ops/targets_test.cpp
#pragma once

#include "veldt/core/backend.h"

namespace veldt::cpu {

const Backend& backend();

// The instruction set that the kernels were chosen for: "SSE4", "AVX2" or "AVX3", as Highway calls AVX-512.
const char* instruction_set();

}  // namespace veldt::cpu
