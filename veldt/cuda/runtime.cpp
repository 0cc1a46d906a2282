// The stream and its turn, memory, copies and errors of the device.
#include "veldt/cuda/runtime.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/cuda/device.h"

namespace veldt::cuda {
namespace {

struct OpenDevice {
  int index = -1;
  int multiprocessors = 0;
  std::size_t shared_bytes = 0, cache_bytes = 0;
  cudaStream_t stream = nullptr;
  // Two, because a pool that holds more than it is to keep gives all that is free back at each
  // synchronization, and tensors are many.
  cudaMemPool_t tensors = nullptr, scratch = nullptr;
};
OpenDevice g_device;
void (*g_make_room)() = nullptr;
thread_local cudaStream_t t_stream = nullptr;  // of a thread that computes in another one

// Memory that the device reads by itself, so that an upload need not be waited for: slots in turn, each with
// an event that tells when the device has read it. Small uploads share a slot.
class Staging {
 public:
  // Room for so many bytes, kBytes at most, once the device has done with it.
  unsigned char* take(std::size_t bytes) {
    if (memory_ == nullptr) {
      for (cudaEvent_t& event : read_)
        check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "copy to the GPU");
      void* p = nullptr;
      check(cudaMallocHost(&p, kSlots * kBytes), "take memory for copies to the GPU");
      memory_ = static_cast<unsigned char*>(p);
    }
    if (used_ + bytes > kBytes) {
      const std::size_t next = (slot_ + 1) % kSlots;
      check(cudaEventSynchronize(read_[next]), "copy to the GPU");
      slot_ = next;
      used_ = 0;
    }
    unsigned char* const room = memory_ + slot_ * kBytes + used_;
    used_ += (bytes + 255) / 256 * 256;
    return room;
  }
  // The device has been told to read it.
  void given() { check(cudaEventRecord(read_[slot_], g_device.stream), "copy to the GPU"); }

  static constexpr std::size_t kSlots = 32, kBytes = std::size_t{1} << 20;

 private:
  unsigned char* memory_ = nullptr;
  cudaEvent_t read_[kSlots] = {};
  std::size_t slot_ = 0, used_ = 0;
};
Staging g_staging;

struct Advice {
  std::string why;
  const char* fix;
};
Advice advice_for(cudaError_t result) {
  switch (result) {
    case cudaErrorInsufficientDriver:
      return {"there is no NVIDIA driver, or one too old (CUDA error 35)",
              "install or update the driver, or use --device cpu"};
    case cudaErrorNoDevice:
      return {"the driver shows no GPU (CUDA error 100)", "check nvidia-smi, or use --device cpu"};
    default:
      return {str("CUDA error ", static_cast<int>(result), ": ", cudaGetErrorString(result)),
              "start again, or use --device cpu; nvidia-smi tells whether the GPU still answers"};
  }
}

// A thread has to be told of the device before its first call.
cudaError_t use_device() {
  thread_local int current = -1;
  if (g_device.index < 0 || current == g_device.index) return cudaSuccess;
  const cudaError_t result = cudaSetDevice(g_device.index);
  if (result == cudaSuccess) current = g_device.index;
  return result;
}

Turn wait_for_turn() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;  // tensors may outlive everything else
  return Turn(mutex);
}

// `kept`: bytes that it does not give back to the device at a synchronization.
cudaMemPool_t make_pool(int device, std::uint64_t kept) {
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = device;
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &wanted), "make a memory pool on the GPU");
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept),
        "set up the GPU's memory pool");
  return pool;
}

// What was freed is there for another size, and for others, only after it has gone back to the device.
void trim() {
  check(cudaStreamSynchronize(g_device.stream), "wait for the GPU");
  for (const cudaMemPool_t pool : {g_device.tensors, g_device.scratch})
    check(cudaMemPoolTrimTo(pool, 0), "trim the GPU's memory pool");
}

void* allocate_from(cudaMemPool_t pool, std::size_t bytes) {
  const Turn turn = take_turn();
  void* p = nullptr;
  cudaError_t result = cudaMallocFromPoolAsync(&p, bytes, pool, compute_stream());
  if (result == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    if (is_capturing()) check(result, "allocate memory on the GPU");  // nothing may wait now
    trim();
    result = cudaMallocFromPoolAsync(&p, bytes, pool, compute_stream());
  }
  check(result, "allocate memory on the GPU");
  return p;
}

}  // namespace

cudaStream_t main_stream() { return g_device.stream; }
cudaStream_t compute_stream() { return t_stream != nullptr ? t_stream : g_device.stream; }
void compute_in(cudaStream_t stream) { t_stream = stream; }
int multiprocessors() { return g_device.multiprocessors; }
std::size_t shared_bytes() { return g_device.shared_bytes; }
std::size_t cache_bytes() { return g_device.cache_bytes; }

void check(cudaError_t result, const char* doing) {
  if (result == cudaSuccess) return;
  const auto [why, fix] = advice_for(result);
  static_cast<void>(cudaGetLastError());  // what has been told is not told again
  if (result == cudaErrorMemoryAllocation) {
    std::size_t free = 0, all = 0;
    const bool known = cudaMemGetInfo(&free, &all) == cudaSuccess;
    throw OutOfMemory(str("cannot ", doing),
                      known ? str("the GPU has ", free >> 20, " MiB of ", all >> 20, " MiB free") : why,
                      "use a smaller batch or a smaller network");
  }
  throw DeviceError(str("cannot ", doing), why, fix);
}

