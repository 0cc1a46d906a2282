// Every epoch shows all data once, in an order that depends on (seed, epoch, position) and nothing else.
#include "veldt/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "veldt/core/error.h"

namespace veldt::data {
namespace {

using Indices = std::vector<std::int64_t>;

Indices order_of(std::int64_t size, std::uint64_t seed, std::uint64_t epoch) {
  const Shuffle shuffle(size, seed, epoch);
  Indices order;
  for (std::int64_t i = 0; i < size; ++i) order.push_back(shuffle(i));
  return order;
}

bool is_permutation_of(Indices drawn, std::int64_t size) {
  Indices all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  std::sort(drawn.begin(), drawn.end());
  return drawn == all;
}

Indices batch_of(const BatchSampler& sampler, std::int64_t step) {
  return sampler.indices(step).values<std::int64_t>();
}

TEST(Shuffle, IsAPermutationInEveryEpoch) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 1000, 40000, 65535, 65536, 65537})
    for (const std::uint64_t epoch : {0, 1, 2})
      EXPECT_TRUE(is_permutation_of(order_of(size, 7, epoch), size)) << size << " epoch " << epoch;
}

TEST(Shuffle, StaysWithinHugeSizes) {
  const std::int64_t size = (std::int64_t{1} << 40) + 3;
  const Shuffle shuffle(size, 1, 0);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t at = shuffle(size - 1 - i);
    EXPECT_GE(at, 0);
    EXPECT_LT(at, size);
    seen.insert(at);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Shuffle, DiffersBetweenEpochsAndSeeds) {
  std::set<Indices> orders;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
    for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
      orders.insert(order_of(1000, seed, epoch));
  EXPECT_EQ(orders.size(), 9u);
}

TEST(Shuffle, LeavesFewElementsWhereTheyWere) {
  // A random permutation keeps one element on average, and 20 or more once in 10^19 times.
  const Indices order = order_of(40000, 3, 0);
  std::int64_t kept = 0, neighbours = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    kept += order[i] == static_cast<std::int64_t>(i);
    neighbours += i > 0 && order[i] == order[i - 1] + 1;
  }
  EXPECT_LT(kept, 20);
  EXPECT_LT(neighbours, 20);
}

TEST(Shuffle, SpreadsABatchOverTheWholePicture) {
  // The mean of 4096 of 40000 has a standard deviation of about 171 (without replacement); six of them.
  for (const std::uint64_t epoch : {0, 1, 2, 3}) {
    const Shuffle shuffle(40000, 11, epoch);
    double sum = 0;
    for (std::int64_t i = 0; i < 4096; ++i) sum += static_cast<double>(shuffle(i));
    EXPECT_NEAR(sum / 4096, 19999.5, 6 * 171) << epoch;
  }
}

TEST(BatchSampler, ShowsEverySampleOncePerEpochThoughBatchesRunOverItsEnd) {
  for (const std::int64_t size : {2, 3, 7, 100, 101}) {
    for (const std::int64_t batch : {1, 2, 3, 33, 99}) {
      if (batch >= size) continue;
      const BatchSampler sampler(size, batch, 5);
      Indices drawn;
      for (std::int64_t step = 0; step * batch < 3 * size; ++step) {
        const Indices indices = batch_of(sampler, step);
        ASSERT_EQ(indices.size(), static_cast<std::size_t>(batch));
        drawn.insert(drawn.end(), indices.begin(), indices.end());
      }
      for (std::int64_t epoch = 0; epoch < 3; ++epoch)
        EXPECT_TRUE(is_permutation_of(
            Indices(drawn.begin() + epoch * size, drawn.begin() + (epoch + 1) * size), size))
            << size << " by " << batch << " epoch " << epoch;
    }
  }
}

TEST(BatchSampler, IsAPureFunctionOfTheStep) {
  const BatchSampler one(1000, 64, 9), other(1000, 64, 9);
  std::vector<Indices> forwards;
  for (std::int64_t step = 0; step < 50; ++step) forwards.push_back(batch_of(one, step));
  for (std::int64_t step = 49; step >= 0; --step)
    EXPECT_EQ(batch_of(other, step), forwards[static_cast<std::size_t>(step)]) << step;
  EXPECT_NE(forwards[0], batch_of(BatchSampler(1000, 64, 10), 0));
}

TEST(BatchSampler, HoldsAllDataInOrderWhenTheBatchIsAsLargeOrLarger) {
  for (const std::int64_t batch : {5, 6, 1000000}) {
    const BatchSampler sampler(5, batch, 1);
    EXPECT_EQ(sampler.batch(), 5);
    EXPECT_EQ(batch_of(sampler, 0), (Indices{0, 1, 2, 3, 4}));
    EXPECT_EQ(batch_of(sampler, 77), (Indices{0, 1, 2, 3, 4}));
  }
  EXPECT_EQ(batch_of(BatchSampler(1, 1, 1), 3), Indices{0});
}

