// How a result is compared with its oracle.
#pragma once

#include <string>
#include <vector>

#include "tests/support/values.h"

namespace veldt::test {

struct Comparison {
  bool ok = true;
  std::string message;  // where the worst element is and what it holds; empty if ok
  std::int64_t at = 0;  // its row-major position
};

// The distance of two neighbouring numbers of the dtype near 1; 0 for whole numbers and booleans.
double epsilon(DType dtype);

// What `dtype` stores for x: a value beyond the largest float is an infinity.
double rounded(double x, DType dtype);

// Each element may be off by ulps * epsilon * max(|expected|, magnitude), and never less than that many
// denormals. NaN equals NaN alone, and an infinity the same infinity. `magnitude`: the size of the terms that
// the result was summed from, one for each element; empty: none.
Comparison compare(const Tensor& result, const Values& expected, double ulps,
                   const std::vector<double>& magnitude = {});

}  // namespace veldt::test
