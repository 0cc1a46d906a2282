// Counts the bits of a mask in blocks, so that the k-th is found by binary search.
#include "veldt/field/mask.h"

#include <algorithm>
#include <bit>

namespace veldt::field {
namespace {

constexpr std::int64_t kCountedWords = 8;  // words per count, which adds an eighth to the memory

// In each byte, the number of set bits in it and those below. Counting bits without an instruction for it,
// which not every processor has, would be a function call; this is about twelve operations.
std::uint64_t counts_up_to(std::uint64_t bits) {
  constexpr std::uint64_t kBytes = 0x0101010101010101;
  bits -= bits >> 1 & 0x55 * kBytes;
  bits = (bits & 0x33 * kBytes) + (bits >> 2 & 0x33 * kBytes);
  bits = (bits + (bits >> 4)) & 0x0f * kBytes;
  return bits * kBytes;
}

}  // namespace

Mask::Mask(std::vector<std::uint64_t> words, std::int64_t size) : words_(std::move(words)), size_(size) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (i % kCountedWords == 0) before_.push_back(members_);
    members_ += std::popcount(words_[i]);
  }
}

std::int64_t Mask::find(bool in, std::int64_t k) const {
  // The last block before which there are no more than k.
  std::int64_t low = 0, high = static_cast<std::int64_t>(before_.size());
  const auto passed = [&](std::int64_t block) {
    const std::int64_t members = before_[static_cast<std::size_t>(block)];
    return in ? members : block * kCountedWords * 64 - members;
  };
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (passed(middle) <= k ? low : high) = middle;
  }
  k -= passed(low);
  for (std::int64_t word = low * kCountedWords;; ++word) {
    std::uint64_t bits = words_[static_cast<std::size_t>(word)];
    if (!in) bits = ~bits;
    const std::uint64_t counts = counts_up_to(bits);
    const auto here = static_cast<std::int64_t>(counts >> 56);
    if (k >= here) {
      k -= here;
      continue;
    }
    int shift = 0;  // to the byte that contains it
    while (k >= static_cast<std::int64_t>(counts >> shift & 0xff)) shift += 8;
    if (shift > 0) k -= static_cast<std::int64_t>(counts >> (shift - 8) & 0xff);
    bits >>= shift;
    const std::int64_t at = word * 64 + shift;
    for (; k > 0; --k) bits &= bits - 1;  // clears the lowest
    return at + std::countr_zero(bits);
  }
}

}  // namespace veldt::field
