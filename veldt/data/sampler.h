// The order in which training sees its data: a pure function of (seed, epoch, position), so that a run
// resumed in the middle of an epoch continues exactly, and no permutation is stored.
// Tests: tests/data/sampler_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/rng.h"
#include "veldt/tensor/tensor.h"

namespace veldt::data {

// A shuffle of 0..size-1 by a keyed Feistel network with cycle walking (Black & Rogaway, "Ciphers with
// arbitrary finite domains", 2002), keyed by Philox. Four rounds make a pseudo-random permutation (Luby &
// Rackoff 1988). Any element can be computed by itself.
class Shuffle {
 public:
  Shuffle(std::int64_t size, std::uint64_t seed, std::uint64_t epoch);
  std::int64_t operator()(std::int64_t position) const;

 private:
  std::int64_t size_;
  int half_bits_;
  Philox::Block keys_;  // one a round
};

// How a batch is drawn. shuffled: in the order of a Shuffle. stratified: the data, in order, is split into as
// many runs of neighbours as a batch has samples, and one of each run is drawn. So a batch covers the data
// evenly, and its indices are in order except at one place where they start over. The places of the splits
// change from epoch to epoch.
enum class Order : std::uint8_t { shuffled, stratified };

// Batches drawn without replacement within an epoch. Shuffled, the last batch of an epoch continues into the
// next one, so every batch is full. Stratified, an epoch has a step for each sample of the longest run, in
// which runs that are one shorter show one sample twice.
class BatchSampler {
 public:
  // Throws ConfigError unless 1 <= batch. A batch larger than the data holds all of it.
  BatchSampler(std::int64_t size, std::int64_t batch, std::uint64_t seed, Order order = Order::shuffled);
  std::int64_t batch() const { return batch_; }
  double epoch_of(std::int64_t step) const;
  // The indices of batch `step` (counted from 0): i64 [batch]. When the batch holds all data: 0..size-1 in
  // order.
  Tensor indices(std::int64_t step) const;

 private:
  void shuffled(std::int64_t step, std::int64_t* picked) const;
  void stratified(std::int64_t step, std::int64_t* picked) const;

  std::int64_t size_, batch_;
  std::uint64_t seed_;
  Order order_;
};

}  // namespace veldt::data
