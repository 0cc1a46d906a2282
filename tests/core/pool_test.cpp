// The pool over a backend of this file, which counts its allocations and fails on demand.
#include "veldt/core/pool.h"

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"

namespace veldt {
namespace {

struct System {
  std::atomic<std::size_t> bytes = 0;  // handed out now
  std::size_t limit = SIZE_MAX;
  std::atomic<int> blocks = 0;
} g_system;

// The turn at a device that threads use one after the other; a thread waits for it two seconds at most.
std::timed_mutex g_turn;
std::atomic<int> g_came = 0;
void wait_for_turn() {
  ++g_came;
  const std::unique_lock turn(g_turn, std::chrono::seconds(2));
  EXPECT_TRUE(turn.owns_lock()) << "two threads wait for each other";
}

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
  void SetUp() override {
    g_system.bytes = 0;
    g_system.limit = SIZE_MAX;
    g_system.blocks = 0;
  }
};

#if defined(__SANITIZE_ADDRESS__)
TEST_F(PoolTest, TellsTheSanitizerWhereBlocksEnd) {
  Pool pool(counting_backend());
  const char* data = nullptr;
  {
    const Storage block(pool, 70);
    data = static_cast<const char*>(block.data());
    EXPECT_FALSE(__asan_address_is_poisoned(data + 69));
    EXPECT_TRUE(__asan_address_is_poisoned(data + 70));
  }
  EXPECT_TRUE(__asan_address_is_poisoned(data));
  const Storage larger(pool, 128);
  EXPECT_EQ(larger.data(), data);
  EXPECT_FALSE(__asan_address_is_poisoned(data + 127));
}
#endif

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
  auto first = std::make_unique<Storage>(pool, 1000);
  void* const block = first->data();
  first.reset();
  const Storage second(pool, 1024);
  EXPECT_EQ(second.data(), block);
  const Storage third(pool, 1000);
  EXPECT_NE(third.data(), block);
  EXPECT_EQ(pool.stats().system_allocations, 2);
}

TEST_F(PoolTest, CountsWhatIsInUseAndWhatIsKept) {
  Pool pool(counting_backend());
  const Storage a(pool, 100);
  {
    const Storage b(pool, 2000);
    const PoolStats s = pool.stats();
    EXPECT_EQ(s.bytes_in_use, 128u + 2048u);
    EXPECT_EQ(s.blocks_in_use, 2);
    EXPECT_EQ(s.bytes_cached, 0u);
  }
  PoolStats s = pool.stats();
  EXPECT_EQ(s.bytes_in_use, 128u);
  EXPECT_EQ(s.peak_bytes, 128u + 2048u);
  EXPECT_EQ(s.bytes_cached, 2048u);
  EXPECT_EQ(s.blocks_in_use, 1);
  pool.reset_peak();
  EXPECT_EQ(pool.stats().peak_bytes, 128u);
}

TEST_F(PoolTest, TrimGivesTheCacheBackAndKeepsWhatIsInUse) {
  Pool pool(counting_backend());
  const Storage a(pool, 100);
  { const Storage b(pool, 5000); }
  EXPECT_EQ(g_system.blocks, 2);
  pool.trim();
  EXPECT_EQ(g_system.blocks, 1);
  EXPECT_EQ(pool.stats().bytes_cached, 0u);
  EXPECT_EQ(pool.stats().bytes_in_use, 128u);
}

TEST_F(PoolTest, ReturnsEverythingAtItsEnd) {
  {
    Pool pool(counting_backend());
    for (std::size_t bytes : {10u, 100u, 1000u, 10000u}) Storage(pool, bytes);
    EXPECT_EQ(g_system.blocks, 4);
  }
  EXPECT_EQ(g_system.blocks, 0);
  EXPECT_EQ(g_system.bytes, 0u);
}

TEST_F(PoolTest, GivesTheCacheBackWhenMemoryIsShortAndTriesAgain) {
  g_system.limit = 10000;
  Pool pool(counting_backend());
  { const Storage freed(pool, 8192); }
  const Storage fits(pool, 4096);  // only without the cached block
  EXPECT_NE(fits.data(), nullptr);
  EXPECT_EQ(g_system.bytes, 4096u);
  EXPECT_EQ(pool.stats().bytes_cached, 0u);
  EXPECT_EQ(pool.stats().bytes_in_use, 4096u);
}

TEST_F(PoolTest, FailsCleanlyWhenThereIsNoMemoryAtAll) {
  g_system.limit = 10000;
  Pool pool(counting_backend());
  {
    const Storage held(pool, 4096);
    EXPECT_THROW(Storage(pool, 16384), OutOfMemory);
    EXPECT_EQ(pool.stats().bytes_in_use, 4096u);
    EXPECT_EQ(pool.stats().blocks_in_use, 1);
  }
  EXPECT_THROW(Storage(pool, 16384), OutOfMemory) << "the cache was given back, and it is still too much";
  EXPECT_EQ(g_system.bytes, 0u);
  EXPECT_EQ(pool.stats().bytes_cached, 0u);
}

