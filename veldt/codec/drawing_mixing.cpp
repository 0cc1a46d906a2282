// The logistic function as a table that is computed from integers, counters, and the mixing of guesses.
#include "veldt/codec/drawing_mixing.h"

namespace veldt::codec {
namespace {

constexpr int kOddsBits = 30;  // fractional bits while the table is made

// exp(-1/256) with 30 fractional bits: 1 - x + x^2/2 - x^3/6 + x^4/24 for x = 1/256.
constexpr std::uint64_t kStep = (std::uint64_t{1} << 30) - (std::uint64_t{1} << 22) +
                                (std::uint64_t{1} << 13) - (std::uint64_t{1} << 6) / 6;

// How much faster a new set of weights learns, in 1/16 of a rate, and after how many bits half as much.
constexpr std::uint32_t kEarly = 300, kEarlyTimes = 200;

struct Logistic {
  Logistic() {
    std::uint64_t odds = std::uint64_t{1} << kOddsBits;  // exp(-x)
    for (std::size_t x = 0; x <= kMostLogit; ++x) {
      // 2^16 / (1 + odds), rounded.
      const std::uint64_t whole = (std::uint64_t{1} << kOddsBits) + odds;
      const std::uint64_t one = ((std::uint64_t{1} << (16 + kOddsBits)) + whole / 2) / whole;
      above[x] = static_cast<std::uint16_t>(std::min<std::uint64_t>(one, 65535));
      odds = (odds * kStep + (std::uint64_t{1} << (kOddsBits - 1))) >> kOddsBits;
    }
    // The inverse at the middle of each 1/4096.
    std::int32_t x = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const std::uint32_t p = (1u << 15) + static_cast<std::uint32_t>(i) * 8 + 4;
      while (x < kMostLogit && above[static_cast<std::size_t>(x)] < p) ++x;
      logits[i] = static_cast<std::int16_t>(x);
    }
  }
  std::array<std::uint16_t, kMostLogit + 1> above{};  // the probability of a logit of 0 or more
  std::array<std::int16_t, 4096> logits{};            // of probabilities of 1/2 and more
};

const Logistic& logistic() {
  static const Logistic table;
  return table;
}

}  // namespace

std::int32_t logit_of(std::uint32_t probability) {
  const Logistic& table = logistic();
  const std::uint32_t p = std::clamp<std::uint32_t>(probability, 1, kWhole - 1);
  if (p >= kWhole / 2) return table.logits[(p - kWhole / 2) >> 3];
  return -table.logits[(kWhole / 2 - 1 - p) >> 3];
}

std::uint32_t probability_of(std::int32_t logit) {
  const Logistic& table = logistic();
  const std::int32_t x = std::clamp(logit, -kMostLogit, kMostLogit);
  return x >= 0 ? table.above[static_cast<std::size_t>(x)]
                : kWhole - table.above[static_cast<std::size_t>(-x)];
}

bool BitCoder::code(bool bit, std::uint32_t one) {
  if (in_ != nullptr) bit = in_->peek() < one;
  const std::uint32_t start = bit ? 0 : one, size = bit ? one : kWhole - one;
  if (in_ != nullptr)
    in_->take(start, size);
  else
    out_->encode(start, size);
  return bit;
}

void BitCount::see(bool bit, int most) {
  // The share moves by 1 / (times + 1.5) of what is missing: at first quickly, later as their mean.
  const std::int32_t missing = (bit ? 65535 : 0) - one;
  const std::int32_t moved = one + missing * 2 / (2 * times + 3);
  one = static_cast<std::uint16_t>(std::clamp(moved, 16, 65535 - 16));
  if (times < most) ++times;
}

BitMixer::BitMixer(std::size_t guesses, std::size_t choices, std::int32_t first, int rate)
    : guesses_(guesses), weights_(guesses * choices, first), times_(choices), rate_(rate) {}

void BitMixer::set(std::size_t guess, std::int32_t weight) {
  for (std::size_t i = guess; i < weights_.size(); i += guesses_.size()) weights_[i] = weight;
}

std::uint32_t BitMixer::mix(std::size_t choice) {
  at_ = choice * guesses_.size();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < guesses_.size(); ++i) sum += std::int64_t{weights_[at_ + i]} * guesses_[i];
  const std::int64_t logit = std::clamp<std::int64_t>(sum / 65536, -kMostLogit, kMostLogit);
  return one_ = probability_of(static_cast<std::int32_t>(logit));
}

void BitMixer::learn(bool bit) {
  const std::int64_t missing = (bit ? 65535 : 0) - static_cast<std::int64_t>(one_);
  // Quickly at first, when every bit tells much.
  std::uint32_t& times = times_[at_ / guesses_.size()];
  const std::int64_t rate = rate_ * 16 + kEarly * kEarlyTimes / (kEarlyTimes + times);
  if (times < kEarly * kEarlyTimes) ++times;
  for (std::size_t i = 0; i < guesses_.size(); ++i) {
    const std::int64_t moved = weights_[at_ + i] + ((missing * guesses_[i] * rate) >> 22);
    weights_[at_ + i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(moved, -(1 << 20), 1 << 20));
  }
}

}  // namespace veldt::codec
