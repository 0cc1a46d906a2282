#include "veldt/core/pool.h"

#include <bit>

#include "veldt/core/error.h"

namespace veldt {

std::size_t Pool::size_class(std::size_t bytes) {
  if (bytes <= 64) return 64;
  const std::size_t top = std::bit_floor(bytes - 1);  // the power of two below
  const std::size_t step = top / 4 < 64 ? 64 : top / 4;
  return (bytes + step - 1) / step * step;
}

void* Pool::take(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  std::lock_guard lock(mutex_);
  void* p = nullptr;
  if (auto found = cached_.find(size); found != cached_.end() && !found->second.empty()) {
    p = found->second.back();
    found->second.pop_back();
    stats_.bytes_cached -= size;
  } else {
    // The cache's list grows here rather than in give(), which must not throw.
    std::vector<void*>& list = cached_[size];
    list.reserve(list.size() + 1);
    ++stats_.system_allocations;
    try {
      p = backend_.allocate(size);
    } catch (const OutOfMemory&) {
      if (stats_.bytes_cached == 0) throw;
      for (auto& [block_size, blocks] : cached_) {
        for (void* block : blocks) backend_.deallocate(block, block_size);
        blocks.clear();
      }
      stats_.bytes_cached = 0;
      p = backend_.allocate(size);
    }
  }
  stats_.bytes_in_use += size;
  ++stats_.blocks_in_use;
  if (stats_.bytes_in_use > stats_.peak_bytes) stats_.peak_bytes = stats_.bytes_in_use;
  return p;
}

void Pool::give(void* p, std::size_t bytes) noexcept {
  const std::size_t size = size_class(bytes);
  std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= size;
  --stats_.blocks_in_use;
  try {
    cached_[size].push_back(p);
    stats_.bytes_cached += size;
  } catch (...) {
    backend_.deallocate(p, size);
  }
}

void Pool::trim() noexcept {
  std::lock_guard lock(mutex_);
  for (auto& [size, blocks] : cached_) {
    for (void* block : blocks) backend_.deallocate(block, size);
    blocks.clear();
  }
  stats_.bytes_cached = 0;
}

PoolStats Pool::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace veldt
