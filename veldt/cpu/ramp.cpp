// Numbers computed from their position: ramps, and the positions at which a mask is true.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/ramp.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/rows.h"
#include "veldt/kernels/convert.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {

// Elements begin .. begin + n - 1, below 2^31 of them.
template <class T>
void ramp_row(const Ramp& r, std::int64_t begin, void* row, std::int64_t stride, std::int64_t n) {
  T* __restrict to = static_cast<T*>(row);
  const auto start = static_cast<double>(begin);  // start + i is exact
  const auto count = static_cast<std::int32_t>(n);
  if constexpr (std::is_integral_v<T>) {  // unsigned, because it may wrap
    const auto first = static_cast<std::uint64_t>(r.whole_first),
               step = static_cast<std::uint64_t>(r.whole_step);
    const auto at = [&](std::int64_t i) {
      return scalar::store<T>(
          static_cast<std::int64_t>(first + step * static_cast<std::uint64_t>(begin + i)));
    };
    if (stride == 1)
      for (std::int64_t i = 0; i < n; ++i) to[i] = at(i);
    else
      for (std::int64_t i = 0; i < n; ++i) to[i * stride] = at(i);
  } else if (stride == 1 && r.parts == 1) {
    for (std::int32_t i = 0; i < count; ++i)
      to[i] = scalar::store<T>(r.first + r.span * (start + static_cast<double>(i)));
  } else if (stride == 1) {
    for (std::int32_t i = 0; i < count; ++i)
      to[i] = scalar::store<T>(r.first + r.span * (start + static_cast<double>(i)) / r.parts);
  } else {
    for (std::int32_t i = 0; i < count; ++i)
      to[i * stride] = scalar::store<T>(r.first + r.span * (start + static_cast<double>(i)) / r.parts);
  }
}

cpu::RampRow ramp_row_of(DType dtype) {
  cpu::RampRow row = nullptr;
  scalar::with_type(dtype, [&](auto type) { row = &ramp_row<decltype(type)>; });
  return row;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(ramp_row_of);
}
namespace cpu {

void ramp(const Ramp& r, const View& out) {
  constexpr std::int64_t kGrain = 1 << 14;  // elements a task
  const RampRow row = VELDT_DISPATCH(ramp_row_of)(out.dtype);
  const auto bytes = static_cast<std::int64_t>(size_of(out.dtype));
  const std::int64_t stride = out.strides[0], n = out.shape[0];
  parallel_for((n + kGrain - 1) / kGrain, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t begin = first * kGrain; begin < std::min(n, last * kGrain); begin += kGrain)
      row(r, begin, out.as<char>() + begin * stride * bytes, stride, std::min(kGrain, n - begin));
  });
}

namespace {

// Ascending row-major positions as rows of coordinates. A line of the last dimension shares all except one.
void write_coordinates(const Shape& shape, const std::int64_t* found, std::int64_t count, std::int64_t* to) {
  const int last = shape.rank() - 1;
  const std::int64_t length = shape[last];
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t line = found[i] / length, first = line * length;
    std::int64_t end = i;
    for (; end < count && found[end] < first + length; ++end)
      to[end * shape.rank() + last] = found[end] - first;
    std::int64_t rest = line;
    for (int d = last - 1; d >= 0; rest /= shape[d--])
      for (std::int64_t k = i; k < end; ++k) to[k * shape.rank() + d] = rest % shape[d];
    i = end;
  }
}

}  // namespace

// Pieces of the mask are counted, then written after those before them. Each position is written, and
// overwritten by the next one unless it is true: no branch that might be mispredicted.
void positions(const View& mask, const View& out) {
  constexpr std::int64_t kPiece = 1 << 14, kBlock = 512;
  const auto* const holds = mask.as<const std::uint8_t>();
  std::int64_t* const to = out.as<std::int64_t>();
  const std::int64_t n = numel(mask.shape), most = out.shape[0], pieces = (n + kPiece - 1) / kPiece;
  std::vector<std::int64_t> ends(static_cast<std::size_t>(pieces));
  parallel_for(pieces, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p)
      ends[static_cast<std::size_t>(p)] =
          std::count_if(holds + p * kPiece, holds + std::min(n, (p + 1) * kPiece),
                        [](std::uint8_t byte) { return byte != 0; });
  });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t written = begin > 0 ? ends[static_cast<std::size_t>(begin - 1)] : 0;
    for (std::int64_t first = begin * kPiece; first < std::min(n, end * kPiece) && written < most;
         first += kBlock) {
      std::int64_t block[kBlock + 1], found = 0;
      for (std::int64_t i = first; i < std::min(n, first + kBlock); ++i) {
        block[found] = i;
        found += holds[i] != 0;
      }
      write_coordinates(mask.shape, block, std::min(found, most - written), to + written * mask.shape.rank());
      written += found;
    }
  });
}

}  // namespace cpu
}  // namespace veldt
#endif
