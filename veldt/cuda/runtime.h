// The device that this process computes on: its stream, its errors, and how kernels are started.
// Tests: tests/cuda/runtime_test.cpp
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "veldt/core/view.h"
#include "veldt/cuda/gpu.h"

namespace veldt::cuda {

// The stream that kernels and copies are put into, in order. Stream 0 is never used: it waits for all others.
cudaStream_t compute_stream();
// That of tensors; compute_stream() is another one on a thread that has said so, with null for this one
// again.
cudaStream_t main_stream();
// Memory is taken and given back in the order of compute_stream() too.
void compute_in(cudaStream_t stream);
// Multiprocessors of the device.
int multiprocessors();
// Bytes of shared memory that a block may have.
std::size_t shared_bytes();
// Bytes of the cache that all multiprocessors share.
std::size_t cache_bytes();

// Throws OutOfMemory or DeviceError that says what was being done ("start a kernel on the GPU") and what CUDA
// said.
void check(cudaError_t result, const char* doing);

// Held while something is put into the stream, so that a thread which captures work captures no other's.
using Turn = std::unique_lock<std::recursive_mutex>;
Turn take_turn();
// The same for what lets go of something. It also runs at the end of the process and after the device was
// lost, where nothing is left to do about errors, and throws none.
Turn take_last_turn();
// Whether the stream keeps what it is given for a graph.
bool is_capturing();

inline constexpr unsigned kThreads = 256;  // a block, where a kernel has no reason for another number

// Blocks of kThreads for n elements, at most as many as keep the device busy: kernels step through the rest.
inline dim3 blocks_for(std::int64_t n) {
  const std::int64_t wanted = (n + kThreads - 1) / kThreads;
  return dim3(
      static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, std::int64_t{16} * multiprocessors())));
}

// Throws Error where numbers change from step to step (numbers.h), and the kernel to be started takes none.
void check_launch();

#if defined(__CUDACC__) || defined(VELDT_GPU_EMULATION)
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::size_t shared,
            const Arguments&... arguments) {
  const Turn turn = take_turn();
  check_launch();
  check(gpu::launch(kernel, blocks, threads, shared, compute_stream(), arguments...),
        "start a kernel on the GPU");
}

// The element this thread begins with, and how far it steps.
__device__ inline std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t element_step() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }
#endif

}  // namespace veldt::cuda
