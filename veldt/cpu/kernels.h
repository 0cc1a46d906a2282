// The CPU's functions for core/backend.h.
// Tests: tests/core/entries_test.cpp, tests/ops/forward_test.cpp, tests/ops/targets_test.cpp
#pragma once

#include "veldt/core/backend.h"

namespace veldt::cpu {

inline constexpr char kName[] = "cpu";

void* allocate(std::size_t bytes);
void deallocate(void* p, std::size_t bytes);
void upload(void* to, const void* from, std::size_t bytes);
void download(void* to, const void* from, std::size_t bytes);
void synchronize();

bool multiplies(DType, std::int64_t m, std::int64_t n);
bool freezes_convolutions();
bool multiplies_integers();
bool steps_integers();
std::size_t mlp_workspace(const MlpStep&, std::int64_t n, bool wants_dx);

// The entries, each in the file of its family.
#define VELDT_ENTRY(name, parameters, ...) void name parameters;
#define VELDT_ANSWER(result, name, parameters, ...) result name parameters;
#include "veldt/core/entries.inc"

}  // namespace veldt::cpu
