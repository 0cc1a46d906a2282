#include "veldt/field/mask.h"

#include <algorithm>
#include <bit>

namespace veldt::field {
namespace {

constexpr std::int64_t kBlock = 8;  // words: a count for each costs an eighth of the bits

}  // namespace

Mask::Mask(std::vector<std::uint64_t> words, std::int64_t size) : words_(std::move(words)), size_(size) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (i % kBlock == 0) before_.push_back(members_);
    members_ += std::popcount(words_[i]);
  }
}

std::int64_t Mask::find(bool in, std::int64_t k) const {
  // The last block before which there are no more than k.
  std::int64_t low = 0, high = static_cast<std::int64_t>(before_.size());
  const auto passed = [&](std::int64_t block) {
    const std::int64_t members = before_[static_cast<std::size_t>(block)];
    return in ? members : block * kBlock * 64 - members;
  };
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (passed(middle) <= k ? low : high) = middle;
  }
  k -= passed(low);
  for (std::int64_t word = low * kBlock;; ++word) {
    std::uint64_t bits = words_[static_cast<std::size_t>(word)];
    if (!in) bits = ~bits;
    const int here = std::popcount(bits);
    if (k >= here) {
      k -= here;
      continue;
    }
    std::int64_t at = word * 64;
    for (int byte; k >= (byte = std::popcount(bits & 0xff)); bits >>= 8, at += 8) k -= byte;
    for (; k > 0; --k) bits &= bits - 1;  // drops the lowest
    return at + std::countr_zero(bits);
  }
}

}  // namespace veldt::field
