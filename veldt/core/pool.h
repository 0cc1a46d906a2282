// The allocator under every tensor: freed blocks are kept by size class and reused, so a training step that
// has run once allocates nothing from the system. It records how much is held, and for what.
// Tests: tests/core/pool_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "veldt/core/backend.h"

namespace veldt {

class Pool;
class Storage;

// The allocator of a Storage: a Pool, or the planner of a recording (tensor/plan.h).
class Memory {
 public:
  // Throws OutOfMemory. `owner` is only linked, never called back.
  virtual void* take(std::size_t bytes, Storage& owner) = 0;
  virtual void give(void* p, std::size_t bytes, Storage& owner) noexcept = 0;

 protected:
  ~Memory() = default;
};

// A block of memory, shared by all tensors that view it.
class Storage : public std::enable_shared_from_this<Storage> {
 public:
  Storage(Memory& memory, std::size_t bytes)
      : memory_(&memory), bytes_(bytes), data_(memory.take(bytes, *this)) {}
  ~Storage() { memory_->give(data_, bytes_, *this); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Counts in-place writes, so that backward can detect that a saved value has changed.
  std::int64_t version() const { return version_; }
  void bump_version() { ++version_; }
  // The use of the memory in the ledger: the op that filled it, or "parameters". A string that is never
  // freed.
  const char* label() const { return label_.load(std::memory_order_relaxed); }
  void set_label(const char* label) { label_.store(label, std::memory_order_relaxed); }
  // Moves from a planner's memory to a pool's; there are no values yet.
  void move_to(Pool& pool);

 private:
  friend class Pool;
  Memory* memory_;
  std::size_t bytes_;
  std::int64_t version_ = 0;
  std::atomic<const char*> label_{"tensors"};     // another thread may be printing the ledger
  Storage *before_ = nullptr, *after_ = nullptr;  // the pool's list of allocations
  void* data_;                                    // last member: the storage is complete when it is linked
};

struct PoolStats {
  std::size_t bytes_in_use = 0;  // in use now, in full size classes
  std::size_t peak_bytes = 0;    // the maximum of bytes_in_use since reset_peak()
  std::size_t bytes_cached = 0;  // free, kept for reuse
  std::size_t limit = 0;         // 0: none
  std::int64_t blocks_in_use = 0;
  std::int64_t system_allocations = 0;  // number of the backend's allocations
};

// One line of the ledger: the storages of one label.
struct Holding {
  std::string label;
  std::size_t bytes = 0;
  std::int64_t blocks = 0;
};

class Pool final : public Memory {
 public:
  explicit Pool(const Backend& backend) : backend_(backend) {}
  ~Pool() { trim(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Throws OutOfMemory, after returning the cached blocks and trying once more; the error has the requested
  // size, the ledger, and how much would fit.
  void* take(std::size_t bytes, Storage& owner) override;
  void give(void* p, std::size_t bytes, Storage& owner) noexcept override;

  // The maximum number of bytes, in use and cached; 0: no limit. Existing allocations stay.
  void set_limit(std::size_t bytes);
  // Returns the cached blocks to the system.
  void trim() noexcept;
  PoolStats stats() const;
  void reset_peak();
  // The current allocations, the largest first.
  std::vector<Holding> ledger() const;
  const Backend& backend() const { return backend_; }

  // Requests are rounded up to four classes a power of two, so at most a quarter is wasted.
  static std::size_t size_class(std::size_t bytes);

 private:
  // Held during all functions except while the system allocates: a device may make the pool return its cached
  // blocks at any time.
  using Lock = std::unique_lock<std::mutex>;
  void* from_system(std::size_t size, Lock& lock);
  void link(Storage& owner);
  void unlink(Storage& owner) noexcept;
  void give_back_cached(Lock& lock) noexcept;
  std::vector<Holding> ledger_locked() const;
  [[noreturn]] void refuse(std::size_t size, const std::string& reason) const;

  struct Class {
    std::size_t size = 0;
    std::vector<void*> blocks;
  };
  const Backend& backend_;
  mutable std::mutex mutex_;
  std::array<Class, 64 * 4> cached_;
  Storage* held_ = nullptr;
  std::size_t bytes_asked_for_ = 0;  // of the system, now
  int giving_back_ = 0;              // threads that are returning cached blocks to the system
  std::int64_t times_given_back_ = 0;
  std::condition_variable given_back_;
  PoolStats stats_;
};

// "1.5 GiB", "640 KiB", "12 bytes"
std::string bytes_text(std::size_t bytes);

}  // namespace veldt
