// Kernels are compiled once for each instruction set, and the ones in use are called. Highway's own
// HWY_EXPORT does the same, but needs a shared library whose initialiser measures the clock for 3 ms at every
// start.
// Tests: tests/ops/targets_test.cpp
#pragma once

#include "hwy/highway.h"
#include "veldt/cpu/instruction_set.h"

#if (HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET > HWY_AVX2  // better ones are smaller numbers
#define VELDT_OF_AVX2(function) &N_AVX2::function
#else
#define VELDT_OF_AVX2(function) &HWY_STATIC_DISPATCH(function)
#endif
#if (HWY_TARGETS & HWY_AVX3) && HWY_STATIC_TARGET > HWY_AVX3
#define VELDT_OF_AVX3(function) &N_AVX3::function
#else
#define VELDT_OF_AVX3(function) &HWY_STATIC_DISPATCH(function)
#endif

// VELDT_EXPORT(function), where HWY_ONCE: of a function that each HWY_NAMESPACE has. VELDT_DISPATCH(function)
// is then the one of the set in use.
#define VELDT_EXPORT(function)                                               \
  constexpr decltype(&HWY_STATIC_DISPATCH(function)) function##_by_set[] = { \
      &HWY_STATIC_DISPATCH(function), VELDT_OF_AVX2(function), VELDT_OF_AVX3(function)}
#define VELDT_DISPATCH(function) (function##_by_set[static_cast<int>(::veldt::cpu::instruction_set_in_use())])