int device_count() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "use CUDA");
  return count;
}

Turn take_turn() {
  Turn turn = wait_for_turn();
  check(use_device(), "use the GPU");
  return turn;
}

Turn take_last_turn() {
  Turn turn = wait_for_turn();
  if (use_device() != cudaSuccess) static_cast<void>(cudaGetLastError());
  return turn;
}

void open_device(int index) {
  const Turn turn = wait_for_turn();
  if (g_device.index == index) return;
  if (g_device.index >= 0)
    throw DeviceError(str("cannot use the device cuda:", index),
                      str("this process already computes on cuda:", g_device.index), "use one GPU a process");
  const int count = device_count();
  if (index >= count)
    throw DeviceError(str("cannot use the device cuda:", index), str("the driver shows ", count, " GPU(s)"),
                      "they are counted from cuda:0");
  check(cudaSetDevice(index), "use the GPU");
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, index), "read the GPU's properties");
  if (properties.major < 8)
    throw DeviceError(str("cannot use the device cuda:", index),
                      str(properties.name, " has compute capability ", properties.major, '.',
                          properties.minor, ", and Veldt's kernels need 8.0"),
                      "use --device cpu, or a GPU of the Ampere generation or later");
  OpenDevice opened{index, properties.multiProcessorCount, properties.sharedMemPerBlockOptin,
                    static_cast<std::size_t>(properties.l2CacheSize)};
  // Tensors are kept by the pool of core/pool.h above, and what that gives back is to go back to the device.
  // What kernels need for a moment stays mapped, since they need it again.
  opened.tensors = make_pool(index, 0);
  opened.scratch = make_pool(index, UINT64_MAX);
  check(cudaStreamCreateWithFlags(&opened.stream, cudaStreamNonBlocking), "make a stream on the GPU");
  g_device = opened;
}

DeviceFacts device_facts(int index) {
  cudaDeviceProp p;
  check(cudaGetDeviceProperties(&p, index), "read the GPU's properties");
  DeviceFacts facts;
  facts.name = p.name;
  facts.architecture = str("sm_", p.major, p.minor);
  facts.multiprocessors = p.multiProcessorCount;
  facts.memory_bytes = p.totalGlobalMem;
  check(cudaDriverGetVersion(&facts.driver_version), "read the driver's version");
  check(cudaRuntimeGetVersion(&facts.runtime_version), "read the runtime's version");
  return facts;
}

std::size_t free_bytes() {
  const Turn turn = take_turn();
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "read how much memory the GPU has free");
  return free;
}

bool is_capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(g_device.stream, &status), "use the GPU");
  return status != cudaStreamCaptureStatusNone;
}

void* allocate(std::size_t bytes) { return allocate_from(g_device.tensors, bytes); }

void* allocate_scratch(std::size_t bytes) {
  try {
    return allocate_from(g_device.scratch, bytes);
  } catch (const OutOfMemory&) {
    if (!make_room()) throw;
    return allocate_from(g_device.scratch, bytes);
  }
}

void on_full(void (*make_room)()) { g_make_room = make_room; }

bool make_room() {
  const Turn turn = take_turn();  // so that no other thread begins a capture, which trim() would end
  if (g_make_room == nullptr || is_capturing()) return false;
  // What goes back does so in the order of the stream that trim() waits for.
  const cudaStream_t own = std::exchange(t_stream, nullptr);
  try {
    g_make_room();
  } catch (...) {
    t_stream = own;
    throw;
  }
  t_stream = own;
  trim();
  return true;
}

void deallocate(void* p, std::size_t) {
  const Turn turn = take_last_turn();
  if (p != nullptr && cudaFreeAsync(p, compute_stream()) != cudaSuccess)
    static_cast<void>(cudaGetLastError());
}

void upload(void* to, const void* from, std::size_t bytes) {
  const Turn turn = take_turn();
  if (bytes > 0 && is_capturing()) check(cudaErrorStreamCaptureUnsupported, "copy to the GPU");
  // The caller may change `from` as soon as this returns.
  for (std::size_t at = 0; at < bytes; at += Staging::kBytes) {
    const std::size_t count = std::min(Staging::kBytes, bytes - at);
    unsigned char* const slot = g_staging.take(count);
    std::memcpy(slot, static_cast<const unsigned char*>(from) + at, count);
    check(cudaMemcpyAsync(static_cast<unsigned char*>(to) + at, slot, count, cudaMemcpyHostToDevice,
                          g_device.stream),
          "copy to the GPU");
    g_staging.given();
  }
}

void download(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const Turn turn = take_turn();
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, g_device.stream), "copy from the GPU");
  check(cudaStreamSynchronize(g_device.stream), "compute on the GPU");
}

void synchronize() {
  const Turn turn = take_turn();
  check(cudaStreamSynchronize(g_device.stream), "compute on the GPU");
}

}  // namespace veldt::cuda
