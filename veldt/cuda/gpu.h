// What every kernel file includes instead of CUDA's headers. Compiled for a device it is a thin cover of the
// CUDA runtime. With VELDT_GPU_EMULATION (the path of tests/support/gpu_emulation.h) the same kernels run on
// the CPU, one fiber a thread, so that they are tested where there is no GPU.
//
// Rules that make both lives possible: kernels are started by gpu::launch, shared memory comes from
// GPU_SHARED or GPU_DYNAMIC_SHARED, shuffles and votes are of whole warps, and inline PTX lives in wrappers
// here or beside it, each with a twin in the emulation.
// Tests: tests/cuda/runtime_test.cpp
#pragma once

#ifdef VELDT_GPU_EMULATION
#include VELDT_GPU_EMULATION
#else
#include <cuda_runtime.h>

#include <cstddef>

#ifdef __CUDACC__
// `name`: an array of `count` (a constant) elements, shared by the block; not initialised.
#define GPU_SHARED(T, name, count) __shared__ T name[count]
// `name`: a pointer to the bytes that the launch asked for, aligned to 16.
#define GPU_DYNAMIC_SHARED(T, name)                                     \
  extern __shared__ __align__(16) unsigned char veldt_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(veldt_dynamic_shared)

// Before a loop: its body is compiled once.
#define GPU_ROLLED _Pragma("unroll 1")
// So many turns (a constant) at a time, between which nothing moves from register to register.
#define GPU_PRAGMA(words) _Pragma(#words)
#define GPU_UNROLLED_BY(count) GPU_PRAGMA(unroll count)
// Its counter picks elements of arrays that are to stay in registers.
#define GPU_UNROLLED _Pragma("unroll")

namespace veldt::gpu {

inline constexpr unsigned kWholeWarp = 0xFFFFFFFFu;

// The hardware's: to 4e-5 up to 100 pi; to 2 units in the last place where b is below 2^126; to 2^-11 of the
// result (PTX ISA, tanh.approx.f32).
__device__ __forceinline__ float fast_sin(float x) { return __sinf(x); }
__device__ __forceinline__ float fast_cos(float x) { return __cosf(x); }
__device__ __forceinline__ float fast_quotient(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ float fast_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// a - b, where a result that is not a number has the bits 0x7FFFFFFF, as all of the hardware's have.
__device__ __forceinline__ float difference(float a, float b) { return a - b; }

// Puts a grid of `blocks` times `threads` into the stream, with `shared` bytes of dynamic shared memory.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::size_t shared,
                   cudaStream_t stream, const Arguments&... arguments) {
  // Above 48 KB a kernel has to be told beforehand. Never less than it was told once: a graph may hold a
  // launch that wants more.
  if (shared > 48 * 1024) {
    const void* const function = reinterpret_cast<const void*>(kernel);
    cudaFuncAttributes known;
    if (const cudaError_t refused = cudaFuncGetAttributes(&known, function)) return refused;
    if (known.maxDynamicSharedSizeBytes < static_cast<int>(shared))
      if (const cudaError_t refused = cudaFuncSetAttribute(
              function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)))
        return refused;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

}  // namespace veldt::gpu
#endif
#endif
