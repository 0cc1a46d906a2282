// Compares with tolerances, and whole tensors.
#include "veldt/ops/close.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  if (!(rtol >= 0) || !(atol >= 0))
    throw ConfigError(str("isclose cannot take the tolerances ", rtol, " and ", atol),
                      "both must be 0 or more", "give the largest difference that is still close");
  const NoGrad off;
  const Tensor x = to(a, DType::f64), y = to(b, DType::f64);
  const Tensor apart = abs(x - y), near = less_equal(apart, rtol * abs(y) + atol);
  const Tensor close = logical_or(equal(a, b), logical_and(isfinite(apart), near));
  return equal_nan ? logical_or(close, logical_and(isnan(a), isnan(b))) : close;
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return all(isclose(a, b, rtol, atol, equal_nan)).item<bool>();
}

bool array_equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && all(equal(a, b)).item<bool>();
}

}  // namespace veldt
