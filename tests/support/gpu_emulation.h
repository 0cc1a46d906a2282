// CUDA on the CPU, for tests: kernels run one block at a time, one fiber a thread, and the part of the CUDA
// runtime that veldt/cuda uses works on a range of memory that nothing but a kernel or a copy may touch.
// veldt/cuda/gpu.h includes this file instead of CUDA's headers when VELDT_GPU_EMULATION names it.
//
// It is stricter than a device. Streams do nothing until somebody waits for them. Memory comes filled with
// 0xCD, shared memory too. A memory pool gives back at each synchronization what its threshold does not keep.
// The order in which threads run between barriers can be changed (Order). A block in which some threads leave
// while others wait, or wait for a warp where others wait for the block, is reported. More threads than a
// kernel's launch bounds are refused. Races of threads and of blocks are found where kernels are compiled for
// that (gpu_races.cpp). What it cannot show: the device's memory order, how many registers a kernel takes,
// and speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <tuple>

// --- the language

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
// As many bytes that do nothing lie before a kernel's first instruction, and tell (bound_of()). sizeof makes
// a number of a constant's name, for g++ wants one here; so it may not depend on a template's parameters.
#define __launch_bounds__(threads, ...) \
  __attribute__((patchable_function_entry(sizeof(char[threads]), sizeof(char[threads]))))
#define __restrict__ __restrict
#define __grid_constant__
#define __align__(n) alignas(n)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // NOLINT
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

namespace veldt::gpu::emulation {

// The order in which the blocks of a grid run, and the threads of a block from one barrier to the next. At
// first that of VELDT_GPU_ORDER in the environment (reverse, shuffled), else forward.
enum class Order { forward, reverse, shuffled };
void set_order(Order order);
Order order();

// Whether kernels are compiled so that races of their threads are faults (VELDT_GPU_RACES of CMake).
bool finds_races();
// What went wrong in a kernel since the last call: "" if nothing did.
std::string take_fault();

// Counters since the last reset: what a steady training step must keep at 0 or 1.
struct Counts {
  std::int64_t launches = 0, copies_to_device = 0, copies_to_host = 0, allocations = 0, graph_launches = 0;
  std::int64_t mappings = 0;  // a memory pool had to take more of the device's memory: up to a millisecond
};
Counts counts();
void reset_counts();
// The names of the profiler's ranges that were opened since the last call.
std::set<std::string> take_ranges();

// Faults to plant. Bytes of memory that the device has (0: 512 MiB); whether there is a driver; whether the
// device stops answering.
void set_memory(std::size_t bytes);
void set_driver(bool present);
void lose_device(bool lost);
// Whether a pointer lies in the device's memory.
bool owns(const void* p);
// Whether the running thread was told of the device.
bool has_device();

// --- what the macros below stand for

struct Slot {
  alignas(16) unsigned char bytes[64];
};
const dim3& thread_index();
const dim3& block_index();
const dim3& block_size();
const dim3& grid_size();
unsigned lane();
Slot& slot_of_lane(unsigned lane);  // in the warp of the running thread
void wait_for_block();
// Shuffles, votes and products of a warp stop its threads; but what one has written to memory the others may
// read after __syncwarp() alone.
void wait_for_warp(bool orders_memory = false);
void* shared_array(const void* key, std::size_t bytes);
void* dynamic_shared();
// The launch bounds of a kernel: threads of a block.
unsigned bound_of(const void* kernel);
// Puts a grid into a stream. run_grid: runs it now, and tells what went wrong in it.
int start(std::function<void()> thread, dim3 blocks, dim3 threads, std::size_t shared, void* stream,
          unsigned bound = 1024);
std::string run_grid(const std::function<void()>& thread, dim3 blocks, dim3 threads, std::size_t shared);

// Where a thread of a kernel is: how many barriers of its block and of its warp it has passed, and whether an
// address is the block's shared memory.
struct Moment {
  unsigned block = 0, thread = 0, block_barriers = 0, warp_barriers = 0;
};
bool in_kernel();
Moment moment();
bool is_shared(const void* p);
// Tells of a fault in the kernel that runs.
void report(const std::string& fault);
// Counts grids: accesses of different ones are never at the same time.
std::uint64_t grid_number();

template <class T, class From> T exchange(T value, From from) {
  static_assert(sizeof(T) <= sizeof(Slot::bytes));
  std::memcpy(slot_of_lane(lane()).bytes, &value, sizeof value);
  wait_for_warp();
  T got;
  std::memcpy(&got, slot_of_lane(from(lane())).bytes, sizeof got);
  wait_for_warp();
  return got;
}

// The lanes of which holds(the value they gave) is true.
template <class T, class Holds> unsigned lanes_where(T value, Holds holds) {
  static_assert(sizeof(T) <= sizeof(Slot::bytes));
  std::memcpy(slot_of_lane(lane()).bytes, &value, sizeof value);
  wait_for_warp();
  unsigned bits = 0;
  for (unsigned l = 0; l < 32; ++l) {
    T given;
    std::memcpy(&given, slot_of_lane(l).bytes, sizeof given);
    bits |= static_cast<unsigned>(holds(given)) << l;
  }
  wait_for_warp();
  return bits;
}

}  // namespace veldt::gpu::emulation

