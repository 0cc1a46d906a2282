// The emulated device: its memory, streams and graphs, and the functions of CUDA's runtime over them.
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/gpu_emulation.h"

namespace veldt::gpu::emulation {
namespace {

// --- memory: a range of addresses that is closed unless the device works

constexpr std::size_t kRange = std::size_t{512} << 20;

// What a pool has of the device's memory, and how much of that is handed out.
struct MemoryPool {
  std::size_t reserved = 0, used = 0, threshold = 0;
};

struct DeviceBlock {
  std::size_t bytes;
  MemoryPool* pool;
};

struct DeviceMemory {
  std::recursive_mutex mutex;  // the device does one thing at a time
  char* base = nullptr;
  std::size_t limit = kRange;
  std::map<std::size_t, DeviceBlock> blocks;  // by offset
  std::vector<MemoryPool*> pools;
  MemoryPool of_graphs;   // addresses alone
  std::size_t taken = 0;  // of the limit
  std::size_t top = 0;    // what was never handed out beyond it stays closed
  int open = 0;
  bool driver = true, lost = false;
  std::string fault;
  Counts counts;
  std::set<std::string> ranges;
  cudaError_t last = cudaSuccess;

  DeviceMemory() {
    void* p = mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    base = p == MAP_FAILED ? nullptr : static_cast<char*>(p);
  }
  bool owns(const void* p) const { return p >= base && p < base + kRange; }
};

DeviceMemory& device() {
  static DeviceMemory& d = *new DeviceMemory;  // tensors in static objects may outlive everything else
  return d;
}

// While one lives, device memory can be read and written.
class Opened {
 public:
  Opened() {
    if (device().open++ == 0) mprotect(device().base, device().top, PROT_READ | PROT_WRITE);
  }
  ~Opened() {
    if (--device().open == 0) mprotect(device().base, device().top, PROT_NONE);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
};

using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t remember(cudaError_t e) {
  if (e != cudaSuccess) device().last = e;
  return e;
}

// --- streams and graphs: work that waits to be asked for

using Work = std::vector<std::function<void()>>;

// What a graph that can be launched has of the device's memory for each of its pieces of work, made ready and
// then launched for the first time: about as much as on a device.
constexpr std::size_t kNode = 1024;

struct Graph {
  Work work;
  std::vector<void*> memory;         // taken and given back within it: its own as long as it lives
  std::size_t live = 0, needed = 0;  // bytes of that, now and at most: it has them from its first launch on
  std::size_t taken = 0;             // of the device
};

// More of the device's memory for a graph, if there is as much.
bool take_for(Graph& graph, std::size_t bytes) {
  DeviceMemory& d = device();
  if (d.taken + bytes > d.limit) return false;
  d.taken += bytes;
  graph.taken += bytes;
  return true;
}

struct Queue {
  Work waiting;
  bool capturing = false, invalid = false;
  std::thread::id by;  // who captures
  Graph captured;
};

// What must not happen while a stream is captured: the capture is lost.
cudaError_t invalidate(Queue& q) {
  q.invalid = true;
  return remember(cudaErrorStreamCaptureUnsupported);
}

cudaError_t put(void* stream, std::function<void()> work) {
  if (device().lost) return remember(cudaErrorDevicesUnavailable);
  if (stream == nullptr) return remember(cudaErrorInvalidValue);  // stream 0 orders what has no order: banned
  Queue& q = *static_cast<Queue*>(stream);
  if (q.capturing && q.invalid) return remember(cudaErrorStreamCaptureInvalidated);
  (q.capturing ? q.captured.work : q.waiting).push_back(std::move(work));
  return cudaSuccess;
}

// Gives back to the device what is not handed out, down to `kept` bytes.
void shrink(MemoryPool& pool, std::size_t kept) {
  const std::size_t left = std::max(pool.used, std::min(pool.reserved, kept));
  device().taken -= pool.reserved - left;
  pool.reserved = left;
}

cudaError_t drain(Queue& q) {
  if (q.capturing) return invalidate(q);
  const Opened opened;
  Work work;
  work.swap(q.waiting);
  for (const auto& w : work) w();
  for (MemoryPool* pool : device().pools) shrink(*pool, pool->threshold);
  if (device().lost) return remember(cudaErrorDevicesUnavailable);
  return device().fault.empty() ? cudaSuccess : remember(cudaErrorLaunchFailure);
}

void free_now(void* p) {
  DeviceMemory& d = device();
  const auto found = d.blocks.find(static_cast<std::size_t>(static_cast<char*>(p) - d.base));
  if (found == d.blocks.end()) {
    d.fault = "memory was freed that nobody had";
    return;
  }
  std::memset(p, 0xDD, found->second.bytes);
  found->second.pool->used -= found->second.bytes;
  d.blocks.erase(found);
  // Opening and closing costs by the page, so a large block is not to leave its mark for good.
  const std::size_t top =
      d.blocks.empty() ? 0
                       : (d.blocks.rbegin()->first + d.blocks.rbegin()->second.bytes + 4095) / 4096 * 4096;
  if (d.top - top < (std::size_t{1} << 20)) return;
  madvise(d.base + top, d.top - top, MADV_DONTNEED);
  mprotect(d.base + top, d.top - top, PROT_NONE);
  d.top = top;
}

thread_local bool t_has_device = false;

std::vector<Queue*>& queues() {
  static std::vector<Queue*>& all = *new std::vector<Queue*>;
  return all;
}

}  // namespace

std::string take_fault() {
  std::string fault;
  fault.swap(device().fault);
  device().last = cudaSuccess;
  return fault;
}
Counts counts() { return device().counts; }
void reset_counts() { device().counts = {}; }
std::set<std::string> take_ranges() {
  const Lock lock(device().mutex);
  return std::exchange(device().ranges, {});
}
void set_memory(std::size_t bytes) { device().limit = bytes == 0 ? kRange : std::min(bytes, kRange); }
void set_driver(bool present) { device().driver = present; }
void lose_device(bool lost) { device().lost = lost; }
bool owns(const void* p) { return device().owns(p); }
bool has_device() { return t_has_device; }

int start(std::function<void()> thread, dim3 blocks, dim3 threads, std::size_t shared, void* stream,
          unsigned bound) {
  const Lock lock(device().mutex);
  const std::size_t n = std::size_t{threads.x} * threads.y * threads.z;
  const bool possible = n > 0 && n <= 1024 && threads.z <= 64 && blocks.x > 0 && blocks.y > 0 &&
                        blocks.z > 0 && blocks.y <= 65535 && blocks.z <= 65535 && blocks.x < 1u << 31 &&
                        shared <= 227 * 1024;
  if (!possible) return remember(cudaErrorInvalidValue);
  if (n > bound) return remember(cudaErrorLaunchOutOfResources);
  ++device().counts.launches;
  return put(stream, [thread = std::move(thread), blocks, threads, shared] {
    const std::string fault = run_grid(thread, blocks, threads, shared);
    if (device().fault.empty()) device().fault = fault;
  });
}

}  // namespace veldt::gpu::emulation

using namespace veldt::gpu::emulation;  // NOLINT: the functions below are this file's other half

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorDevicesUnavailable: return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorLaunchFailure:
      return device().fault.empty() ? "unspecified launch failure" : device().fault.c_str();
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    default: return "invalid argument";
  }
}
cudaError_t cudaGetLastError() { return std::exchange(device().last, cudaSuccess); }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = device().driver ? 1 : 0;
  return device().driver ? cudaSuccess : cudaErrorInsufficientDriver;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  if (index != 0) return cudaErrorInvalidDevice;
  *properties = {};
  properties->totalGlobalMem = device().limit;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int index) {
  if (device().lost) return remember(cudaErrorDevicesUnavailable);
  if (index != 0) return cudaErrorInvalidDevice;
  t_has_device = true;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = device().driver ? 13000 : 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(device().mutex);
  auto* const q = new Queue;
  queues().push_back(q);
  *stream = q;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(device().mutex);
  return stream == nullptr ? remember(cudaErrorInvalidValue) : drain(*static_cast<Queue*>(stream));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(device().mutex);
  std::erase(queues(), static_cast<Queue*>(stream));
  delete static_cast<Queue*>(stream);
  return cudaSuccess;
}
// At once, which is one of the orders in which a device may do it.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  void* const other = *static_cast<cudaStream_t*>(event);
  return other == nullptr || other == stream ? cudaSuccess : cudaStreamSynchronize(other);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  const Lock lock(device().mutex);
  *pool = device().pools.emplace_back(new MemoryPool);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute != cudaMemPoolAttrReleaseThreshold) return remember(cudaErrorInvalidValue);
  static_cast<MemoryPool*>(pool)->threshold = *static_cast<std::uint64_t*>(value);
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  const Lock lock(device().mutex);
  shrink(*static_cast<MemoryPool*>(pool), bytes);
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** p, std::size_t bytes, cudaMemPool_t from, cudaStream_t stream) {
  const Lock lock(device().mutex);
  DeviceMemory& d = device();
  Queue& q = *static_cast<Queue*>(stream);
  MemoryPool& pool = q.capturing ? d.of_graphs : *static_cast<MemoryPool*>(from);
  if (d.lost) return remember(cudaErrorDevicesUnavailable);
  ++d.counts.allocations;
  // First fit.
  const std::size_t size = (std::max<std::size_t>(bytes, 1) + 511) / 512 * 512;
  std::size_t at = 0;
  for (const auto& [offset, block] : d.blocks) {
    if (offset - at >= size) break;
    at = offset + block.bytes;
  }
  const std::size_t more = q.capturing ? 0 : std::max(pool.used + size, pool.reserved) - pool.reserved;
  if (d.taken + more > d.limit || at + size > kRange) return remember(cudaErrorMemoryAllocation);
  if (more > 0) ++d.counts.mappings;
  d.taken += more;
  pool.reserved += more;
  pool.used += size;
  if (q.capturing) q.captured.needed = std::max(q.captured.needed, q.captured.live += size);
  d.blocks[at] = {size, &pool};
  d.top = std::max(d.top, (at + size + 4095) / 4096 * 4096);
  *p = d.base + at;
  const Opened opened;
  std::memset(*p, 0xCD, size);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  const Lock lock(device().mutex);
  *all = device().limit;
  *free = *all - std::min(*all, device().taken);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  const Lock lock(device().mutex);
  if (stream != nullptr && static_cast<Queue*>(stream)->capturing) {
    Graph& graph = static_cast<Queue*>(stream)->captured;
    const auto found = device().blocks.find(static_cast<std::size_t>(static_cast<char*>(p) - device().base));
    if (found != device().blocks.end()) graph.live -= found->second.bytes;
    graph.memory.push_back(p);
    return cudaSuccess;
  }
  return put(stream, [p] { free_now(p); });  // in the order of the stream: what is still to run may use it
}

