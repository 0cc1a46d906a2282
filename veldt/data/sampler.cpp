#include "veldt/data/sampler.h"

#include <bit>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"

namespace veldt::data {
namespace {

// The finaliser of MurmurHash3 (Appleby, public domain): every input bit moves every output bit.
std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ x >> 16;
}

}  // namespace

Shuffle::Shuffle(std::int64_t size, std::uint64_t seed, std::uint64_t epoch)
    : size_(size),
      keys_(Philox::block({static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32), 0, 0},
                          static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32))) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(size > 1 ? size - 1 : 1));
  half_bits_ = (bits + 1) / 2;
}

std::int64_t Shuffle::operator()(std::int64_t position) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto v = static_cast<std::uint64_t>(position);
  do {  // the network permutes a power of four; positions beyond the size walk on until they fall within
    std::uint64_t left = v >> half_bits_, right = v & mask;
    for (std::uint32_t key : keys_) {
      const std::uint64_t next = left ^ (mix(static_cast<std::uint32_t>(right) + key) & mask);
      left = right;
      right = next;
    }
    v = left << half_bits_ | right;
  } while (v >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(v);
}

BatchSampler::BatchSampler(std::int64_t size, std::int64_t batch, std::uint64_t seed)
    : size_(size), batch_(batch < size ? batch : size), seed_(seed) {
  if (size < 1)
    throw ConfigError("cannot draw batches from no data", "the data set is empty",
                      "give at least one sample");
  if (batch < 1)
    throw ConfigError(str("the batch cannot be ", batch), "a step needs at least one sample",
                      "give a batch of 1 or more, or 'full'");
}

double BatchSampler::epoch_of(std::int64_t step) const {
  return static_cast<double>(step) * static_cast<double>(batch_) / static_cast<double>(size_);
}

Tensor BatchSampler::indices(std::int64_t step) const {
  std::vector<std::int64_t> picked(static_cast<std::size_t>(batch_));
  if (batch_ == size_) {
    for (std::int64_t i = 0; i < batch_; ++i) picked[static_cast<std::size_t>(i)] = i;
    return Tensor::from<std::int64_t>({batch_}, picked);
  }
  const std::int64_t first = step * batch_, epoch = first / size_;
  // A batch spans at most two epochs.
  const Shuffle order(size_, seed_, static_cast<std::uint64_t>(epoch));
  const Shuffle next(size_, seed_, static_cast<std::uint64_t>(epoch + 1));
  for (std::int64_t i = 0; i < batch_; ++i) {
    const std::int64_t at = first + i - epoch * size_;
    picked[static_cast<std::size_t>(i)] = at < size_ ? order(at) : next(at - size_);
  }
  return Tensor::from<std::int64_t>({batch_}, picked);
}

}  // namespace veldt::data
