// Bytes as letters that JSON can hold, and their order (Radford et al. 2019, bytes_to_unicode).
// Tests: tests/data/bpe_training_test.cpp
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

// The letter of a byte: itself if it is printable, else one from U+0100 on, in order.
constexpr std::array<char32_t, kBytes> letters_of_bytes() {
  std::array<char32_t, kBytes> letters{};
  char32_t next = 0x100;
  for (int byte = 0; byte < kBytes; ++byte)
    letters[static_cast<std::size_t>(byte)] = is_visible(byte) ? static_cast<char32_t>(byte) : next++;
  return letters;
}
inline constexpr std::array<char32_t, kBytes> kLetters = letters_of_bytes();
constexpr char32_t letter_of(unsigned char byte) { return kLetters[byte]; }

// The byte of a letter, or -1 for a character that is none.
constexpr int byte_of(char32_t letter) {
  if (letter < kBytes) return is_visible(static_cast<int>(letter)) ? static_cast<int>(letter) : -1;
  for (int byte = 0; byte < kBytes; ++byte)
    if (kLetters[static_cast<std::size_t>(byte)] == letter) return byte;
  return -1;
}

// The key of a pair of neighbours. A vocabulary has fewer than 2^31 tokens.
inline std::uint64_t key_of(std::int64_t left, std::int64_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
}

}  // namespace veldt::data
