// Kernels of one warp that use the instructions of tensor cores (veldt/cuda/mma.h), for the emulated device
// and, in a library of their own, for a real one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veldt::test {

// What a warp works on, matrices in rows.
struct MmaOperands {
  alignas(16) float a[16 * 16];
  float b[16 * 8], d[16 * 8];
  alignas(16) std::uint16_t rows[32 * 8];  // of four matrices of 8 x 8
  std::uint16_t loaded[4 * 8 * 8], transposed[4 * 8 * 8];
  float numbers[32];
  std::uint32_t tf32[32], bf16_pairs[32];  // of numbers; of a number and its negative
  float tanh[32];                          // of numbers
};

// multiply_bf16: d = 1 + a b, a [16, 16]; multiply_tf32: the same, a [16, 8]; multiply_f32: d += a b, a [16,
// 8], by the products of which f32 stacks of layers are made.
enum class MmaKernel : int { multiply_bf16, multiply_tf32, multiply_f32, load, transpose, round };

// Runs it on the device: null, or what went wrong.
using RunMma = const char*(MmaKernel, MmaOperands*);
extern "C" __attribute__((visibility("default"))) RunMma veldt_run_mma;

}  // namespace veldt::test
