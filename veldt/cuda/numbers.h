// Numbers that a kernel is given anew at every step: an optimizer's rate, the place in a stream of draws,
// where the next batch lies. In a step that is kept on the device (steps.cu) they lie in a table there, a row
// for each step to come.
// Tests: tests/cuda/plan_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "veldt/cuda/gpu.h"

namespace veldt::cuda {

struct TablePlace {
  const void* rows = nullptr;          // of one kernel's numbers; null: they come with the launch
  const std::int64_t* step = nullptr;  // which row is due, on the device
  bool computes = true;                // false: the numbers alone were wanted, the launch is to be left out
};
// True between changing(true) and changing(false).
bool numbers_change();
// Puts a kernel's numbers where the kernel will find them, if they change.
TablePlace place_numbers(const void* numbers, std::size_t bytes);

// What the kernel takes, and reads by calling it.
template <class T> struct Numbers {
  static_assert(std::is_trivially_copyable_v<T>);
  T given;
  const T* rows;
  const std::int64_t* step;
  __device__ T operator()() const { return rows == nullptr ? given : rows[*step]; }
};

// Nothing if the launch is to be left out.
template <class T> std::optional<Numbers<T>> numbers_of_step(const T& given) {
  const TablePlace place = place_numbers(&given, sizeof(T));
  if (!place.computes) return std::nullopt;
  return Numbers<T>{given, static_cast<const T*>(place.rows), place.step};
}

}  // namespace veldt::cuda
