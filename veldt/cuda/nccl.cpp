// Messages of NCCL in a stream of their own, between events of it and of the stream that computes.
#include "veldt/cuda/nccl.h"

#include <cstring>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/cuda/device.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

const Nccl& nccl() {
  std::string why;
  const Nccl* const found = find_nccl(&why);
  if (found == nullptr) throw DeviceError("cannot use NCCL", why, "install libnccl2 of NVIDIA's packages");
  return *found;
}

constexpr NcclStatus kInProgress = 7;

void check_nccl(NcclStatus status, const char* doing) {
  if (status == 0 || status == kInProgress) return;
  throw LostError(str("NCCL cannot ", doing), nccl().text(status),
                  "look at the other ranks' messages, or set NCCL_DEBUG=WARN; then launch again");
}

DeviceLinks::Mark mark_in(cudaStream_t stream) {
  const Turn turn = take_turn();
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "mark a place in a stream");
  DeviceLinks::Mark mark(event, [](void* e) {
    const Turn last = take_last_turn();
    static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(e)));
  });
  check(cudaEventRecord(event, stream), "mark a place in a stream");
  return mark;
}

void wait_in(cudaStream_t stream, const DeviceLinks::Mark& mark) {
  if (mark == nullptr) return;
  const Turn turn = take_turn();
  check(cudaStreamWaitEvent(stream, static_cast<cudaEvent_t>(mark.get()), 0), "wait for other ranks");
}

class NcclLinks final : public DeviceLinks {
 public:
  NcclLinks(const NcclId& id, int rank, int size) : nccl_(nccl()) {
    try {
      {
        const Turn turn = take_turn();  // it sets the thread's device
        cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream on the GPU");
      }
      if (const NcclStatus status = nccl_.join(&group_, size, id, rank); status != 0)
        throw DeviceError("the GPUs of this training cannot be joined", nccl_.text(status),
                          "give each process a GPU of its own, or set NCCL_DEBUG=WARN");
      greet(rank, size);
    } catch (...) {
      abandon();
      release();
      throw;
    }
  }

  ~NcclLinks() override { release(); }

  Mark computed() override { return mark_in(main_stream()); }
  void compute_after(const Mark& mark) override { wait_in(main_stream(), mark); }

  void begin(const Mark& after) override {
    check();
    wait_in(stream_, after);
    next_ = 0;
    compute_in(stream_);
  }

  // The same blocks for each sum, which is over, in the stream, before the next begins. So is what a block
  // had before it grew: it is taken and given back in the order of this stream.
  void* take(std::size_t bytes) override {
    if (next_ == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[next_++];
    if (block.bytes < bytes) {
      deallocate(std::exchange(block.data, nullptr), std::exchange(block.bytes, 0));
      block.data = allocate_scratch(bytes);
      block.bytes = bytes;
    }
    return block.data;
  }

  void send(int to, const void* data, std::size_t bytes) override {
    if (bytes > 0) messages_.push_back({to, true, const_cast<void*>(data), bytes});
  }
  void receive(int from, void* data, std::size_t bytes) override {
    if (bytes > 0) messages_.push_back({from, false, data, bytes});
  }

  // Not in one's turn: it may wait for other ranks, while this one's other threads go on.
  void finish() override {
    if (messages_.empty()) return;
    check_nccl(nccl_.begin(), "begin messages");
    for (const Message& m : std::exchange(messages_, {}))
      check_nccl(m.leaves ? nccl_.send(m.data, m.bytes, kNcclBytes, m.rank, group_, stream_)
                          : nccl_.receive(m.data, m.bytes, kNcclBytes, m.rank, group_, stream_),
                 m.leaves ? "send" : "receive");
    check_nccl(nccl_.end(), "send and receive");
  }

  Mark end() override {
    compute_in(nullptr);
    return mark_in(stream_);
  }

  void check() override {
    if (group_ == nullptr) return;
    NcclStatus state = 0;
    check_nccl(nccl_.state(group_, &state), "talk to the other GPUs");
    check_nccl(state, "talk to the other GPUs");
  }

  void abandon() override {
    compute_in(nullptr);
    if (group_ != nullptr) static_cast<void>(nccl_.abort(std::exchange(group_, nullptr)));
    if (stream_ != nullptr) static_cast<void>(cudaStreamSynchronize(stream_));
  }

 private:
  // A byte to and from each other, so that no later message has to wait for a rank to come.
  void greet(int rank, int size) {
    begin(nullptr);
    char* const bytes = static_cast<char*>(take(static_cast<std::size_t>(size)));
    for (int r = 0; r < size; ++r) {
      if (r == rank) continue;
      send(r, bytes + rank, 1);
      receive(r, bytes + r, 1);
    }
    finish();
    const Mark greeted = end();
    // Not in one's turn, as above.
    cuda::check(cudaEventSynchronize(static_cast<cudaEvent_t>(greeted.get())), "greet the other GPUs");
  }

  void release() {
    compute_in(nullptr);
    if (stream_ == nullptr) return;
    static_cast<void>(cudaStreamSynchronize(stream_));
    if (group_ != nullptr) static_cast<void>(nccl_.leave(std::exchange(group_, nullptr)));
    for (const Block& block : std::exchange(blocks_, {})) deallocate(block.data, block.bytes);
    const Turn turn = take_last_turn();
    static_cast<void>(cudaStreamDestroy(std::exchange(stream_, nullptr)));
  }

  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Message {
    int rank;
    bool leaves;
    void* data;
    std::size_t bytes;
  };

  const Nccl& nccl_;
  NcclGroup* group_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::vector<Block> blocks_;
  std::size_t next_ = 0;  // of the blocks
  std::vector<Message> messages_;
};

}  // namespace

std::string link_library() {
  int version = 0;  // 10000 major + 100 minor + patch
  check_nccl(nccl().version(&version), "tell its version");
  return str("NCCL ", version / 10000, '.', version / 100 % 100, '.', version % 100);
}

std::string new_links_id() {
  NcclId id{};
  check_nccl(nccl().new_id(&id), "make an id");
  return {id.bytes, sizeof id.bytes};
}

std::unique_ptr<DeviceLinks> open_links(const std::string& id, int rank, int size) {
  NcclId given{};
  if (id.size() != sizeof given.bytes)
    throw Error("cannot join other GPUs", str("their id has ", id.size(), " bytes, not ", sizeof given.bytes),
                "run the same Veldt everywhere");
  std::memcpy(given.bytes, id.data(), id.size());
  return std::make_unique<NcclLinks>(given, rank, size);
}

}  // namespace veldt::cuda
