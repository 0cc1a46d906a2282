// Examples that are windows of a sequence of tokens or of a time series.
// Tests: tests/data/sequences_test.cpp
#pragma once

#include <cstdint>

#include "veldt/data/dataset.h"

namespace veldt::data {

// Example i of tokens i64 [n]: {tokens i .. i + length - 1, the same shifted by one}, both [length]. There
// are n - length. Throws ShapeError for another dtype or rank, ConfigError for a length that leaves none.
DatasetPtr token_windows(const Tensor& tokens, std::int64_t length);

// Example i of a series [n, features]: {rows i .. i + past - 1, the `future` rows after them}. Throws as
// token_windows().
DatasetPtr series_windows(const Tensor& series, std::int64_t past, std::int64_t future = 1);

}  // namespace veldt::data
