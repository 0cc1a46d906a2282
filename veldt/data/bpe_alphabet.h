// Shared by both halves of BpeTokenizer. The 256 bytes come first among the tokens, in GPT-2's order (Radford
// et al. 2019, bytes_to_unicode).
// Tests: tests/data/bpe_tokenizer_test.cpp
#pragma once

#include <array>
#include <cstdint>

namespace veldt::data {

inline constexpr int kBytes = 256;

// Whether a byte of that value, as a Latin-1 character, is printable and is written as itself.
constexpr bool is_visible(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The byte of token 0..255: printable ones first, then the others.
constexpr std::array<unsigned char, kBytes> bytes_in_order() {
  std::array<unsigned char, kBytes> bytes{};
  std::size_t at = 0;
  for (const bool visible : {true, false})
    for (int byte = 0; byte < kBytes; ++byte)
      if (is_visible(byte) == visible) bytes[at++] = static_cast<unsigned char>(byte);
  return bytes;
}

// The key of a pair of neighbours. A vocabulary has fewer than 2^31 tokens.
inline std::uint64_t key_of(std::int64_t left, std::int64_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
}

}  // namespace veldt::data
