// An interval of 32 bits is narrowed by each symbol, and bytes that can no longer change are put out.
#include "veldt/codec/range_coder.h"

#include <algorithm>
#include <bit>

namespace veldt::codec {
namespace {

// Below it the interval is too narrow for 16 bits of probability, and is widened by a byte.
constexpr std::uint32_t kNarrowest = std::uint32_t{1} << 24;

}  // namespace

void RangeEncoder::narrow(std::uint32_t start, std::uint32_t size, int bits) {
  range_ >>= bits;
  low_ += std::uint64_t{start} * range_;
  range_ *= size;
  while (range_ < kNarrowest) {
    shift();
    range_ <<= 8;
  }
}

void RangeEncoder::shift() {
  const std::uint32_t carry = static_cast<std::uint32_t>(low_ >> 32), top = (low_ >> 24) & 0xff;
  if (carry == 0 && top == 0xff) {
    ++pending_;
  } else {
    if (!first_) bytes_ += static_cast<char>(held_ + carry);
    bytes_.append(pending_, static_cast<char>(0xff + carry));
    pending_ = 0;
    held_ = top;
    first_ = false;
  }
  low_ = (low_ & 0xffffff) << 8;
}

void RangeEncoder::bits(std::uint32_t value, int count) {
  for (; count > 0; count -= 8) {
    const int now = std::min(count, 8);
    narrow(value >> (count - now) & ((1u << now) - 1), 1, now);
  }
}

void RangeEncoder::golomb(std::uint32_t value) {
  const std::uint64_t more = std::uint64_t{value} + 1;
  const int length = std::bit_width(more) - 1;  // of what comes after the leading one
  for (int i = 0; i < length; ++i) bits(1, 1);
  if (length < 32) bits(0, 1);
  bits(static_cast<std::uint32_t>(more & ((std::uint64_t{1} << length) - 1)), length);
}

std::string RangeEncoder::finish() {
  // Of the numbers in the interval, one that ends in the most zero bytes.
  const std::uint64_t last = low_ + range_ - 1;
  for (const std::uint64_t mask : {0xffffffull, 0xffffull, 0xffull, 0ull})
    if (const std::uint64_t round = (low_ + mask) & ~mask; round <= last) {
      low_ = round;
      break;
    }
  for (int i = 0; i < 5; ++i) shift();
  bytes_.erase(bytes_.find_last_not_of('\0') + 1);
  return std::move(bytes_);
}

RangeDecoder::RangeDecoder(std::string_view bytes) : bytes_(bytes) {
  for (int i = 0; i < 4; ++i) code_ = code_ << 8 | byte();
}

std::uint32_t RangeDecoder::peek(int bits) {
  range_ >>= bits;
  return std::min(code_ / range_, (std::uint32_t{1} << bits) - 1);
}

void RangeDecoder::take(std::uint32_t start, std::uint32_t size) {
  code_ -= start * range_;
  range_ *= size;
  while (range_ < kNarrowest) {
    code_ = code_ << 8 | byte();
    range_ <<= 8;
  }
}

std::uint32_t RangeDecoder::bits(int count) {
  std::uint32_t value = 0;
  for (; count > 0; count -= 8) {
    const int now = std::min(count, 8);
    const std::uint32_t part = peek(now);
    take(part, 1);
    value = value << now | part;
  }
  return value;
}

std::uint32_t RangeDecoder::golomb() {
  int length = 0;
  while (length < 32 && bits(1) == 1) ++length;
  const std::uint64_t value = (std::uint64_t{1} << length | bits(length)) - 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xffffffff));
}

}  // namespace veldt::codec
