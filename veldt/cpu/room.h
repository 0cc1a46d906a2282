// Working memory of a thread.
// Tests: tests/cpu/matmul_test.cpp, tests/app/faults_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "veldt/core/error.h"

namespace veldt::cpu {

// Aligned, not initialised. Only grows, because a step needs the same sizes repeatedly; work on lines that
// may be as long as all data trims it.
template <class T> class Room {
 public:
  // `count` elements until the next call. Throws OutOfMemory, which names the work.
  T* of(std::int64_t count, const char* work) {
    if (size_ >= count) return held_.get();
    size_ = 0;
    held_.reset();  // not both at once
    void* p = ::operator new(static_cast<std::size_t>(count) * sizeof(T), kAlignment, std::nothrow);
    held_.reset(static_cast<T*>(p));
    if (!held_)
      throw OutOfMemory(
          str("cannot allocate ", count * static_cast<std::int64_t>(sizeof(T)), " bytes for ", work),
          "the system has no memory left for it",
          "use smaller batches, shorter sequences or a smaller network");
    size_ = count;
    return held_.get();
  }

  // Frees the memory if it is large.
  void trim() {
    if (size_ * static_cast<std::int64_t>(sizeof(T)) <= kKept) return;
    size_ = 0;
    held_.reset();
  }

 private:
  static constexpr std::int64_t kKept = 64 << 20;  // bytes

  static constexpr std::align_val_t kAlignment{128};  // lines are fetched in pairs
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kAlignment); }
  };

  std::unique_ptr<T[], Free> held_;
  std::int64_t size_ = 0;
};

}  // namespace veldt::cpu
