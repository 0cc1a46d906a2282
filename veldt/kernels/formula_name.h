// The names of the elementwise formulas, for observers of a table's calls (tensor/intercept.h).
// Tests: tests/tensor/profile_test.cpp
#pragma once

#include "veldt/core/entries.h"

namespace veldt {

// The name of formula `op` of unary, unary_slope, binary, ternary or compare: "tanh"; null after the last.
const char* formula_name(Entry entry, int op);

}  // namespace veldt
