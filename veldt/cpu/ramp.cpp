// Numbers that follow from their position: ramps, and the positions at which a mask holds.
#include <cstdint>

#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/kernels/convert.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements a task

template <class T> T value_at(const Ramp& r, std::int64_t i) {
  if constexpr (std::is_integral_v<T>)  // unsigned, because it may wrap
    return scalar::store<T>(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(r.whole_first) +
                                  static_cast<std::uint64_t>(r.whole_step) * static_cast<std::uint64_t>(i)));
  else
    return scalar::store<T>(r.first + r.span * static_cast<double>(i) / r.parts);
}

}  // namespace

void ramp(const Ramp& r, const View& out, Stream) {
  scalar::with_type(out.dtype, [&](auto type) {
    using T = decltype(type);
    const std::int64_t stride = out.strides[0];
    T* to = out.as<T>();
    parallel_for(out.shape[0], kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i * stride] = value_at<T>(r, i);
    });
  });
}

void positions(const View& mask, const View& out, Stream) {
  const bool* holds = mask.as<const bool>();
  std::int64_t* to = out.as<std::int64_t>();
  const std::int64_t n = numel(mask.shape), most = out.shape[0];
  for (std::int64_t i = 0, found = 0; i < n && found < most; ++i)
    if (holds[i]) to[found++] = i;
}

}  // namespace veldt::cpu
