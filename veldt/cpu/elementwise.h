// Walks views of one shape together and passes contiguous rows, so that elementwise kernels only handle plain
// arrays. Strided or broadcast operands pass through a small buffer on the stack.
// Tests: tests/cpu/elementwise_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/function_ref.h"
#include "veldt/core/view.h"

namespace veldt::cpu {

inline constexpr int kMaxOperands = 4;

// Called with one pointer per operand, each to `n` contiguous elements. The last operand is the output.
using RowKernel = FunctionRef<void(char* const* operands, std::int64_t n)>;

// How a kernel gets bf16 or f16: as floats, which are rounded when stored, or as the two bytes themselves.
enum class Halves { as_f32, as_they_are };

// `views`: `count` views of equal shape, inputs first, the output last (not broadcast). Runs in parallel;
// `kernel` must not throw, and each element's result must only depend on that element's operands.
void for_each_row(const View* const* views, int count, const RowKernel& kernel,
                  Halves halves = Halves::as_they_are);

}  // namespace veldt::cpu
