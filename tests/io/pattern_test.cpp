// Patterns: what they match and replace, what is refused, and that none takes long.
#include "veldt/io/pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "veldt/core/error.h"

namespace veldt::io {
namespace {

bool fits(const char* pattern, const std::string& text) { return Pattern(pattern).matches(text); }

TEST(IoPattern, WholeTexts) {
  EXPECT_TRUE(fits("www.[\\w.-]+\\.\\bcom\\b", "www.google.com"));
  EXPECT_FALSE(fits("www.[\\w.-]+\\.\\bcom\\b", "www.google.com/"));
  EXPECT_TRUE(fits("", ""));
  EXPECT_FALSE(fits("", "x"));
  EXPECT_TRUE(fits("a|bc|", ""));
  EXPECT_TRUE(fits("(a|bc)*d?", "abca"));
  EXPECT_FALSE(fits("(a|bc)*d?", "ab"));
  EXPECT_TRUE(fits("^a{2,3}$", "aaa"));
  EXPECT_FALSE(fits("a{2,3}", "aaaa"));
  EXPECT_TRUE(fits("a{2,}?b", "aaaaab"));
  // What is no repetition stands for itself, whatever the version of PCRE2.
  for (const char* braces : {"a{,2}", "a{ 1,2}", "a{1 }", "{", "a{}", "a{1,2", "[{,2}]\\{,2}"})
    EXPECT_TRUE(fits(braces, braces[0] == '[' ? "{{,2}" : braces)) << braces;
  EXPECT_TRUE(fits("\\c{{2}", ";;"));
  EXPECT_TRUE(fits("\\Qa{,2}\\E\\x{61}{2}\\p{Lu}{1,}\\\\{,1}", "a{,2}aaAB\\{,1}"));
}

TEST(IoPattern, ClassesAndFlags) {
  EXPECT_TRUE(fits("[^a-c\\d]+", "xyz"));
  EXPECT_FALSE(fits("[^a-c\\d]+", "xy1"));
  EXPECT_TRUE(fits("[]a-]+", "]-a"));
  EXPECT_TRUE(fits("[[:alpha:][:^digit:]]\\S\\D\\W", "aaa!"));
  EXPECT_TRUE(fits("(?i)AbC[x-z]", "aBcY"));
  EXPECT_TRUE(fits("(?i:a)b", "Ab"));
  EXPECT_FALSE(fits("(?i:a)b", "AB"));
  EXPECT_FALSE(fits("a.b", "a\nb"));
  EXPECT_TRUE(fits("(?s)a.b", "a\nb"));
  EXPECT_TRUE(fits("(?P<year>\\d{4})-(?:\\x30|\\x{31})", "2026-1"));
  EXPECT_TRUE(fits(".", "ü"));  // one character of two bytes
  EXPECT_TRUE(fits("[а-я]+", "слово"));
}

TEST(IoPattern, RefusesWhatIsNone) {
  for (const char* pattern : {"(", ")", "[a", "*", "a**b(", "\\", "[b-a]", "a{3,2}", "[[:no:]]", "(?P<a"})
    EXPECT_THROW(Pattern{pattern}, UsageError) << pattern;
  try {
    Pattern("{{{(");
    ADD_FAILURE();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.why(), testing::HasSubstr("at byte 4"));  // of what was given
  }
}

TEST(IoPattern, NoPatternTakesLong) {
  EXPECT_TRUE(fits(".*", std::string(1000000, 'x')));
  EXPECT_FALSE(fits("(a*)*(a|aa)*b", std::string(40, 'a')));
  // 2^40 ways.
  EXPECT_THROW(fits("(a|a)*[bc]", std::string(40, 'a')), UsageError);
  EXPECT_THROW(Pattern("(a+)+[bc]").replaced(std::string(400, 'a'), "x"), UsageError);
  EXPECT_THROW(Pattern("((a{1000}){1000}){1000}"), UsageError);
  EXPECT_THROW(Pattern(std::string(100000, '(')), UsageError);
}

std::size_t matches_in(const std::string& pattern, const std::string& text) {
  std::size_t count = 0;
  Pattern(pattern, Pattern::Syntax::unicode).for_each_match(text, [&](std::size_t, std::size_t) { ++count; });
  return count;
}

TEST(IoPattern, ASearchLooksAtALongTextOnce) {
  const std::string words = std::string(300'000, 'a') + "  " + std::string(300'000, 'b') + " c";
  EXPECT_EQ(matches_in("\\w+", words), 3U);
  EXPECT_EQ(matches_in("\\s+(?!\\S)|\\s+|\\w+", words), 6U);
  EXPECT_EQ(matches_in("[^\n]*c", words), 1U);
}

// PCRE2 counts neither how far an alternative looks nor that there is one at each place: 200 KB take 10^11
// looks.
TEST(IoPattern, ASearchHasATotal) {
  std::string far;
  for (int i = 0; i < 250; ++i)
    far += (i > 0 ? "|a*[" : "a*[") + std::string(1, static_cast<char>('b' + i % 25)) + "]";
  EXPECT_THROW(matches_in(far, std::string(200'000, 'a')), UsageError);
  EXPECT_THROW(matches_in("a*b", std::string(200'000, 'a')), UsageError);
  EXPECT_THROW(matches_in("(a*)x?(?:\\1[bc]|\\1[cd])+", std::string(200'000, 'a')), UsageError);
  EXPECT_THROW(matches_in("(a|a)*b", std::string(100, 'a')), UsageError);
}

TEST(IoPattern, Replaces) {
  const Pattern pattern("(a)(\\d)");
  EXPECT_EQ(pattern.replaced("a1 a2", "$2$1[$&]"), "1a[a1] 2a[a2]");
  EXPECT_EQ(pattern.replaced("b1", "x"), std::nullopt);
  EXPECT_EQ(pattern.replaced("a1", std::string(5000, 'x')), std::string(5000, 'x'));
  EXPECT_THROW(pattern.replaced("a1", "$3"), UsageError);
  EXPECT_THROW(pattern.replaced(std::string(5000, 'x'), "y"), UsageError);
}

TEST(IoPattern, BytesThatAreNoTextDoNotMatch) { EXPECT_FALSE(fits(".*", "a\xff")); }

}  // namespace
}  // namespace veldt::io