TEST_F(PoolTest, KeepsToItsLimitAndSaysWhoHoldsWhatAndWhatFits) {
  Pool pool(counting_backend());
  pool.set_limit(1 << 20);
  Storage weights(pool, 512 << 10), activations(pool, 256 << 10);
  weights.set_label("parameters");
  activations.set_label("tanh");
  const auto error = test::thrown_by<OutOfMemory>([&] { Storage(pool, 512 << 10); });
  EXPECT_EQ(error.summary(), "cannot allocate 512 KiB on cpu");
  EXPECT_EQ(error.why(), "the limit is 1.0 MiB; tensors hold 768 KiB: parameters 512 KiB, tanh 256 KiB");
  EXPECT_EQ(error.fix(), "at most 256 KiB fits now; use a smaller batch, network or picture");
  { const Storage fits(pool, 256 << 10); }
  const Storage other_size(pool, 128 << 10);  // the cached block has to go for it
  EXPECT_LE(g_system.bytes, std::size_t{1} << 20);
}

TEST_F(PoolTest, LedgerSumsWhatIsHeldByLabelTheLargestFirst) {
  Pool pool(counting_backend());
  Storage a(pool, 1000), b(pool, 1000), c(pool, 10000);
  a.set_label("linear");
  b.set_label("linear");
  c.set_label("parameters");
  { Storage freed(pool, 100000); }
  const std::vector<Holding> lines = pool.ledger();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].label, "parameters");
  EXPECT_EQ(lines[0].bytes, 10240u);
  EXPECT_EQ(lines[1].label, "linear");
  EXPECT_EQ(lines[1].bytes, 2048u);
  EXPECT_EQ(lines[1].blocks, 2);
}

TEST_F(PoolTest, ServesManyThreads) {
  Pool pool(counting_backend());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, t] {
      for (std::size_t i = 1; i < 500; ++i) {
        const std::size_t bytes = i * 13 % 3000 + static_cast<std::size_t>(t) + 1;
        const Storage block(pool, bytes);
        char* const p = static_cast<char*>(block.data());
        p[0] = p[bytes - 1] = 'x';
        if (i % 100 == 0) {
          EXPECT_GE(pool.ledger().at(0).blocks, 1);
        }
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(pool.stats().blocks_in_use, 0);
  EXPECT_EQ(pool.stats().bytes_in_use, 0u);
}

// A kernel whose allocation fails makes the pool return its cached blocks while it holds the device; another
// thread may allocate or free memory of the device at the same time.
TEST_F(PoolTest, HoldsNoLockWhileItAsksTheSystem) {
  Backend turns = counting_backend();
  turns.allocate = [](std::size_t bytes) {
    wait_for_turn();
    return take_from_system(bytes);
  };
  turns.deallocate = [](void* p, std::size_t bytes) {
    wait_for_turn();
    give_to_system(p, bytes);
  };
  Pool pool(turns);
  const auto while_another = [&](const std::function<void()>& does) {
    g_came = 0;
    g_turn.lock();
    std::thread other(does);
    while (g_came == 0) std::this_thread::yield();
    pool.trim();
    EXPECT_LE(pool.stats().blocks_in_use, 1);
    g_turn.unlock();
    other.join();
  };
  while_another([&] { const Storage block(pool, 300); });
  EXPECT_EQ(pool.stats().bytes_cached, Pool::size_class(300));
  while_another([&] { pool.trim(); });
  EXPECT_EQ(g_system.blocks, 0);
}

// Two concurrent requests do not exceed the limit together.
TEST_F(PoolTest, KeepsItsLimitWhileTheSystemIsAsked) {
  Backend turns = counting_backend();
  turns.allocate = [](std::size_t bytes) {
    wait_for_turn();
    return take_from_system(bytes);
  };
  Pool pool(turns);
  pool.set_limit(1000);
  g_came = 0;
  g_turn.lock();
  std::thread other([&] { const Storage block(pool, 640); });
  while (g_came == 0) std::this_thread::yield();
  EXPECT_THROW(Storage(pool, 512), OutOfMemory);
  g_turn.unlock();
  other.join();
  EXPECT_NO_THROW(Storage(pool, 512));
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

std::atomic<bool> g_gives = false, g_asked = false;

TEST_F(PoolTest, WaitsForWhatAnotherThreadIsGivingBack) {
  static const Backend slow = [] {
    Backend b = counting_backend();
    b.allocate = [](std::size_t bytes) {
      g_asked = g_gives.load();
      return take_from_system(bytes);
    };
    b.deallocate = [](void* p, std::size_t bytes) {
      g_gives = true;
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
      while (!g_asked && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      give_to_system(p, bytes);
    };
    return b;
  }();
  Pool pool(slow);
  g_system.limit = 2048;
  { const Storage small(pool, 1024); }
  std::thread other([&] { pool.trim(); });
  while (!g_gives) std::this_thread::yield();
  EXPECT_NO_THROW(Storage(pool, 2048));
  other.join();
}

}  // namespace
}  // namespace veldt
