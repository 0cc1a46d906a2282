// The pool over a backend of this file, which counts what it hands out and fails when it is told to.
#include "veldt/core/pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "veldt/core/error.h"

namespace veldt {
namespace {

struct System {
  std::size_t bytes = 0;  // handed out now
  std::size_t limit = SIZE_MAX;
  int blocks = 0;
} g_system;

void* take_from_system(std::size_t bytes) {
  if (g_system.bytes + bytes > g_system.limit)
    throw OutOfMemory(str("cannot allocate ", bytes, " bytes"), "the test says so", "raise the limit");
  g_system.bytes += bytes;
  ++g_system.blocks;
  return std::malloc(bytes);
}

void give_to_system(void* p, std::size_t bytes) {
  g_system.bytes -= bytes;
  --g_system.blocks;
  std::free(p);
}

const Backend& counting_backend() {
  static const Backend backend = [] {
    Backend b{};
    b.allocate = take_from_system;
    b.deallocate = give_to_system;
    return b;
  }();
  return backend;
}

class PoolTest : public testing::Test {
 protected:
  void SetUp() override { g_system = {}; }
};

TEST_F(PoolTest, SizeClassesWasteAtMostAQuarter) {
  EXPECT_EQ(Pool::size_class(0), 64u);
  EXPECT_EQ(Pool::size_class(1), 64u);
  EXPECT_EQ(Pool::size_class(64), 64u);
  EXPECT_EQ(Pool::size_class(65), 128u);
  EXPECT_EQ(Pool::size_class(1024), 1024u);
  EXPECT_EQ(Pool::size_class(1025), 1280u);
  EXPECT_EQ(Pool::size_class(std::size_t{1} << 40), std::size_t{1} << 40);
  for (std::size_t bytes = 1; bytes < 100000; bytes = bytes * 9 / 8 + 1) {
    const std::size_t size = Pool::size_class(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_EQ(size % 64, 0u);
    EXPECT_EQ(Pool::size_class(size), size) << "a class is its own class";
    if (bytes >= 256) {
      EXPECT_LE(size, bytes + bytes / 4) << bytes;
    }
  }
}

TEST_F(PoolTest, HandsAFreedBlockOutAgainWithinItsClass) {
  Pool pool(counting_backend());
  void* const first = pool.take(1000);
  pool.give(first, 1000);
  void* const second = pool.take(1024);
  EXPECT_EQ(second, first);
  void* const third = pool.take(1000);
  EXPECT_NE(third, first);
  EXPECT_EQ(pool.stats().system_allocations, 2);
  pool.give(second, 1024);
  pool.give(third, 1000);
}

TEST_F(PoolTest, CountsWhatIsInUseAndWhatIsKept) {
  Pool pool(counting_backend());
  void* const a = pool.take(100);
  void* const b = pool.take(2000);
  PoolStats s = pool.stats();
  EXPECT_EQ(s.bytes_in_use, 128u + 2048u);
  EXPECT_EQ(s.blocks_in_use, 2);
  EXPECT_EQ(s.bytes_cached, 0u);
  pool.give(b, 2000);
  s = pool.stats();
  EXPECT_EQ(s.bytes_in_use, 128u);
  EXPECT_EQ(s.peak_bytes, 128u + 2048u);
  EXPECT_EQ(s.bytes_cached, 2048u);
  EXPECT_EQ(s.blocks_in_use, 1);
  pool.give(a, 100);
}

TEST_F(PoolTest, TrimGivesTheCacheBackAndKeepsWhatIsInUse) {
  Pool pool(counting_backend());
  void* const a = pool.take(100);
  pool.give(pool.take(5000), 5000);
  EXPECT_EQ(g_system.blocks, 2);
  pool.trim();
  EXPECT_EQ(g_system.blocks, 1);
  EXPECT_EQ(pool.stats().bytes_cached, 0u);
  EXPECT_EQ(pool.stats().bytes_in_use, 128u);
  pool.give(a, 100);
}

TEST_F(PoolTest, ReturnsEverythingAtItsEnd) {
  {
    Pool pool(counting_backend());
    for (std::size_t bytes : {10u, 100u, 1000u, 10000u}) pool.give(pool.take(bytes), bytes);
    EXPECT_EQ(g_system.blocks, 4);
  }
  EXPECT_EQ(g_system.blocks, 0);
  EXPECT_EQ(g_system.bytes, 0u);
}

TEST_F(PoolTest, GivesTheCacheBackWhenMemoryIsShortAndTriesAgain) {
  g_system.limit = 10000;
  Pool pool(counting_backend());
  pool.give(pool.take(8192), 8192);
  void* const p = pool.take(4096);  // fits only without the cached block
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(g_system.bytes, 4096u);
  EXPECT_EQ(pool.stats().bytes_cached, 0u);
  EXPECT_EQ(pool.stats().bytes_in_use, 4096u);
  pool.give(p, 4096);
}

TEST_F(PoolTest, FailsCleanlyWhenThereIsNoMemoryAtAll) {
  g_system.limit = 10000;
  Pool pool(counting_backend());
  void* const p = pool.take(4096);
  EXPECT_THROW(pool.take(16384), OutOfMemory);
  EXPECT_EQ(pool.stats().bytes_in_use, 4096u);
  EXPECT_EQ(pool.stats().blocks_in_use, 1);
  pool.give(p, 4096);
  EXPECT_THROW(pool.take(16384), OutOfMemory) << "the cache was given back, and it is still too much";
  EXPECT_EQ(g_system.bytes, 0u);
  EXPECT_EQ(pool.stats().bytes_cached, 0u);
}

TEST_F(PoolTest, ServesManyThreads) {
  Pool pool(counting_backend());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, t] {
      for (std::size_t i = 1; i < 500; ++i) {
        const std::size_t bytes = i * 13 % 3000 + static_cast<std::size_t>(t);
        char* const p = static_cast<char*>(pool.take(bytes + 1));
        p[0] = p[bytes] = 'x';
        pool.give(p, bytes + 1);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(pool.stats().blocks_in_use, 0);
  EXPECT_EQ(pool.stats().bytes_in_use, 0u);
}

TEST_F(PoolTest, StorageReturnsItsBlockAndCountsVersions) {
  Pool pool(counting_backend());
  {
    Storage storage(pool, 300);
    EXPECT_EQ(storage.bytes(), 300u);
    EXPECT_NE(storage.data(), nullptr);
    EXPECT_EQ(storage.version(), 0);
    storage.bump_version();
    EXPECT_EQ(storage.version(), 1);
    EXPECT_EQ(pool.stats().blocks_in_use, 1);
  }
  EXPECT_EQ(pool.stats().blocks_in_use, 0);
}

}  // namespace
}  // namespace veldt
