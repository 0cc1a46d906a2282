// The parallel loop covers everything once, and cuts it the same way on any number of threads.
#include "veldt/core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "veldt/core/error.h"

namespace veldt {
namespace {

using Pieces = std::vector<std::pair<std::int64_t, std::int64_t>>;

Pieces pieces_of(std::int64_t n, std::int64_t grain) {
  Pieces pieces;
  std::mutex mutex;
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

class ParallelFor : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(ParallelFor, CutsByGrainAlone) {
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(pieces_of(10, 4), (Pieces{{0, 4}, {4, 8}, {8, 10}}));
    EXPECT_EQ(pieces_of(8, 4), (Pieces{{0, 4}, {4, 8}}));
    EXPECT_EQ(pieces_of(3, 100), (Pieces{{0, 3}}));
  }
}

TEST_F(ParallelFor, OfNothingCallsNothing) {
  EXPECT_TRUE(pieces_of(0, 4).empty());
  EXPECT_TRUE(pieces_of(-3, 4).empty());
}

TEST_F(ParallelFor, TakesAGrainBelowOneForOne) { EXPECT_EQ(pieces_of(2, 0), (Pieces{{0, 1}, {1, 2}})); }

TEST_F(ParallelFor, RunsInsideItself) {
  set_num_threads(3);
  std::atomic<std::int64_t> sum = 0;
  parallel_for(10, 1, [&](std::int64_t i, std::int64_t) {
    parallel_for(10, 3, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t j = b; j < e; ++j) sum += i * 10 + j;
    });
  });
  EXPECT_EQ(sum, 99 * 100 / 2);
}

TEST_F(ParallelFor, NumThreadsIsWhatWasSet) {
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
}

TEST_F(ParallelFor, RefusesNumbersOfThreadsThatMakeNoSense) {
  EXPECT_THROW(set_num_threads(0), ConfigError);
  EXPECT_THROW(set_num_threads(-1), ConfigError);
  EXPECT_THROW(set_num_threads(1025), ConfigError);
  EXPECT_EQ(num_threads(), before_);
}

TEST_F(ParallelFor, ThrowsWhatItsBodyThrows) {
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    EXPECT_THROW(parallel_for(8, 1, [](std::int64_t, std::int64_t) { throw std::bad_alloc(); }),
                 std::bad_alloc);
  }
}

}  // namespace
}  // namespace veldt
