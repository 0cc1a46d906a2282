// CUDA's functions for core/backend.h.
// Tests: tests/cuda/op_table_test.cpp
#pragma once

#include "veldt/core/backend.h"

namespace veldt::cuda {

inline constexpr char kName[] = "cuda";

bool multiplies(DType, std::int64_t m, std::int64_t n);
std::size_t mlp_workspace(const MlpStep&, std::int64_t n, bool wants_dx);

// The entries, each in the file of its family, without the optional ones.
#define VELDT_OPTIONAL(...)
#define VELDT_ENTRY(name, parameters, ...) void name parameters;
#define VELDT_ANSWER(result, name, parameters, ...) result name parameters;
#include "veldt/core/entries.inc"

}  // namespace veldt::cuda
