// Characters and windows.
#include "veldt/data/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

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
  EXPECT_THAT(error_of<ConfigError>([] { CharTokenizer::of({"ab"}); }), HasSubstr("\"ab\" is no character"));
}

TEST(Windows, RunOverTokens) {
  const DatasetPtr set = token_windows(arange(6), 3);
  ASSERT_EQ(set->size(), 3);
  const Example last = set->get(2);
  EXPECT_THAT(last[0].values<std::int64_t>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(last[1].values<std::int64_t>(), ElementsAre(3, 4, 5));
  EXPECT_EQ(token_windows(arange(4), 3)->size(), 1);
  EXPECT_THAT(error_of<ConfigError>([] { token_windows(arange(3), 3); }), HasSubstr("no window of 3"));
  EXPECT_THAT(error_of<ShapeError>([] { token_windows(zeros({3}), 2); }), HasSubstr("f32 [3]"));
}

TEST(Windows, RunOverSeries) {
  const DatasetPtr set = series_windows(reshape(to(arange(12), DType::f32), {6, 2}), 3, 2);
  ASSERT_EQ(set->size(), 2);
  EXPECT_THAT(set->get(1)[0].values<float>(), ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_THAT(set->get(1)[1].values<float>(), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(error_of<ConfigError>([] {
                series_windows(zeros({4, 1}), 3, 2);
              }),
              HasSubstr("no window of 2 in 1"));
  EXPECT_THAT(error_of<ShapeError>([] { series_windows(zeros({4}), 3); }), HasSubstr("[n, features]"));
}

}  // namespace
}  // namespace veldt::data
