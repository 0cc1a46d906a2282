// Finds the parts of a line that can be skipped in the search for its first elements.
// Tests: tests/ops/order_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/dtype.h"

namespace veldt::cpu {

// Elements that are checked together.
inline constexpr std::int64_t kFiltered = 64;

// The first of the whole blocks of kFiltered elements, from `begin` on, that may hold one which comes before
// line[bound]; where there is none, the end of the last whole one. Elements are neighbours in memory; a NaN
// is the largest of all.
using TopkFilter = std::int64_t (*)(const void* line, std::int64_t begin, std::int64_t end,
                                    std::int64_t bound, bool descending);

TopkFilter topk_filter(DType dtype);

}  // namespace veldt::cpu