TEST(BatchSampler, StratifiedDrawsOneOfEachRunOfNeighbours) {
  for (const std::int64_t size : {10, 101, 1000})
    for (const std::int64_t batch : {1, 3, 9})
      for (std::int64_t step = 0; step < 50; ++step) {
        const Indices drawn = batch_of(BatchSampler(size, batch, 5, Order::stratified), step);
        ASSERT_EQ(drawn.size(), static_cast<std::size_t>(batch));
        const std::int64_t longest = (size + batch - 1) / batch;
        std::int64_t around = 0;
        for (std::size_t i = 0; i < drawn.size(); ++i) {
          ASSERT_GE(drawn[i], 0);
          ASSERT_LT(drawn[i], size);
          const std::int64_t gap = (drawn[(i + 1) % drawn.size()] - drawn[i] + size - 1) % size + 1;
          EXPECT_LT(gap, batch > 1 ? 2 * longest : size + 1) << size << " by " << batch;
          around += gap;
        }
        EXPECT_EQ(around, size) << "in order, but for one place";
      }
}

TEST(BatchSampler, StratifiedStaysInItsRunsOfHugeSizesAndFillsThem) {
  const std::int64_t size = (std::int64_t{1} << 60) + 7, batch = 100, run = size / batch;
  std::int64_t least = size, most = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Indices drawn = batch_of(BatchSampler(size, batch, seed, Order::stratified), 1);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      ASSERT_GE(drawn[i], 0);
      ASSERT_LT(drawn[i], size);
      const std::int64_t gap = (drawn[(i + 1) % drawn.size()] - drawn[i] + size) % size;
      ASSERT_LE(gap, 2 * run + 2);
      least = std::min(least, gap);
      most = std::max(most, gap);
    }
  }
  // Points anywhere in two neighbouring runs are anything from next to each other to two runs apart.
  EXPECT_LT(least, run / 4);
  EXPECT_GT(most, run / 4 * 7);
}

TEST(BatchSampler, StratifiedShowsEverySampleOncePerEpoch) {
  const BatchSampler sampler(100, 10, 3, Order::stratified);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    Indices drawn;
    for (std::int64_t step = epoch * 10; step < epoch * 10 + 10; ++step)
      for (const std::int64_t index : batch_of(sampler, step)) drawn.push_back(index);
    EXPECT_TRUE(is_permutation_of(drawn, 100)) << epoch;
  }
}

TEST(BatchSampler, StratifiedIsFairWhereRunsDifferInLength) {
  // Runs of 1, 2 and 2: with cuts that stay, one sample would be drawn twice as often as the rest.
  const BatchSampler sampler(5, 3, 8, Order::stratified);
  std::vector<int> times(5);
  for (std::int64_t step = 0; step < 4000; ++step)
    for (const std::int64_t index : batch_of(sampler, step)) ++times[static_cast<std::size_t>(index)];
  for (const int n : times) EXPECT_NEAR(n, 2400, 240);
}

TEST(BatchSampler, StratifiedIsAPureFunctionOfTheStepAndDiffersBetweenSeeds) {
  const BatchSampler one(1000, 64, 9, Order::stratified), other(1000, 64, 9, Order::stratified);
  std::set<Indices> batches;
  for (std::int64_t step = 40; step >= 0; --step) batches.insert(batch_of(one, step));
  EXPECT_EQ(batches.size(), 41u);
  for (std::int64_t step = 0; step <= 40; ++step) EXPECT_EQ(batches.count(batch_of(other, step)), 1u);
  EXPECT_NE(batch_of(one, 0), batch_of(BatchSampler(1000, 64, 10, Order::stratified), 0));
  EXPECT_EQ(batch_of(BatchSampler(5, 9, 1, Order::stratified), 2), (Indices{0, 1, 2, 3, 4}));
}

TEST(BatchSampler, CountsEpochs) {
  const BatchSampler sampler(100, 25, 1);
  EXPECT_EQ(sampler.epoch_of(0), 0);
  EXPECT_EQ(sampler.epoch_of(2), 0.5);
  EXPECT_EQ(sampler.epoch_of(8), 2);
}

TEST(BatchSampler, RefusesNoDataAndEmptyBatches) {
  EXPECT_THROW(BatchSampler(0, 1, 1), ConfigError);
  EXPECT_THROW(BatchSampler(-1, 1, 1), ConfigError);
  EXPECT_THROW(BatchSampler(5, 0, 1), ConfigError);
  EXPECT_THROW(BatchSampler(5, -1, 1), ConfigError);
}

}  // namespace
}  // namespace veldt::data
