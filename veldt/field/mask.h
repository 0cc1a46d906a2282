// A set of pixels, one bit each, with a fast search for the k-th pixel in it, or the k-th not in it.
// Tests: tests/field/mask_test.cpp
#pragma once

#include <cstdint>
#include <vector>

namespace veldt::field {

class Mask {
 public:
  // Bit i % 64 of words[i / 64] says whether pixel i, of 0..size - 1, is in the set.
  Mask(std::vector<std::uint64_t> words, std::int64_t size);

  std::int64_t size() const { return size_; }
  std::int64_t count(bool in) const { return in ? members_ : size_ - members_; }
  // The k-th pixel, from 0, that is (`in`) or is not in the set; k is below count(in).
  std::int64_t find(bool in, std::int64_t k) const;

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::int64_t> before_;  // members before each block of kCountedWords words
  std::int64_t size_, members_ = 0;
};

}  // namespace veldt::field
