// The instruction sets that kernels are compiled for, and the one in use.
// Tests: tests/ops/targets_test.cpp
#pragma once

#include <atomic>
#include <vector>

namespace veldt::cpu {

// Each includes those before it. The base is SSE4 on x86-64.
enum class InstructionSet : int { base, avx2, avx3 };

// Those that kernels are compiled for and the processor has, the best first. Throws DeviceError if it has
// none.
std::vector<InstructionSet> instruction_sets();
// Uses kernels of this one, which must be one of those, from now on: for tests and benchmarks, before the
// first kernel.
void use_instruction_set(InstructionSet set);
// As Highway names it: "SSE4", "AVX2", or "AVX3", which is AVX-512.
const char* name_of(InstructionSet set);

inline constinit std::atomic<int> g_instruction_set{-1};  // until the first kernel is called

// The best, unless another one was set.
inline InstructionSet instruction_set_in_use() {
  const int set = g_instruction_set.load(std::memory_order_relaxed);
  if (set >= 0) [[likely]]
    return static_cast<InstructionSet>(set);
  const InstructionSet best = instruction_sets().front();
  use_instruction_set(best);
  return best;
}

}  // namespace veldt::cpu
