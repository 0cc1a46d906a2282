// Compares a result with its oracle in units of the last place, and says where they differ first.
#include "tests/support/allclose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "veldt/core/error.h"

namespace veldt::test {

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::bf16: return 0x1p-7;
    case DType::f16: return 0x1p-10;
    case DType::f32: return static_cast<double>(std::numeric_limits<float>::epsilon());
    case DType::f64: return std::numeric_limits<double>::epsilon();
    default: return 0;
  }
}

double rounded(double x, DType dtype) {
  if (dtype != DType::f32 || !std::isfinite(x)) return x;
  // 2^128 - 2^103: from here on, rounding to nearest gives an infinity (a cast would be undefined).
  if (std::fabs(x) >= 0x1.ffffffp127) return std::copysign(std::numeric_limits<double>::infinity(), x);
  return static_cast<double>(static_cast<float>(x));
}

Comparison compare(const Tensor& result, const Values& expected, double ulps,
                   const std::vector<double>& magnitude) {
  if (result.shape() != expected.shape)
    return {false, str("the shape is ", result.shape(), ", not ", expected.shape)};
  const double eps = epsilon(result.dtype());
  const double smallest = result.dtype() == DType::f64 ? std::numeric_limits<double>::min()
                          : result.dtype() == DType::f16
                              ? 0x1p-14
                              : static_cast<double>(std::numeric_limits<float>::min());
  const Values got = read(result);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.v.size(); ++i) {
    const double g = got.v[i], e = rounded(expected.v[i], result.dtype());
    if (g == e || (std::isnan(g) && std::isnan(e))) continue;
    const double size =
        std::max({std::fabs(expected.v[i]), smallest, magnitude.empty() ? 0.0 : magnitude[i]});
    double off = std::fabs(g - expected.v[i]) / (eps * size);
    if (!std::isfinite(off)) off = std::numeric_limits<double>::max();
    if (off > worst) worst = off, at = i;
  }
  if (worst <= ulps) return {};
  std::ostringstream numbers;
  numbers.precision(17);
  numbers << got.v[at] << ", not " << expected.v[at];
  return {false,
          str("element ", index_of(got.shape, static_cast<std::int64_t>(at)), " of ", got.shape, ' ',
              result.dtype(), " is ", numbers.str(), ": ", worst, " ulp off, ", ulps, " are allowed"),
          static_cast<std::int64_t>(at)};
}

}  // namespace veldt::test
