// Regular expressions: matches in Unicode text, and what is refused.
#include "veldt/data/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> matches(const std::string& pattern, const std::string& text) {
  std::vector<std::string> found;
  Regex(pattern).for_each_match(
      text, [&](std::size_t begin, std::size_t end) { found.push_back(text.substr(begin, end - begin)); });
  return found;
}

TEST(Regex, FindsWhatMatches) {
  EXPECT_THAT(matches("\\p{L}+|\\p{N}", "löwe12 狮子"), ElementsAre("löwe", "1", "2", "狮子"));
  EXPECT_THAT(matches("(?i:'LL|É)", "we'll é"), ElementsAre("'ll", "é"));
  EXPECT_THAT(matches("\\s+(?!\\S)|\\s+", "a   b\u3000 "), ElementsAre("  ", " ", "\u3000 "));
  EXPECT_THAT(matches("^.", "ab\ncd"), ElementsAre("a", "c"));
  EXPECT_THAT(matches("x*", "axxb"), ElementsAre("xx"));
  EXPECT_THAT(matches("(?<=a)b", "abb"), ElementsAre("b"));
  EXPECT_THAT(matches("", "abc"), ElementsAre());
  EXPECT_THAT(matches("(?=b)a*b", "ab"), ElementsAre("b"));  // which PCRE2 10.42 overlooks by itself
}

TEST(Regex, BytesThatAreNoTextMatchNothing) {
  EXPECT_THAT(matches(".+",
                      "ab\xff\xfe"
                      "cd\xc3"),
              ElementsAre("ab", "cd"));
}

TEST(Regex, RefusesWhatItCannotRead) {
  const auto why = [](const std::string& pattern) {
    return error_of<ConfigError>([&] { Regex r(pattern); });
  };
  EXPECT_THAT(why("(a"), HasSubstr("closing parenthesis"));
  EXPECT_THAT(why("[a&&b]"), HasSubstr("&&"));
  EXPECT_THAT(why("\\h"), HasSubstr("\\h"));
  EXPECT_THAT(why("a(?im:.)"), HasSubstr("(?m"));
  EXPECT_THAT(why("(*LIMIT_MATCH=1)a"), HasSubstr("(*"));
  EXPECT_THAT(why("a{,2}"), HasSubstr("it has {,"));
  EXPECT_THAT(why("\\p{Wizard}"), HasSubstr("property"));
  EXPECT_THAT(why(std::string(70000, 'a')), HasSubstr("64 KiB"));
  EXPECT_THAT(error_of<ConfigError>([] { matches("(a+)+[bd]", std::string(3000, 'a')); }),
              HasSubstr("gives up"));
}

// Each beginning takes as many steps as the text is long.
TEST(Regex, GivesUpOnATextWhoseBeginningsTakeLong) {
  for (const char* pattern : {"a*?[bd]", "(?:a|aa)*?[bd]", "(?>a*)[bd]"})
    EXPECT_THAT(error_of<ConfigError>([&] { matches(pattern, std::string(300'000, 'a')); }),
                HasSubstr("gives up"));
  EXPECT_EQ(matches("(?:a|b)+?c", std::string(200, 'a') + "c").size(), 1u);
  std::string words;
  for (int i = 0; i < 20'000; ++i) words += "ab  1\n";
  const std::string run(50'000, 'a');  // longer than what is looked at first
  EXPECT_EQ(matches("a+(?!b)|b+", run + "b").size(), 2u);
  EXPECT_EQ(matches("a+(?!b)|b+", run), std::vector{run});
  for (const std::size_t at : {62, 63, 64, 4096})  // where the first part of a text ends
    EXPECT_THAT(matches("\\n^|\\bc", std::string(at, 'a') + "\nb\nc\n"), ElementsAre("\n", "\n", "c"));
  EXPECT_EQ(matches("\\s*[\\r\\n]+|\\s+(?!\\S)|\\w+", words).size(), 80'000u);
}

}  // namespace
}  // namespace veldt::data
