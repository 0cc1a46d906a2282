// The thread's own lists of small blocks.
#include "veldt/core/small_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace veldt {
namespace {

TEST(SmallBlocks, AreDistinctAndLargeEnough) {
  std::set<void*> seen;
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t bytes = 1; bytes <= 2000; bytes += 7) {
    void* const p = SmallBlocks::take(bytes);
    std::memset(p, 0xAB, bytes);
    EXPECT_TRUE(seen.insert(p).second);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignof(std::max_align_t), 0u);
    blocks.emplace_back(p, bytes);
  }
  for (const auto& [p, bytes] : blocks) SmallBlocks::give(p, bytes);
}

#ifndef VELDT_SMALL_BLOCKS_FROM_HEAP
TEST(SmallBlocks, AFreedBlockServesTheNextRequestOfItsSize) {
  void* const first = SmallBlocks::take(100);
  SmallBlocks::give(first, 100);
  void* const second = SmallBlocks::take(128);
  EXPECT_EQ(second, first);
  SmallBlocks::give(second, 128);
}
#endif

// A block may be freed by another thread than the one it was taken by, and by a thread that is ending.
TEST(SmallBlocks, MayChangeThreads) {
  struct AtExit {
    std::shared_ptr<int> held;
  };
  std::shared_ptr<int> shared = std::allocate_shared<int>(SmallAllocator<int>(), 7);
  const std::weak_ptr<int> watch = shared;
  std::thread([&shared] {
    thread_local AtExit last;  // destroyed when the thread's lists may be gone already
    last.held = std::move(shared);
    const std::vector<int, SmallAllocator<int>> list(100, 1);
    EXPECT_EQ(list[99], 1);
  }).join();
  EXPECT_TRUE(watch.expired());
}

TEST(SmallAllocator, ServesContainersThatGrow) {
  std::vector<std::uint64_t, SmallAllocator<std::uint64_t>> list;
  for (std::uint64_t i = 0; i < 10000; ++i) list.push_back(i * i);
  for (std::uint64_t i = 0; i < 10000; ++i) ASSERT_EQ(list[i], i * i);
}

}  // namespace
}  // namespace veldt
