// Unicode as tokenizers need it: the characters of a text, their classes and their normal forms.
// Tests: tests/data/unicode_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veldt::data {

// A text may hold any bytes: one that belongs to no valid UTF-8 is a character by itself, kInvalid + byte,
// which is in no class and is never changed.
inline constexpr char32_t kInvalid = 0x110000;

struct Character {
  char32_t code;
  std::size_t bytes;
};

// The character at `at`, which is below the text's size.
Character character_at(std::string_view text, std::size_t at);
// Writes it as UTF-8, or as the byte that it stands for.
void append(std::string& text, char32_t code);
// The number of characters.
std::size_t count_characters(std::string_view text);

bool is_white_space(char32_t code);      // Unicode's property White_Space
bool is_punctuation(char32_t code);      // categories P, and all marks of ASCII
bool is_numeric(char32_t code);          // Nd, Nl, No
bool is_word(char32_t code);             // what \w is in UTS #18: letters, marks, digits, connectors
bool is_control(char32_t code);          // Cc, Cf, Co
bool is_nonspacing_mark(char32_t code);  // Mn
bool is_mark(char32_t code);             // Mn, Mc, Me
char32_t lower(char32_t code);           // of characters that become one; U+0130 becomes two

// A normalisation form (Unicode Standard Annex #15).
enum class NormalForm { nfc, nfd, nfkc, nfkd };

// The characters in that form, each with the place of the one in `codes` that it comes from: for one that was
// composed, of the first. Places never fall.
std::vector<std::pair<char32_t, std::size_t>> normalized(const std::vector<char32_t>& codes, NormalForm form);

// The bytes of the grapheme (UAX #29) that begins at `at`.
std::size_t grapheme_bytes(std::string_view text, std::size_t at);

}  // namespace veldt::data
