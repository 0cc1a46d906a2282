// Errors: their three sentences, their kinds, and text from strangers inside them.
#include "veldt/core/error.h"

#include <gtest/gtest.h>

#include <new>

#include "veldt/core/escape.h"

namespace veldt {
namespace {

struct Point {
  int x, y;
};
std::ostream& operator<<(std::ostream& out, const Point& p) {
  return out << "(" << p.x << ", " << p.y << ")";
}

TEST(Str, WritesEachArgumentAsAStreamDoes) {
  const char local[] = "abc";
  const char* const pointer = "def";
  EXPECT_EQ(str(local, pointer, std::string("g\0h", 3), std::string_view("ijk").substr(1)),
            std::string("abcdefg\0hjk", 11));
  EXPECT_EQ(str(-3, ' ', 7u, ' ', std::int64_t{1} << 40, ' ', true, ' ', 0.1f, ' ', 1e300),
            "-3 7 1099511627776 1 0.1 1e+300");
  EXPECT_EQ(str("at ", Point{1, 2}), "at (1, 2)");
  EXPECT_EQ(str(""), "");
}

struct Endless {};
std::ostream& operator<<(std::ostream&, Endless) { throw std::bad_alloc(); }

TEST(Str, LeavesOutNothingThatThereIsNoMemoryFor) { EXPECT_THROW(str("a", Endless()), std::bad_alloc); }

TEST(Str, TakesNoTextAsAnEmptyOne) {
  const char* const none = nullptr;
  EXPECT_EQ(str("a", none, "b"), "ab");
}

TEST(Error, JoinsItsThreeSentences) {
  const std::string why = "the inner sizes differ";
  const ShapeError error(str("matmul cannot multiply ", 3, " by ", 4), why, "flatten");
  EXPECT_STREQ(error.what(), "matmul cannot multiply 3 by 4\n  why: the inner sizes differ\n  fix: flatten");
  EXPECT_EQ(error.summary(), "matmul cannot multiply 3 by 4");
  EXPECT_EQ(error.why(), why);
  EXPECT_EQ(error.fix(), "flatten");
}

TEST(Error, NamesTheLastPlaceItWasGiven) {
  Error error("it broke", "it was old", "buy another");
  error.set_place({"", "Linear(2, 8)", nullptr});
  EXPECT_EQ(error.summary(), "it broke, in Linear(2, 8)");
  error.set_place({"body.2", "Linear(2, 8)", &error});
  EXPECT_STREQ(error.what(), "it broke, in body.2 (Linear(2, 8))\n  why: it was old\n  fix: buy another");
  EXPECT_EQ(error.place().outermost, &error);
}

// what() is for logs and terminals too, and C programs take it for text up to the first NUL.
TEST(Error, EscapesWhatFilesHaveWritten) {
  const Error error(std::string("no column 'a\0b'", 15), "line 1\nis \x1b[2J", "\tmend it");
  EXPECT_STREQ(error.what(), "no column 'a\\x00b'\n  why: line 1\\x0ais \\x1b[2J\n  fix: \\x09mend it");
  EXPECT_EQ(error.why(), "line 1\\x0ais \\x1b[2J");
  Error placed("it broke", "it was old", "buy another");
  placed.set_place({"a\x07", "Linear", nullptr});
  EXPECT_EQ(placed.summary(), "it broke, in a\\x07 (Linear)");
}

TEST(EscapeControls, LeavesTextInUtf8Alone) {
  const std::string text = "caf\u00e9 \u20ac \U0001f981 ~ \\x1b";
  EXPECT_EQ(escape_controls(text), text);
  EXPECT_EQ(escape_controls("\u009b2J \u00a0"), "\\xc2\\x9b2J \u00a0");
  EXPECT_EQ(escape_controls("a\nb\tc\r", "\n\t"), "a\nb\tc\\x0d");
}

TEST(EscapeControls, ShowsBytesThatAreNoCharacters) {
  const std::pair<std::string, std::string> cases[] = {
      {"\x91", "\\x91"},                    // of a byte-pair model
      {"\xe4gypt", "\\xe4gypt"},            // Latin-1
      {"\xe2\x82", "\\xe2\\x82"},           // cut off
      {"\xc0\x8a", "\\xc0\\x8a"},           // a line end, too long
      {"\xe0\x82\x9b", "\\xe0\\x82\\x9b"},  // U+009B, too long
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // a surrogate
      {"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"}};
  for (const auto& [bytes, shown] : cases) EXPECT_EQ(escape_controls(bytes), shown);
}

TEST(Error, IsCaughtAsItselfWithItsKind) {
  try {
    throw IoError(IoError::Kind::corrupt, "a", "b", "c");
  } catch (const Error& error) {
    const Error copy = error;  // as std::current_exception may make
    EXPECT_STREQ(copy.what(), "a\n  why: b\n  fix: c");
    const auto* io = dynamic_cast<const IoError*>(&error);
    ASSERT_NE(io, nullptr);
    EXPECT_EQ(io->kind(), IoError::Kind::corrupt);
  }
}

}  // namespace
}  // namespace veldt
