// Ranges in a profiler's timeline, through NVTX. Always there: without a profiler one costs a few
// nanoseconds.
// Tests: tests/cuda/op_table_test.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "veldt/cuda/gpu.h"
#ifndef VELDT_GPU_EMULATION
#include <nvtx3/nvToolsExt.h>
#endif

namespace veldt::cuda {

class Range {
 public:
  explicit Range(const char* name) { static_cast<void>(nvtxRangePushA(name)); }
  ~Range() { static_cast<void>(nvtxRangePop()); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

// A name that is a template's argument.
template <std::size_t size> struct RangeName {
  char text[size];
  constexpr RangeName(const char (&name)[size]) {
    std::copy_n(name, size, text);
  }  // NOLINT: a literal is one
};

template <RangeName name, auto function> struct InRange;
template <RangeName name, class Result, class... Args, Result (*function)(Args...)>
struct InRange<name, function> {
  static Result call(Args... args) {
    const Range range(name.text);
    return function(std::forward<Args>(args)...);
  }
};
// `function`, each call of which is a range of that name.
template <RangeName name, auto function> inline constexpr auto ranged = &InRange<name, function>::call;

}  // namespace veldt::cuda
