// The allocator under every tensor: freed blocks are kept by size class and handed out again, so a training
// step that has run once asks the system for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "veldt/core/backend.h"

namespace veldt {

struct PoolStats {
  std::size_t bytes_in_use = 0;  // handed out now, size classes counted whole
  std::size_t peak_bytes = 0;    // the most bytes_in_use has been
  std::size_t bytes_cached = 0;  // freed and kept for the next request
  std::int64_t blocks_in_use = 0;
  std::int64_t system_allocations = 0;  // how often the backend was asked
};

class Pool {
 public:
  explicit Pool(const Backend& backend) : backend_(backend) {}
  ~Pool() { trim(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Throws OutOfMemory, after giving the cached blocks back and trying once more.
  void* take(std::size_t bytes);
  void give(void* p, std::size_t bytes) noexcept;
  // Returns the cached blocks to the system.
  void trim() noexcept;
  PoolStats stats() const;
  const Backend& backend() const { return backend_; }

  // Requests are rounded up to four classes a power of two, so at most a quarter is wasted.
  static std::size_t size_class(std::size_t bytes);

 private:
  const Backend& backend_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> cached_;  // by size class
  PoolStats stats_;
};

// A block of a pool, shared by all tensors that view it.
class Storage {
 public:
  Storage(Pool& pool, std::size_t bytes) : pool_(pool), data_(pool.take(bytes)), bytes_(bytes) {}
  ~Storage() { pool_.give(data_, bytes_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Counts in-place writes, so that backward can tell when a saved value has changed under it.
  std::int64_t version() const { return version_; }
  void bump_version() { ++version_; }

 private:
  Pool& pool_;
  void* data_;
  std::size_t bytes_;
  std::int64_t version_ = 0;
};

}  // namespace veldt
