// A range coder (Martin 1979): symbols of known probability as bytes, within a few thousandths of their
// entropy. Integers alone, so that the same symbols are the same bytes everywhere; the carry is that of LZMA.
// Tests: tests/codec/range_coder_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace veldt::codec {

// Probabilities are parts of 2^16.
inline constexpr int kProbabilityBits = 16;
inline constexpr std::uint32_t kWhole = std::uint32_t{1} << kProbabilityBits;

class RangeEncoder {
 public:
  // The symbol that owns [start, start + size) of kWhole; size is at least 1.
  void encode(std::uint32_t start, std::uint32_t size) { narrow(start, size, kProbabilityBits); }
  // The lowest `count` bits of value, up to 32 of them, each 0 or 1 with equal probability.
  void bits(std::uint32_t value, int count);
  // An integer of 0 or more that is probably small: Exp-Golomb code of order 0.
  void golomb(std::uint32_t value);
  // All bytes. Zeros at the end are left out: the decoder reads zeros beyond the end.
  std::string finish();

 private:
  void narrow(std::uint32_t start, std::uint32_t size, int bits);
  void shift();

  std::string bytes_;
  std::uint64_t low_ = 0;  // up to 33 bits: the highest is the carry
  std::uint32_t range_ = 0xffffffff;
  std::uint32_t held_ = 0;     // the last byte, which a carry may still change
  std::uint64_t pending_ = 0;  // bytes of 255 after it
  bool first_ = true;          // there is no byte before the first
};

// Reads what RangeEncoder wrote. Any bytes decode to something; what was decoded is right if the bytes are.
class RangeDecoder {
 public:
  explicit RangeDecoder(std::string_view bytes);

  // A number of the interval of the next symbol. The caller finds that interval, then calls take() with it.
  std::uint32_t peek() { return peek(kProbabilityBits); }
  void take(std::uint32_t start, std::uint32_t size);
  std::uint32_t bits(int count);
  std::uint32_t golomb();
  // Whether it has read beyond the end. What was decoded before that is right even if bytes were cut off
  // there.
  bool beyond_end() const { return beyond_end_; }

 private:
  std::uint32_t peek(int bits);
  std::uint32_t byte() {
    if (next_ < bytes_.size()) return static_cast<unsigned char>(bytes_[next_++]);
    beyond_end_ = true;
    return 0;
  }

  std::string_view bytes_;
  std::size_t next_ = 0;
  bool beyond_end_ = false;
  std::uint32_t code_ = 0, range_ = 0xffffffff;
};

}  // namespace veldt::codec
