// Tokens of characters: each has a number, text comes back, and a letter without one is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/data/tokenizer.h"
#include "veldt/ops/create.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(CharTokenizer, NumbersEachCharacter) {
  const CharTokenizer tokenizer("löwe, wölfe");
  EXPECT_THAT(tokenizer.vocabulary(), ElementsAre(" ", ",", "e", "f", "l", "w", "ö"));
  EXPECT_THAT(tokenizer.encode("wölf").values<std::int64_t>(), ElementsAre(5, 6, 4, 3));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("elfe, löwe")), "elfe, löwe");
  EXPECT_EQ(CharTokenizer::of(tokenizer.vocabulary()).decode(tokenizer.encode("welle")), "welle");
}

TEST(CharTokenizer, SaysWhatItCannotRead) {
  const CharTokenizer tokenizer("abc");
  EXPECT_THAT(error_of<ConfigError>([&] { tokenizer.encode("abd"); }), HasSubstr("\"d\" has no number"));
  EXPECT_THAT(error_of<ConfigError>([&] { tokenizer.decode(full({1}, 3.0, DType::i64)); }),
              HasSubstr("number 3"));
  for (const std::string bad :
       {"a\xff", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf"})
    EXPECT_THAT(error_of<ConfigError>([&] { CharTokenizer t(bad); }), HasSubstr("not UTF-8")) << bad;
  EXPECT_THAT(error_of<ConfigError>([] { CharTokenizer t(""); }), HasSubstr("the text is empty"));
  EXPECT_THAT(error_of<ConfigError>([] { CharTokenizer::of({"a", "a"}); }), HasSubstr("twice"));
  EXPECT_THAT(error_of<ConfigError>([] { CharTokenizer::of({"ab"}); }),
              HasSubstr("\"ab\" is not a character"));
}

}  // namespace
}  // namespace veldt::data
