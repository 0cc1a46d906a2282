// Walks views of one shape in step and hands out contiguous rows, so that an elementwise kernel is written
// for plain arrays alone. Strided or broadcast operands pass through a small buffer on the stack.
#pragma once

#include <cstdint>
#include <functional>

#include "veldt/core/view.h"

namespace veldt::cpu {

inline constexpr int kMaxOperands = 4;

// Called with one pointer an operand, each to `n` contiguous elements. The last operand is the output.
using RowKernel = std::function<void(char* const* operands, std::int64_t n)>;

// `views`: `count` views of equal shape, inputs first, the output last (not broadcast). Runs in parallel;
// `kernel` must not throw, and each element's result must depend on that element's operands alone.
void for_each_row(const View* const* views, int count, const RowKernel& kernel);

// Throws DeviceError unless there are arithmetic kernels for the dtype: f32 and f64.
void check_elementwise(DType t);

}  // namespace veldt::cpu
