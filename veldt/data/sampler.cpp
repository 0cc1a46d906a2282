// Shuffles by a permutation that is computed and never stored, and splits it into batches.
#include "veldt/data/sampler.h"

#include <bit>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/ops/create.h"

namespace veldt::data {
namespace {

constexpr std::int64_t kGrain = 512;  // samples: ten microseconds of drawing

// The finaliser of MurmurHash3 (Appleby, public domain): every input bit affects every output bit.
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
  do {  // the network permutes a power of four; positions beyond the size are mapped again until they fall
        // within
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

BatchSampler::BatchSampler(std::int64_t size, std::int64_t batch, std::uint64_t seed, Order order)
    : size_(size), batch_(batch < size ? batch : size), seed_(seed), order_(order) {
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
  const Tensor picked = empty({batch_}, DType::i64);
  auto* const at = picked.data<std::int64_t>();
  if (batch_ == size_)
    for (std::int64_t i = 0; i < batch_; ++i) at[i] = i;
  else if (order_ == Order::shuffled)
    shuffled(step, at);
  else
    stratified(step, at);
  return picked;
}

void BatchSampler::shuffled(std::int64_t step, std::int64_t* picked) const {
  const std::int64_t first = step * batch_, epoch = first / size_;
  // A batch spans at most two epochs.
  const Shuffle order(size_, seed_, static_cast<std::uint64_t>(epoch));
  const Shuffle next(size_, seed_, static_cast<std::uint64_t>(epoch + 1));
  parallel_for(batch_, kGrain, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t at = first + i - epoch * size_;
      picked[i] = at < size_ ? order(at) : next(at - size_);
    }
  });
}

void BatchSampler::stratified(std::int64_t step, std::int64_t* picked) const {
  const std::int64_t longest = (size_ + batch_ - 1) / batch_, epoch = step / longest;
  Rng rng(seed_, static_cast<std::uint64_t>(epoch));
  // Rotated by a random number, so that no sample is always in one of the shorter runs, which are drawn more
  // often.
  const auto turn = static_cast<std::int64_t>(rng.next_below(static_cast<std::uint64_t>(size_)));
  const std::uint64_t first_draw = rng.position();
  // All runs use the same order, each from its own start.
  const std::int64_t k = Shuffle(longest, seed_, static_cast<std::uint64_t>(epoch))(step % longest);
  // Run i starts at i size / batch, computed in a way that does not overflow.
  const std::int64_t whole = size_ / batch_, rest = size_ % batch_;
  const auto start_of = [&](std::int64_t i) { return i * whole + i * rest / batch_; };
  parallel_for(batch_, kGrain, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t begin = start_of(i), length = start_of(i + 1) - begin;
      const unsigned __int128 draw = rng.at(first_draw + static_cast<std::uint64_t>(i));
      const auto start = static_cast<std::int64_t>(draw * static_cast<std::uint64_t>(length) >> 32);
      const std::int64_t at = begin + (start + k) % length + turn;
      picked[i] = at < size_ ? at : at - size_;
    }
  });
}

}  // namespace veldt::data
