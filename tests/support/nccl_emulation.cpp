// Letter boxes between threads. A message has the bytes that its stream would have come to; a group begins
// with what it sends, and waits for what it receives.
#include "tests/support/nccl_emulation.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "veldt/cuda/nccl.h"

namespace veldt::cuda {

struct NcclGroup {
  std::string id;
  int rank, size;
};

}  // namespace veldt::cuda

namespace veldt::gpu::emulation {
namespace {

using cuda::NcclGroup, cuda::NcclId, cuda::NcclStatus;

constexpr NcclStatus kSuccess = 0, kDeviceError = 1, kInvalidUsage = 5, kRemoteError = 6;

struct Post {
  std::mutex mutex;
  std::condition_variable changed;
  NcclState state = NcclState::works;
  int ids = 0;
  std::uint64_t messages = 0;
  std::map<std::string, int> joined;
  std::map<std::string, bool> aborted;
  std::map<std::pair<std::string, std::pair<int, int>>, std::deque<std::vector<char>>> boxes;
};
Post& post() {
  static Post& the = *new Post;
  return the;
}

struct Message {
  bool leaves;
  void* data;
  std::size_t bytes;
  int rank;
  NcclGroup* group;
  cudaStream_t stream;
};
thread_local std::vector<Message> t_messages;
thread_local bool t_in_group = false;

NcclStatus copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, stream) == cudaSuccess &&
                 cudaStreamSynchronize(stream) == cudaSuccess
             ? kSuccess
             : kDeviceError;
}

NcclStatus version(int* v) {
  *v = 22707;
  return kSuccess;
}
NcclStatus new_id(NcclId* id) {
  const std::lock_guard lock(post().mutex);
  *id = {};
  id->bytes[0] = static_cast<char>('A' + ++post().ids % 26);
  return kSuccess;
}
NcclStatus join(NcclGroup** group, int size, NcclId id, int rank) {
  if (rank < 0 || rank >= size) return kInvalidUsage;
  Post& p = post();
  std::unique_lock lock(p.mutex);
  if (p.state == NcclState::refuses) return kInvalidUsage;
  const std::string name(id.bytes, sizeof id.bytes);
  const int wanted = p.joined[name] / size * size + size;
  ++p.joined[name];
  p.changed.notify_all();
  p.changed.wait(lock, [&] { return p.joined[name] >= wanted; });
  *group = new NcclGroup{name, rank, size};
  return kSuccess;
}
NcclStatus leave(NcclGroup* group) {
  delete group;
  return kSuccess;
}
NcclStatus abort(NcclGroup* group) {
  {
    const std::lock_guard lock(post().mutex);
    post().aborted[group->id] = true;
  }
  post().changed.notify_all();
  return leave(group);
}
NcclStatus state(NcclGroup* group, NcclStatus* status) {
  const std::lock_guard lock(post().mutex);
  *status = post().aborted[group->id] ? kRemoteError : kSuccess;
  return kSuccess;
}
const char* text(NcclStatus status) {
  switch (status) {
    case kSuccess: return "no error";
    case kInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case kRemoteError: return "remote process exited or there was a network error";
    default: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
  }
}

NcclStatus begin() {
  if (std::exchange(t_in_group, true)) return kInvalidUsage;
  return kSuccess;
}
NcclStatus put(const Message& m) {
  if (!t_in_group || m.rank < 0 || m.rank >= m.group->size || m.rank == m.group->rank) return kInvalidUsage;
  t_messages.push_back(m);
  return kSuccess;
}
NcclStatus send(const void* data, std::size_t count, int type, int to, NcclGroup* group,
                cudaStream_t stream) {
  if (type != cuda::kNcclBytes) return kInvalidUsage;
  return put({true, const_cast<void*>(data), count, to, group, stream});
}
NcclStatus receive(void* data, std::size_t count, int type, int from, NcclGroup* group, cudaStream_t stream) {
  if (type != cuda::kNcclBytes) return kInvalidUsage;
  return put({false, data, count, from, group, stream});
}

NcclStatus deliver(const Message& m) {
  std::vector<char> bytes(m.bytes);
  Post& p = post();
  if (m.leaves) {
    if (const NcclStatus failed = copy(bytes.data(), m.data, m.bytes, cudaMemcpyDeviceToHost, m.stream))
      return failed;
    {
      const std::lock_guard lock(p.mutex);
      p.boxes[{m.group->id, {m.group->rank, m.rank}}].push_back(std::move(bytes));
    }
    p.changed.notify_all();
    return kSuccess;
  }
  {
    std::unique_lock lock(p.mutex);
    auto& box = p.boxes[{m.group->id, {m.rank, m.group->rank}}];
    p.changed.wait(lock, [&] { return !box.empty() || p.aborted[m.group->id]; });
    if (box.empty()) return kRemoteError;
    bytes = std::move(box.front());
    box.pop_front();
    ++p.messages;
  }
  if (bytes.size() != m.bytes) return kInvalidUsage;
  return copy(m.data, bytes.data(), m.bytes, cudaMemcpyHostToDevice, m.stream);
}

NcclStatus end() {
  if (!std::exchange(t_in_group, false)) return kInvalidUsage;
  const std::vector<Message> messages = std::exchange(t_messages, {});
  for (const bool leaves : {true, false})
    for (const Message& m : messages)
      if (m.leaves == leaves)
        if (const NcclStatus failed = deliver(m)) return failed;
  return kSuccess;
}

}  // namespace

void set_nccl(NcclState state) {
  const std::lock_guard lock(post().mutex);
  post().state = state;
}
void end_nccl_groups() {
  {
    const std::lock_guard lock(post().mutex);
    for (const auto& [id, count] : post().joined) post().aborted[id] = true;
  }
  post().changed.notify_all();
}
std::uint64_t take_nccl_messages() {
  const std::lock_guard lock(post().mutex);
  return std::exchange(post().messages, 0);
}

}  // namespace veldt::gpu::emulation

namespace veldt::cuda {

const Nccl* find_nccl(std::string* why) {
  namespace e = gpu::emulation;
  static constexpr Nccl functions{e::version, e::new_id, e::join, e::leave, e::abort,  e::state,
                                  e::text,    e::begin,  e::end,  e::send,  e::receive};
  const std::lock_guard lock(e::post().mutex);
  if (e::post().state == e::NcclState::missing) {
    if (why != nullptr) *why = "libnccl.so.2: cannot open shared object file: No such file or directory";
    return nullptr;
  }
  return &functions;
}

}  // namespace veldt::cuda
