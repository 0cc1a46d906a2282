// Memory for the small objects of a training step: tensor handles, graph nodes, backward functions, lists of
// inputs. Each thread keeps its freed blocks by size and reuses them, so a step that has run once does not
// use the heap.
// Tests: tests/core/small_blocks_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

// Under the sanitizers every block comes from the heap, so that they can track it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VELDT_SMALL_BLOCKS_FROM_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VELDT_SMALL_BLOCKS_FROM_HEAP 1
#endif
#endif

namespace veldt {

class SmallBlocks {
 public:
  static constexpr std::size_t kStep = 32;       // sizes are rounded up to a multiple
  static constexpr std::size_t kLargest = 1024;  // larger blocks, and unusual alignments, use the heap
  static constexpr int kMostKept = 4096;         // blocks of one size that a thread keeps

  // Throws std::bad_alloc.
  static void* take(std::size_t bytes) {
#ifndef VELDT_SMALL_BLOCKS_FROM_HEAP
    if (bytes - 1 < kLargest) {
      List& list = lists_[(bytes - 1) / kStep];
      if (Free* block = list.first) {
        list.first = block->next;
        --list.count;
        return block;
      }
      return ::operator new((bytes + kStep - 1) / kStep * kStep);
    }
#endif
    // Rounded here too: a program with a sanitizer may free a block that a library without one then reuses.
    return ::operator new(bytes - 1 < kLargest ? (bytes + kStep - 1) / kStep * kStep : bytes);
  }

  static void give(void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#ifndef VELDT_SMALL_BLOCKS_FROM_HEAP
    if (bytes - 1 < kLargest) {
      List& list = lists_[(bytes - 1) / kStep];
      if (list.count < kMostKept && (list.count > 0 || opens())) {
        list.first = new (p) Free{list.first};
        ++list.count;
        return;
      }
    }
#endif
    ::operator delete(p);
  }

 private:
  struct Free {
    Free* next;
  };
  struct List {
    Free* first;
    int count;
  };
  // False once the thread is ending. The first block of a thread registers the cleanup of all.
  static bool opens() noexcept;

  // Trivial, so that access needs no check and it outlives every other object of the thread.
  static thread_local constinit List lists_[kLargest / kStep];
  struct Owner;
};

// The allocator of SmallBlocks for standard containers and shared pointers.
template <class T> struct SmallAllocator {
  using value_type = T;
  SmallAllocator() = default;
  template <class U> SmallAllocator(const SmallAllocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(std::size_t n) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    if (n > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(SmallBlocks::take(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { SmallBlocks::give(p, n * sizeof(T)); }
  friend bool operator==(SmallAllocator, SmallAllocator) { return true; }
};

}  // namespace veldt
