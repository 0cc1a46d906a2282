// The instructions of tensor cores that kernels use, each with an emulated twin (tests/support/gpu_mma.h).
// What a thread of a warp holds is told with g = lane / 4 and t = lane % 4 (PTX ISA, "matrix fragments for
// mma"):
//
//   d [16, 8]   d[0], d[1]: row g, columns 2t, 2t + 1;  d[2], d[3]: row g + 8
//   bf16  a [16, 16]  pairs of columns 2t, 2t + 1:  a[0] row g, a[1] row g + 8, a[2] and a[3] 8 columns on
//         b [16, 8]   pairs of rows 2t, 2t + 1 of column g:  b[0], b[1] 8 rows on
//   tf32  a [16, 8]   a[0] row g, column t; a[1] row g + 8; a[2] and a[3] 4 columns on
//         b [8, 8]    b[0] row t, column g; b[1] row t + 4
// Tests: tests/cuda/mma_test.cpp
#pragma once

#include "veldt/cuda/gpu.h"

#if defined(__CUDACC__) && !defined(VELDT_GPU_EMULATION)
namespace veldt::gpu {

// d += a b, of bf16 numbers in pairs, the first in the lower half.
__device__ __forceinline__ void mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// d += a b, of tf32 numbers: floats whose lower 13 bits do not count.
__device__ __forceinline__ void mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Four matrices of 8 rows of 16 bytes from shared memory: lane l gives the address of row l % 8 of matrix
// l / 8, aligned to 16, and to[i] gets bytes 4t .. 4t + 3 of row g of matrix i.
__device__ __forceinline__ void load_rows(unsigned (&to)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// Four matrices of 8 x 8 numbers of 16 bits from shared memory, transposed: lane l gives the address of row
// l % 8 of matrix l / 8, aligned to 16, and to[i] gets rows 2t and 2t + 1 of column g of matrix i.
__device__ __forceinline__ void load_transposed(unsigned (&to)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// Rounded to 10 bits of mantissa, ties away from 0.
__device__ __forceinline__ unsigned to_tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

// Both rounded to nearest even.
__device__ __forceinline__ unsigned to_bf16_pair(float low, float high) {
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

}  // namespace veldt::gpu
#endif