#define threadIdx (::veldt::gpu::emulation::thread_index())
#define blockIdx (::veldt::gpu::emulation::block_index())
#define blockDim (::veldt::gpu::emulation::block_size())
#define gridDim (::veldt::gpu::emulation::grid_size())

#define GPU_SHARED(T, name, count)                                                                \
  static const char name##_key = 0; /* one for each kernel: where the array is, block by block */ \
  T* const name = static_cast<T*>(::veldt::gpu::emulation::shared_array(&name##_key, sizeof(T) * (count)))
#define GPU_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::veldt::gpu::emulation::dynamic_shared())

#define GPU_ROLLED
#define GPU_UNROLLED_BY(count)
#define GPU_UNROLLED

inline void __syncthreads() { veldt::gpu::emulation::wait_for_block(); }
inline void __syncwarp(unsigned = 0xFFFFFFFFu) { veldt::gpu::emulation::wait_for_warp(true); }
inline void __threadfence() {}

template <class T> T __shfl_sync(unsigned, T value, unsigned source) {
  return veldt::gpu::emulation::exchange(value, [=](unsigned) { return source % 32; });
}
template <class T> T __shfl_down_sync(unsigned, T value, unsigned distance) {
  return veldt::gpu::emulation::exchange(value,
                                         [=](unsigned l) { return l + distance < 32 ? l + distance : l; });
}
template <class T> T __shfl_up_sync(unsigned, T value, unsigned distance) {
  return veldt::gpu::emulation::exchange(value, [=](unsigned l) { return l >= distance ? l - distance : l; });
}
template <class T> T __shfl_xor_sync(unsigned, T value, unsigned mask) {
  return veldt::gpu::emulation::exchange(value, [=](unsigned l) { return (l ^ mask) % 32; });
}
inline unsigned __ballot_sync(unsigned, bool holds) {
  return veldt::gpu::emulation::lanes_where(holds, [](bool given) { return given; });
}
template <class T> unsigned __match_any_sync(unsigned, T value) {
  return veldt::gpu::emulation::lanes_where(value, [value](T given) { return given == value; });
}
inline bool __any_sync(unsigned mask, bool holds) { return __ballot_sync(mask, holds) != 0; }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline std::uint64_t __umul64hi(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}

// One fiber runs at a time, so these are plain. A search for races (gpu_races.cpp) is told of them.
#define GPU_ATOMIC template <class T> __attribute__((no_sanitize("thread")))
namespace veldt::gpu::emulation {
void note_atomic(const void* at, std::size_t bytes);
}

GPU_ATOMIC T atomicAdd(T* at, T value) {
  veldt::gpu::emulation::note_atomic(at, sizeof *at);
  const T before = *at;
  *at = static_cast<T>(before + value);
  return before;
}
GPU_ATOMIC T atomicMax(T* at, T value) {
  veldt::gpu::emulation::note_atomic(at, sizeof *at);
  const T before = *at;
  if (value > before) *at = value;
  return before;
}
GPU_ATOMIC T atomicMin(T* at, T value) {
  veldt::gpu::emulation::note_atomic(at, sizeof *at);
  const T before = *at;
  if (value < before) *at = value;
  return before;
}
GPU_ATOMIC T atomicCAS(T* at, T expected, T value) {
  veldt::gpu::emulation::note_atomic(at, sizeof *at);
  const T before = *at;
  if (before == expected) *at = value;
  return before;
}

// --- the runtime: the functions of CUDA that veldt/cuda calls, with their names and error codes

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
using cudaStream_t = void*;
using cudaMemPool_t = void*;
using cudaEvent_t = void*;
using cudaGraph_t = void*;
using cudaGraphExec_t = void*;
enum { cudaStreamNonBlocking = 1, cudaStreamCaptureModeThreadLocal = 1, cudaEventDisableTiming = 2 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum { cudaMemAllocationTypePinned = 1, cudaMemLocationTypeDevice = 1 };
struct cudaMemPoolProps {
  int allocType = 0;
  struct {
    int type = 0, id = 0;
  } location;
};

struct cudaDeviceProp {
  char name[256] = "emulated device";
  std::size_t totalGlobalMem = 0, sharedMemPerBlockOptin = 227 * 1024;
  int major = 9, minor = 0, multiProcessorCount = 4, l2CacheSize = 1 << 20;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaSetDevice(int device);  // of the thread that calls it
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes);
cudaError_t cudaMallocFromPoolAsync(void** p, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all);
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream);
cudaError_t cudaMallocHost(void** p, std::size_t bytes);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone = 0, cudaStreamCaptureStatusActive = 1 };
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

// How many blocks a multiprocessor has at a time: what threads and dynamic shared memory leave room for. A
// thread that was not told of the device would ask about the first one, whichever is meant.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int threads,
                                                          std::size_t shared) {
  if (!veldt::gpu::emulation::has_device()) return cudaErrorInvalidDevice;
  const std::size_t by_threads = 2048 / static_cast<std::size_t>(threads),
                    by_memory = 227 * 1024 / (shared + 1024);
  *blocks = static_cast<int>(by_threads < by_memory ? by_threads : by_memory);
  return cudaSuccess;
}

