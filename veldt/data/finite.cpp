// Searches tensors for the first number that is not finite.
#include "veldt/data/finite.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

// Whether a number has all of these exponent bits set, so that it is infinite or NaN.
template <class Bits> bool any_has(const void* numbers, std::int64_t count, Bits exponent) {
  constexpr std::int64_t kRun = 64;  // of a fixed length, so that it is vectorised
  const auto* at = static_cast<const unsigned char*>(numbers);
  for (; count >= kRun; count -= kRun, at += kRun * sizeof(Bits)) {
    Bits bits[kRun];
    std::memcpy(bits, at, sizeof bits);
    Bits found = 0;
    for (const Bits b : bits) found |= (b & exponent) == exponent;
    if (found) return true;
  }
  for (; count > 0; --count, at += sizeof(Bits)) {
    Bits b;
    std::memcpy(&b, at, sizeof b);
    if ((b & exponent) == exponent) return true;
  }
  return false;
}

bool all_finite(const Tensor& t) {
  const void* numbers = t.view().data;
  switch (t.dtype()) {
    case DType::f32: return !any_has<std::uint32_t>(numbers, t.numel(), 0x7f800000);
    case DType::f64: return !any_has<std::uint64_t>(numbers, t.numel(), 0x7ff0000000000000);
    case DType::bf16: return !any_has<std::uint16_t>(numbers, t.numel(), 0x7f80);
    case DType::f16: return !any_has<std::uint16_t>(numbers, t.numel(), 0x7c00);
    default: return true;
  }
}

}  // namespace

std::string first_not_finite(const Tensor& t) {
  if (!is_float(t.dtype())) return {};
  const Tensor here = contiguous(to(t.detach(), Device{}));
  if (all_finite(here)) return {};
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
