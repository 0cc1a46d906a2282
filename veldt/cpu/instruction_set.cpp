// Finds out which instruction sets the processor has.
#include "veldt/cpu/instruction_set.h"

#include "hwy/highway.h"
#include "veldt/core/error.h"
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace veldt::cpu {
namespace {

#if HWY_ARCH_X86
// Features that not every compiler's builtin knows by name. AVX2 only counts if its registers are enabled.
bool has_f16c_and_lzcnt() {
  unsigned a, b, c, d, more_a, more_b, more_c, more_d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 &&
         __get_cpuid(0x80000001, &more_a, &more_b, &more_c, &more_d) != 0 && (more_c & bit_LZCNT) != 0;
}

bool has_sse4() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2");
}
bool has_avx2() {
  return has_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c_and_lzcnt();
}
bool has_avx3() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd");
}
bool has_base() {
  return HWY_STATIC_TARGET > HWY_AVX2 ? has_sse4() : HWY_STATIC_TARGET > HWY_AVX3 ? has_avx2() : has_avx3();
}
#else
bool has_avx2() { return false; }
bool has_avx3() { return false; }
bool has_base() { return true; }
#endif

}  // namespace

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
  if ((HWY_TARGETS & HWY_AVX3) && HWY_STATIC_TARGET > HWY_AVX3 && has_avx3())
    sets.push_back(InstructionSet::avx3);
  if ((HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET > HWY_AVX2 && has_avx2())
    sets.push_back(InstructionSet::avx2);
  if (has_base()) sets.push_back(InstructionSet::base);
  if (sets.empty())
    throw DeviceError(
        "Veldt cannot compute on this processor",
        str("it lacks ", name_of(InstructionSet::base), ", the least that kernels are compiled for"),
        "run it on a later one; an emulator may have to be told to pass the instructions on");
  return sets;
}

void use_instruction_set(InstructionSet set) {
  g_instruction_set.store(static_cast<int>(set), std::memory_order_relaxed);
}

const char* name_of(InstructionSet set) {
  if (set == InstructionSet::avx3) return "AVX3";
  return set == InstructionSet::avx2 ? "AVX2" : &HWY_STR(HWY_NAMESPACE)[2];  // N_SSE4
}

}  // namespace veldt::cpu
