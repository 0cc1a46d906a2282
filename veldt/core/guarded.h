// Wraps each function of a backend in a check that it has a kernel for the dtype, so that kernels need no
// checks.
// Tests: tests/core/entries_test.cpp
#pragma once

#include <tuple>
#include <type_traits>

#include "veldt/core/entries.h"
#include "veldt/core/view.h"

namespace veldt {

// The dtype of view `index` among the arguments of a call.
template <class First, class... Rest>
DType dtype_of_view(int index, const First& first, const Rest&... rest) {
  if constexpr (std::is_same_v<First, View>) {
    if (index-- == 0) return first.dtype;
  } else if constexpr (std::is_same_v<First, const View*>) {
    if (index-- == 0) return first->dtype;
  }
  if constexpr (sizeof...(Rest) > 0) return dtype_of_view(index, rest...);
  return DType::f32;  // not reached: each entry has that view
}

template <const char* device, Entry entry, auto function, DTypes taken> struct Guarded;
template <const char* device, Entry entry, class Result, class... Args, Result (*function)(Args...),
          DTypes taken>
struct Guarded<device, entry, function, taken> {
  static Result call(Args... args) {
    const DType given = dtype_of_view(facts_of(entry).typed, args...);
    if (!taken.has(given)) [[unlikely]]
      refuse_dtype(device, facts_of(entry).name, given, taken);
    return function(args...);
  }
};

// `function` of a backend, for its table; it takes the dtypes of the list unless others are given.
template <const char* device, Entry entry, auto function, DTypes taken = facts_of(entry).dtypes>
inline constexpr auto guarded = &Guarded<device, entry, function, taken>::call;
template <const char* device, Entry entry, auto function>
inline constexpr auto guarded<device, entry, function, kAnyDType> = function;

}  // namespace veldt
