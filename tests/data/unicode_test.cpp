// Characters, their classes and normal forms.
#include "veldt/data/unicode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace veldt::data {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Unicode, ReadsAnyBytes) {
  const std::string text = "a\xc3\xa9\xf0\x9f\x98\x80\xff\xc0\x80\xed\xa0\x80";
  std::vector<char32_t> codes;
  std::string again;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    codes.push_back(c.code);
    append(again, c.code);
    at += c.bytes;
  }
  EXPECT_THAT(codes, ElementsAre(U'a', 0xE9, 0x1F600, kInvalid + 0xFF, kInvalid + 0xC0, kInvalid + 0x80,
                                 kInvalid + 0xED, kInvalid + 0xA0, kInvalid + 0x80));
  EXPECT_EQ(again, text);
  EXPECT_EQ(count_characters(text), 9u);
}

TEST(Unicode, NormalisesByAnnex15) {
  // From the figures of the annex: Angstrom, a ligature, and marks out of order.
  EXPECT_THAT(normalized({0x212B}, NormalForm::nfd), ElementsAre(Pair(U'A', 0u), Pair(0x30A, 0u)));
  EXPECT_THAT(normalized({0x212B}, NormalForm::nfc), ElementsAre(Pair(0xC5, 0u)));
  EXPECT_THAT(normalized({0xFB01}, NormalForm::nfc), ElementsAre(Pair(0xFB01, 0u)));
  EXPECT_THAT(normalized({0xFB01}, NormalForm::nfkc), ElementsAre(Pair(U'f', 0u), Pair(U'i', 0u)));
  EXPECT_THAT(normalized({0x1E9B, 0x323}, NormalForm::nfkc), ElementsAre(Pair(0x1E69, 0u)));
  EXPECT_THAT(normalized({0x1E9B, 0x323}, NormalForm::nfc), ElementsAre(Pair(0x1E9B, 0u), Pair(0x323, 1u)));
  EXPECT_THAT(normalized({0x1100, 0x1161, 0x11A8}, NormalForm::nfc), ElementsAre(Pair(0xAC01, 0u)));
  EXPECT_THAT(normalized({U'd', 0x307, 0x323}, NormalForm::nfd),
              ElementsAre(Pair(U'd', 0u), Pair(0x323, 1u), Pair(0x307, 2u)));
  EXPECT_THAT(normalized({kInvalid + 0xFF}, NormalForm::nfkc), ElementsAre(Pair(kInvalid + 0xFF, 0u)));
}

TEST(Unicode, KnowsClasses) {
  for (const char32_t blank :
       {U' ', U'\t', char32_t{0x85}, char32_t{0xA0}, char32_t{0x3000}, char32_t{0x2028}})
    EXPECT_TRUE(is_white_space(blank)) << static_cast<int>(blank);
  for (const char32_t other : {U'a', char32_t{0x200B}, char32_t{0x180E}, char32_t{kInvalid + 0xA0}})
    EXPECT_FALSE(is_white_space(other)) << static_cast<int>(other);
  EXPECT_TRUE(is_punctuation(U'$') && is_punctuation(0x3001) && !is_punctuation(U'a') &&
              !is_punctuation(0x20AC));
  EXPECT_TRUE(is_numeric(0xBD) && is_numeric(0x2167) && !is_numeric(U'x'));
  EXPECT_TRUE(is_word(U'_') && is_word(0x4E00) && is_word(0x301) && !is_word(0xBD) && !is_word(U'-'));
  EXPECT_TRUE(is_control(0) && is_control(0xAD) && !is_control(U' '));
  EXPECT_TRUE(is_nonspacing_mark(0x301) && !is_nonspacing_mark(0x903) && is_mark(0x903));
  EXPECT_EQ(lower(0x3A3), char32_t{0x3C3});
  EXPECT_EQ(grapheme_bytes("e\xcc\x81x", 0), 3u);
}

}  // namespace
}  // namespace veldt::data