// Of NVTX: marks in a profiler's timeline.
int nvtxRangePushA(const char* name);
int nvtxRangePop();

namespace veldt::gpu {

inline constexpr unsigned kWholeWarp = 0xFFFFFFFFu;

inline float fast_sin(float x) { return __builtin_sinf(x); }
inline float fast_cos(float x) { return __builtin_cosf(x); }
inline float fast_quotient(float a, float b) { return a / b; }
inline float difference(float a, float b) {
  const float d = a - b;
  const std::uint32_t not_a_number = 0x7FFFFFFFu;
  float result = d;
  if (d != d) std::memcpy(&result, &not_a_number, sizeof result);
  return result;
}
// As far off as the hardware's may be, in a direction that depends on x alone; but never beyond 1.
inline float fast_tanh(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const float y = __builtin_tanhf(x), off = (bits * 0x9E3779B1u >> 31) != 0 ? 0x1p-11f : -0x1p-11f;
  const float moved = y + y * off;
  return moved > 1 ? 1 : moved < -1 ? -1 : moved;
}

// Arguments are kept by value, as a real launch does.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::size_t shared,
                   cudaStream_t stream, const Arguments&... arguments) {
  static_assert((std::size_t{0} + ... + sizeof(Parameters)) <= 4096, "a kernel's arguments have 4 KB");
  std::tuple<Parameters...> kept{Parameters(arguments)...};
  return static_cast<cudaError_t>(
      emulation::start([kernel, kept] { std::apply(kernel, kept); }, blocks, threads, shared, stream,
                       emulation::bound_of(reinterpret_cast<const void*>(kernel))));
}

}  // namespace veldt::gpu

#include "tests/support/gpu_mma.h"
