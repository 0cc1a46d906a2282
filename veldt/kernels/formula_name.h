// The names of the elementwise formulas, for those who look at a table's calls (tensor/intercept.h).
#pragma once

namespace veldt {

// Of formula `op` of the table's entry "unary", "unary_slope", "binary" or "compare": "tanh".
const char* formula_name(const char* entry, int op);

}  // namespace veldt
