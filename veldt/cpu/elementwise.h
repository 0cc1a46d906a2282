// Walks views of one shape in step and hands out contiguous rows, so that an elementwise kernel is written
// for plain arrays alone. Strided or broadcast operands pass through a small buffer on the stack.
// Tests: tests/cpu/elementwise_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/function_ref.h"
#include "veldt/core/view.h"

namespace veldt::cpu {

inline constexpr int kMaxOperands = 4;

// Called with one pointer an operand, each to `n` contiguous elements. The last operand is the output.
using RowKernel = FunctionRef<void(char* const* operands, std::int64_t n)>;

// What a kernel finds where a view holds bf16 or f16: floats, which are rounded as they are stored, or the
// two bytes themselves.
enum class Halves { as_f32, as_they_are };

// `views`: `count` views of equal shape, inputs first, the output last (not broadcast). Runs in parallel;
// `kernel` must not throw, and each element's result must depend on that element's operands alone.
void for_each_row(const View* const* views, int count, const RowKernel& kernel,
                  Halves halves = Halves::as_they_are);

}  // namespace veldt::cpu
