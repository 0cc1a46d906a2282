// The row kernels of one elementwise op, as the SIMD targets pass them to the dispatcher.
// Tests: tests/cpu/elementwise_test.cpp, tests/ops/targets_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/backend.h"
#include "veldt/core/rng.h"
#include "veldt/kernels/type_list.h"

namespace veldt::cpu {

using UnaryForward = void (*)(Scalars, const void* x, void* y, std::int64_t n);
using UnarySlope = void (*)(Scalars, const void* x, const void* y, const void* g, void* out, std::int64_t n);

struct UnaryRows {
  UnaryForward forward_f32, forward_f64;
  UnarySlope slope_f32, slope_f64;
};

using BinaryRow = void (*)(const void* a, const void* b, void* out, std::int64_t n);

struct BinaryRows {
  BinaryRow f32, f64;
};

using TernaryRow = void (*)(const void* a, const void* b, const void* c, void* out, std::int64_t n);

struct TernaryRows {
  TernaryRow f32, f64;
};

// compare.cpp
using WhereRow = void (*)(const std::uint8_t* condition, const void* a, const void* b, void* out,
                          std::int64_t n);

// copy.cpp
using ConvertRow = void (*)(const void* from, void* to, std::int64_t n);
using FillRow = void (*)(double value, void* to, std::int64_t n);

// random.cpp: numbers from draw `first` on
using RandomRow = void (*)(RandomKind, const Rng&, std::uint64_t first, void* out, std::int64_t n);

// ramp.cpp: elements begin .. begin + n - 1
using RampRow = void (*)(const Ramp&, std::int64_t begin, void* row, std::int64_t stride, std::int64_t n);

// whole.cpp: of whole numbers or booleans, of UnaryOps and BinaryOps. Throw DeviceError if the formula has
// none.
UnaryForward whole_unary_row(int op, DType dtype);
BinaryRow whole_row(int op, DType dtype);

}  // namespace veldt::cpu