cudaError_t cudaMallocHost(void** p, std::size_t bytes) {
  const Lock lock(device().mutex);
  for (Queue* const q : queues())
    if (q->capturing && q->by == std::this_thread::get_id()) return invalidate(*q);
  *p = std::malloc(bytes);
  return *p == nullptr ? remember(cudaErrorMemoryAllocation) : cudaSuccess;
}
// An event knows the stream that it was put into.
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new cudaStream_t(nullptr);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  *static_cast<cudaStream_t*>(event) = stream;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  void* const stream = *static_cast<cudaStream_t*>(event);
  return stream == nullptr ? cudaSuccess : cudaStreamSynchronize(stream);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete static_cast<cudaStream_t*>(event);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Lock lock(device().mutex);
  const bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
  if (owns(to) != to_device || owns(from) != from_device) return remember(cudaErrorInvalidValue);
  // A graph would read and write the host's memory whenever it is launched.
  if (Queue& q = *static_cast<Queue*>(stream); q.capturing && kind != cudaMemcpyDeviceToDevice)
    return invalidate(q);
  if (kind == cudaMemcpyHostToDevice) ++device().counts.copies_to_device;
  if (kind == cudaMemcpyDeviceToHost) ++device().counts.copies_to_host;
  return put(stream, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream) {
  const Lock lock(device().mutex);
  if (!owns(p)) return remember(cudaErrorInvalidValue);
  return put(stream, [=] { std::memset(p, value, bytes); });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int) {
  const Lock lock(device().mutex);
  auto& q = *static_cast<Queue*>(stream);
  if (q.capturing) return remember(cudaErrorInvalidValue);
  q.capturing = true;
  q.invalid = false;
  q.by = std::this_thread::get_id();
  q.captured = {};
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status =
      static_cast<Queue*>(stream)->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(device().mutex);
  auto& q = *static_cast<Queue*>(stream);
  if (!q.capturing) return remember(cudaErrorInvalidValue);
  q.capturing = false;
  *graph = nullptr;
  if (q.invalid) return remember(cudaErrorStreamCaptureInvalidated);
  *graph = new Graph(std::move(q.captured));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  const Lock lock(device().mutex);
  auto made = std::make_unique<Graph>(*static_cast<Graph*>(graph));
  if (!take_for(*made, kNode * made->work.size())) return remember(cudaErrorMemoryAllocation);
  *exec = made.release();
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Lock lock(device().mutex);
  Graph& graph = *static_cast<Graph*>(exec);
  const std::size_t all = 2 * kNode * graph.work.size() + graph.needed;
  if (!take_for(graph, all - graph.taken)) return remember(cudaErrorMemoryAllocation);
  ++device().counts.graph_launches;
  return put(stream, [exec] {
    for (const auto& w : static_cast<Graph*>(exec)->work) w();
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete static_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const Lock lock(device().mutex);
  const Opened opened;
  for (void* p : static_cast<Graph*>(exec)->memory) free_now(p);
  device().taken -= static_cast<Graph*>(exec)->taken;
  delete static_cast<Graph*>(exec);
  return cudaSuccess;
}

int nvtxRangePushA(const char* name) {
  const veldt::gpu::emulation::Lock lock(veldt::gpu::emulation::device().mutex);
  veldt::gpu::emulation::device().ranges.insert(name);
  return 0;
}
int nvtxRangePop() { return 0; }
