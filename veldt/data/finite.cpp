// Searches tensors for the first number that is not finite.
#include "veldt/data/finite.h"

#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/finite.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
std::string first_not_finite(const Tensor& t) {
  if (!is_float(t.dtype())) return {};
  const Tensor here = contiguous(to(t.detach(), Device{}));
  if (all_finite(here.view())) return {};
  const std::vector<double> values = to(here, DType::f64).values<double>();
  std::int64_t at = 0;
  while (std::isfinite(values[static_cast<std::size_t>(at)])) ++at;
  const double value = values[static_cast<std::size_t>(at)];
  std::string place;
  for (int axis = t.rank() - 1; axis >= 0; --axis) {
    place = str(at % t.size(axis), place.empty() ? "" : ", ", place);
    at /= t.size(axis);
  }
  return str(value, " at [", place, "] of ", t.dtype(), ' ', t.shape());
}

}  // namespace veldt::data
