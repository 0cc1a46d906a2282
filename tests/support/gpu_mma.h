// The twins of veldt/cuda/mma.h, a part of gpu_emulation.h. They exchange what the lanes of a warp hold as
// the hardware does, after the layouts of the PTX ISA, so a fragment in the wrong place gives a wrong
// product.
#pragma once

#include <bit>
#include <cmath>

namespace veldt::gpu {
namespace emulation {

struct Fragments {
  unsigned a[4], b[2];
};

// Tensor cores add with the sum cut off, not rounded (Ootomo & Yokota 2022, section 3).
inline float toward_zero(double x) {
  const float near = static_cast<float>(x);
  const bool above = std::fabs(static_cast<double>(near)) > std::fabs(x);
  return above ? std::bit_cast<float>(std::bit_cast<unsigned>(near) - 1) : near;
}

// number(bits, k): the number at column k of a, or row k of b, in the registers of the lane that has it. A
// lane has `kTogether` neighbours in a register, and every 4 * kTogether columns the next registers begin.
template <int kDepth, int kTogether, class Number>
void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], Number number) {
  Fragments own;
  std::memcpy(own.a, a, sizeof own.a);
  std::memcpy(own.b, b, sizeof own.b);
  std::memcpy(slot_of_lane(lane()).bytes, &own, sizeof own);
  wait_for_warp();
  const Slot* const lanes = &slot_of_lane(0);
  const auto of = [&](unsigned l) { return reinterpret_cast<const Fragments*>(lanes[l].bytes); };
  const unsigned g = lane() / 4, t = lane() % 4;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = g + i / 2 * 8, column = 2 * t + i % 2;
    double sum = static_cast<double>(d[i]);
    for (unsigned k = 0; k < kDepth; ++k) {
      const unsigned part = k / (4 * kTogether), holder = k / kTogether % 4;
      sum += number(of(row % 8 * 4 + holder)->a[row / 8 + 2 * part], k) *
             number(of(column * 4 + holder)->b[part], k);
    }
    d[i] = toward_zero(sum);
  }
  wait_for_warp();
}

}  // namespace emulation

inline void mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  emulation::multiply<16, 2>(d, a, b, [](unsigned bits, unsigned k) {
    return static_cast<double>(std::bit_cast<float>(k % 2 == 0 ? bits << 16 : bits & 0xFFFF0000u));
  });
}

inline void mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  emulation::multiply<8, 1>(d, a, b, [](unsigned bits, unsigned) {
    return static_cast<double>(std::bit_cast<float>(bits & 0xFFFFE000u));
  });
}

inline void load_rows(unsigned (&to)[4], const void* row) {
  using namespace emulation;
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) __builtin_trap();
  std::memcpy(slot_of_lane(lane()).bytes, &row, sizeof row);
  wait_for_warp();
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned* from;
    std::memcpy(&from, slot_of_lane(i * 8 + lane() / 4).bytes, sizeof from);
    to[i] = from[lane() % 4];
  }
  wait_for_warp();
}

inline void load_transposed(unsigned (&to)[4], const void* row) {
  using namespace emulation;
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) __builtin_trap();
  std::memcpy(slot_of_lane(lane()).bytes, &row, sizeof row);
  wait_for_warp();
  const unsigned g = lane() / 4, t = lane() % 4;
  for (unsigned i = 0; i < 4; ++i) {
    std::uint16_t number[2];
    for (unsigned r = 0; r < 2; ++r) {
      const std::uint16_t* from;
      std::memcpy(&from, slot_of_lane(i * 8 + 2 * t + r).bytes, sizeof from);
      number[r] = from[g];
    }
    to[i] = number[0] | static_cast<unsigned>(number[1]) << 16;
  }
  wait_for_warp();
}

inline unsigned to_tf32(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x);
  return std::isfinite(x) ? (bits + 0x1000u) & 0xFFFFE000u : bits;
}

inline unsigned to_bf16_pair(float low, float high) {
  const auto rounded = [](float x) {
    const unsigned bits = std::bit_cast<unsigned>(x);
    return x != x ? 0x7FFFu : (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  };
  return rounded(low) | rounded(high) << 16;
}

}  // namespace veldt::gpu
